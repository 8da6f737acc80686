"""Embedded panel: members, samples, training and evaluation."""
