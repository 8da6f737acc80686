"""Learned metrics: what they measure of an image, their files, and their inference without torch."""
