"""Back ends of subjects."""
