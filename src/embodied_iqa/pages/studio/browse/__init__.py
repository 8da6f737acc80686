"""Pages of a database: the table of its pairs, one pair, their images; and the page of stored images."""
