"""Vision models as subjects: what they predict, how predictions are compared, and where models come from."""
