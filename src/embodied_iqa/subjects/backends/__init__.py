"""Back ends: how a subject is loaded or reached."""
