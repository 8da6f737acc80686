"""Training of the embedded vision panel on rendered images."""
