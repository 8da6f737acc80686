"""Experiments: plan, runs, scores, folder, and the comparison of gates."""
