"""Building of databases: references, tasks, distort, annotate, score; each step is resumable."""
