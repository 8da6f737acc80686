"""The report of a benchmark of metrics."""
