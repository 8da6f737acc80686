"""Arm and gripper drivers and the limits that keep them safe."""
