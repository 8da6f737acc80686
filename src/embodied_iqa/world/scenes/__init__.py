"""Scenes as data: objects, places, cameras, snapshots and the scene graph."""
