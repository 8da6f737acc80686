"""Experiments: plan, rows, scores and folder."""
