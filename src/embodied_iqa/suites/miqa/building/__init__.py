"""Builds databases of machine-vision labels, and imports published ones."""
