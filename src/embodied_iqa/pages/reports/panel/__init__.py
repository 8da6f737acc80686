"""The report of the embedded panel."""
