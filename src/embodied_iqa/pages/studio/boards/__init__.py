"""Leaderboards: subjects of a database, gates of an experiment, metrics of a benchmark."""
