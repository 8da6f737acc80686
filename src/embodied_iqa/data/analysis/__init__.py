"""Statistics of the scores of a database."""
