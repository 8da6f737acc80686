"""The quality gate: statistics, calibration, verdicts and leases."""
