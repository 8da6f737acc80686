"""Classical-vision baselines."""
