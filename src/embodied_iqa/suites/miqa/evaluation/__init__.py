"""Evaluation of metrics against labels of machine-vision quality."""
