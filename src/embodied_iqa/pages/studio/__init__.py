"""The studio: a local web application to look at databases and runs."""
