"""The report of planners in the simulated cell."""
