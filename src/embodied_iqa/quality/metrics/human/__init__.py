"""Databases of images with human opinions, read where the user has them."""

from embodied_iqa.quality.metrics.human.catalogue import READERS, read_human

__all__ = ["READERS", "read_human"]
