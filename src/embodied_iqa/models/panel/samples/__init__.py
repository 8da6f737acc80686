"""Training samples drawn from simulated scenes."""
