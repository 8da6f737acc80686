"""Correlations, breakdowns and the report."""
