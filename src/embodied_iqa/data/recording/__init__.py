"""MCAP writing, reading, recovery and rescoring."""
