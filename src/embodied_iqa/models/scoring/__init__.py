"""Scores of cognition, decision and execution."""
