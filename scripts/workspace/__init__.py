"""Sets up a working copy with the standard library alone: it runs before anything is installed."""
