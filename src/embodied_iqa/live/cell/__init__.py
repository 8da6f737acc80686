"""A real cell outside of a trial: its arm and cameras are only read, and nothing is commanded."""
