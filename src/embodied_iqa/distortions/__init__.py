"""Thirty ways to spoil a picture at five levels, and the ten of machine vision.

Everything here needs numpy and OpenCV only.
"""

from embodied_iqa.distortions.catalogue import catalogue, distort, entry, miqd_catalogue
from embodied_iqa.distortions.entry import DistortionClass, Entry, Source
from embodied_iqa.distortions.parse import parse_distortion
from embodied_iqa.distortions.region import (
    RegionMode,
    distort_region,
    mask_of_labels,
    region_combinations,
    region_mode,
)
from embodied_iqa.distortions.spec import LEVELS, DistortionSpec
from embodied_iqa.distortions.stream import FrameDistorter, frame_generator

__all__ = [
    "LEVELS",
    "DistortionClass",
    "DistortionSpec",
    "Entry",
    "FrameDistorter",
    "RegionMode",
    "Source",
    "catalogue",
    "distort",
    "distort_region",
    "entry",
    "frame_generator",
    "mask_of_labels",
    "miqd_catalogue",
    "parse_distortion",
    "region_combinations",
    "region_mode",
]
