"""Distortion of camera frames, the same live and offline."""

from __future__ import annotations

from dataclasses import replace
from hashlib import blake2b
from typing import Final

import numpy as np
from numpy.random import PCG64, Generator, SeedSequence

from embodied_iqa.base.errors import Description, UsageError
from embodied_iqa.imaging.distortions.catalogue import distort, entry
from embodied_iqa.imaging.distortions.image import Image
from embodied_iqa.imaging.distortions.spec import DistortionSpec, is_whole

VIEW_OF_FILES: Final = "top"
"""Of an image that no camera of a robot took."""
_STAMP_BYTES: Final = 7
_FROZEN_STAMP_NS = -1
_EVERY_VIEW = "*"


def frame_generator(spec: DistortionSpec, view: str, stamp_ns: int) -> Generator:
    """Return the generator of one frame, which depends only on the arguments.

    The key is hashed with BLAKE2b, so that it is the same in every process and on every machine. Distortions
    whose draws set the look of the whole image (a direction) ignore the view: all cameras share them. A
    frozen specification ignores the stamp: every frame gets the same pattern.

    Raises:
        UsageError: The stamp is not an integer, or the view is not a string.
    """
    if not is_whole(stamp_ns):
        raise UsageError("not a stamp", expected="a whole number of nanoseconds", got=stamp_ns)
    if not isinstance(view, str):
        raise UsageError("not a view", expected="the name of a camera", got=Description(type(view).__name__))
    distortion = entry(spec.id)
    place = _EVERY_VIEW if distortion.coherent else str(view)
    time_ns = _FROZEN_STAMP_NS if spec.frozen else stamp_ns
    key = f"{spec.seed}|{distortion.id}|{spec.level}|{place}|{time_ns}".encode()
    entropy = int.from_bytes(blake2b(key, digest_size=16).digest(), "little")
    return Generator(PCG64(SeedSequence(entropy)))


def stamp_of_pixels(rgb: Image) -> int:
    """Return the stamp of an image without one, such as that of a file: it follows from shape and pixels.

    So a file gets the same noise under any name, by command and in Python, and other images other noise.
    """
    digest = blake2b(f"{rgb.shape}".encode() + np.ascontiguousarray(rgb).tobytes(), digest_size=_STAMP_BYTES)
    return int.from_bytes(digest.digest(), "little")


class FrameDistorter:
    """Distorts frames by one specification; the same frame gives the same image in any process.

    Args:
        spec: The distortion; None passes every frame through uncopied.
        origin_ns: Stamp at which its schedule begins, ROS time; without meaning for a constant level.

    Raises:
        UsageError: Unknown distortion.
    """

    def __init__(self, spec: DistortionSpec | None, origin_ns: int = 0) -> None:
        self._spec = spec
        self._origin_ns = origin_ns
        if spec is not None:
            entry(spec.id)

    @property
    def spec(self) -> DistortionSpec | None:
        """The distortion; None for none."""
        return self._spec

    @property
    def origin_ns(self) -> int:
        """Stamp at which the schedule begins, ROS time."""
        return self._origin_ns

    def level_at(self, stamp_ns: int, view: str = "") -> int:
        """Return the level of a camera's frame at a stamp, 0 if it stays as it is.

        Args:
            stamp_ns: Of the frame.
            view: The camera; empty for those that are distorted at all.
        """
        return 0 if self._spec is None else self._spec.level_at(stamp_ns - self._origin_ns, view)

    def apply(self, rgb: Image, view: str, stamp_ns: int) -> Image:
        """Return the distorted frame.

        Args:
            rgb: ``(H, W, 3)`` uint8 RGB; not modified.
            view: The camera's name (``View`` is a string).
            stamp_ns: The frame's stamp, ROS time in nanoseconds.

        Returns:
            A new image of the same shape; ``rgb`` itself at level 0. A level of a schedule gives the same
            image as that level alone.

        Raises:
            InputError: The image has another type, shape or size.
            UsageError: The stamp is not an integer, or the view is not a string.
        """
        level = self.level_at(stamp_ns, view)
        if self._spec is None or level == 0:
            return rgb
        generator = frame_generator(replace(self._spec, level=level, schedule=""), view, stamp_ns)
        return distort(rgb, self._spec.id, level, generator)
