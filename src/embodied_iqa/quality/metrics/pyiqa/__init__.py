"""Metrics of IQA-PyTorch (pyiqa), which runs in an environment of its own."""
