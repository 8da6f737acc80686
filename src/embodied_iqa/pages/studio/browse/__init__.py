"""Pages of a database: the table of its pairs, one pair, their images."""
