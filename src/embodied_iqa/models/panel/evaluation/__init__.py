"""Evaluation of the embedded panel on unseen scenes."""
