"""A real cell as it was read: its cameras, its parameter file, its checks; pure functions."""
