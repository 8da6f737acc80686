"""Long work in a folder: its plan, its lock, and the processes that run its jobs."""
