"""Thirty ways to spoil a picture at five levels, and the ten of machine vision.

Everything here needs numpy and OpenCV only.
"""

from embodied_iqa.distortions.catalogue import catalogue, distort, entry
from embodied_iqa.distortions.entry import DistortionClass, Entry, Source
from embodied_iqa.distortions.parse import parse_distortion
from embodied_iqa.distortions.spec import LEVELS, DistortionSpec
from embodied_iqa.distortions.stream import FrameDistorter, frame_generator

__all__ = [
    "LEVELS",
    "DistortionClass",
    "DistortionSpec",
    "Entry",
    "FrameDistorter",
    "Source",
    "catalogue",
    "distort",
    "entry",
    "frame_generator",
    "parse_distortion",
]
