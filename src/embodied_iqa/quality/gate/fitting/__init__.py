"""Fit of the gate to a policy: labels, networks, thresholds with a promise, and their check."""
