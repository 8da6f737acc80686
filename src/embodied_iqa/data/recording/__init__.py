"""MCAP recordings: writing, reading, recovery, and the record of a trial that one holds."""
