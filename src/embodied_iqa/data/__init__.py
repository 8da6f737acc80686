"""Recordings and annotated databases: written, read, analysed and exported.

Rooms, each of which imports only rooms above it and wings on lower floors:

- `journal`: append-only journal of what people edit: its file, its records, what follows from them
- `recording`: MCAP recordings: writing and reading, and the record of a trial that one holds
- `recording.repair`: recovery of recordings that were cut short; reading of those being written
- `lerobot`: LeRobot data sets: episodes, steps, images in Parquet, files and videos
- `frames`: stored images of any origin behind one protocol
- `database`: annotated databases: schema, storage, queries
- `database.sources`: sources of references: simulated scenes, photographs, recordings
- `database.building`: builds databases: references, distortion, annotation, scores
- `analysis`: statistics of a database: agreement, correlation, just-noticeable levels
- `export`: databases in the formats of others

An origin of images goes to `frames`, a source of references to `database.sources`, a statistic to
`analysis`, a format of others to `export`.
"""
