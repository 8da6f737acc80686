"""Sources of reference pictures: simulated scenes, photographs, recordings."""
