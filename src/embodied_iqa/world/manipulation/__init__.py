"""Manipulation: waypoints and action chunks from object poses, object and gripper geometry."""
