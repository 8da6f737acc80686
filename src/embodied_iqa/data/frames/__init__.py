"""Stored images of any origin behind one protocol: folders, videos, recordings, data sets."""
