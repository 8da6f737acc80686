"""Episodes in a world that waits for its policy."""
