"""Benchmark of image-quality metrics against the scores of a database."""
