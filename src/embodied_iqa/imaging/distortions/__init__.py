"""The 30 Embodied-IQA distortions and the 10 of MIQD, each at five levels."""

from embodied_iqa.imaging.distortions.catalogue import (
    catalogue,
    distort,
    entry,
    miqd_catalogue,
    parse_distortion,
)
from embodied_iqa.imaging.distortions.entry import DistortionClass, Entry, Source
from embodied_iqa.imaging.distortions.region import (
    RegionMode,
    distort_region,
    mask_of_labels,
    region_combinations,
    region_mode,
)
from embodied_iqa.imaging.distortions.spec import LEVELS, DistortionSpec, parse_levels
from embodied_iqa.imaging.distortions.stream import FrameDistorter, frame_generator

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
    "parse_levels",
    "region_combinations",
    "region_mode",
]
