"""The quality gate: statistics, calibration, judges, repairs and the rules of its verdicts."""
