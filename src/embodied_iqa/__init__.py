"""Image quality for embodied agents: cognition, decision and execution under distorted pictures."""

__version__ = "0.1.0"
