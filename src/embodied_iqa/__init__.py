"""Image quality as a robot feels it: cognition, decision and execution under distorted pictures."""

__version__ = "0.1.0"
