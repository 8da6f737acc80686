"""Training of metrics on the labels of a database; the one part of the metrics that needs torch."""
