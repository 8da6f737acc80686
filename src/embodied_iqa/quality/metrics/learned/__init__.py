"""Learned metrics: what they measure of a picture, their files, and their inference without torch."""
