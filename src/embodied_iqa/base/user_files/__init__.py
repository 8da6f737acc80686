"""Reads the YAML and JSON files that people write: what is ambiguous in them is an error, never a guess."""
