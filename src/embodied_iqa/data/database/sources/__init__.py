"""Sources of reference images: simulated scenes, photographs, recordings, LIBERO."""
