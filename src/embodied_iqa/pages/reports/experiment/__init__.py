"""The report of an experiment that compares gates."""
