"""Pages of a run: its overview, and the player of its recording."""
