"""Failure detectors of the literature, fitted and judged on the runs of an experiment."""
