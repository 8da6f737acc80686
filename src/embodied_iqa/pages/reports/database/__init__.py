"""The report of a database."""
