"""The embedded panel: samples, training and evaluation."""
