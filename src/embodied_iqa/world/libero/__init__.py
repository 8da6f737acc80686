"""LIBERO: a world of 130 tasks for a Panda arm, which runs in an environment of its own."""
