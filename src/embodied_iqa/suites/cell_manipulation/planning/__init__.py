"""Planners in the simulated cell: prompt, parser, loop, results, error classes, published numbers."""
