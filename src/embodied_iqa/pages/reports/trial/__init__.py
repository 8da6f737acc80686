"""The report of a trial run."""
