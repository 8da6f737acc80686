"""A camera that plays image files in order."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.base.errors import InputError, UsageError
from embodied_iqa.imaging.images.codecs import read_image
from embodied_iqa.imaging.images.frame import Frame, Intrinsics, View
from embodied_iqa.imaging.images.image_files import IMAGE_SUFFIXES, FoundImages, find_images

_LISTED = 5


class EndOfFramesError(InputError):
    """A source of stored frames is at its end; this is not a fault."""


def images_of_view(path: Path, view: View) -> FoundImages:
    """Return the images of a camera: those of the folder with its name, else those of the folder itself.

    Raises:
        InputError: The folder cannot be read or holds none.
    """
    of_view = path / view
    return find_images(of_view if of_view.is_dir() else path)


def intrinsics_of_fov(width_px: int, height_px: int, horizontal_fov_rad: float) -> Intrinsics:
    """Return the pinhole model of a camera with square pixels and a centred axis.

    Args:
        width_px: Image width.
        height_px: Image height.
        horizontal_fov_rad: Angle between the left and the right edge of the image, in (0, pi).

    Raises:
        UsageError: The angle is not in its range.
    """
    if not 0.0 < horizontal_fov_rad < math.pi:
        raise UsageError("wrong field of view", expected="0 to pi rad", got=horizontal_fov_rad)
    focal_px = width_px / 2 / math.tan(horizontal_fov_rad / 2)
    return Intrinsics(width_px, height_px, focal_px, focal_px, (width_px - 1) / 2, (height_px - 1) / 2)


class FileCamera:
    """Implements `images.Camera` with image files, all of one size.

    Args:
        files: Image files in playing order.
        view: The camera's view.
        intrinsics: The pinhole model; its size is that of every image.
        T_base_camera: ``(4, 4)`` pose of the camera's optical frame in the base frame (m); None where it is
            not known.
        period_ns: Time from one stamp to the next.
        start_ns: First stamp.
        clock_ns: ROS time in ns, read for each image; replaces period and first stamp.
        loop: Start again at the end.

    Raises:
        InputError: No files are given, or some are missing or not images; the message lists them.
    """

    def __init__(
        self,
        files: Sequence[Path],
        view: View,
        intrinsics: Intrinsics,
        *,
        T_base_camera: NDArray[np.float64] | None = None,
        period_ns: int = 33_333_333,
        start_ns: int = 0,
        clock_ns: Callable[[], int] | None = None,
        loop: bool = False,
    ) -> None:
        _check_files(files)
        if period_ns < 1:
            raise UsageError("wrong period", expected="at least 1 ns", got=period_ns)
        self._files = tuple(files)
        self._view = view
        self._intrinsics = intrinsics
        self._T_base_camera = None if T_base_camera is None else np.array(T_base_camera, np.float64)
        self._period_ns = period_ns
        self._start_ns = start_ns
        self._clock_ns = clock_ns
        self._loop = loop
        self._shown = 0

    @property
    def view(self) -> View:
        """The camera's view."""
        return self._view

    def read(self, deadline_s: float) -> Frame | None:  # noqa: ARG002 - part of the protocol
        """Return the next image as a frame.

        Args:
            deadline_s: Not used: files are always available.

        Raises:
            EndOfFramesError: All were read.
            InputError: A file is not an image or has another size than the camera.
        """
        if self._shown >= len(self._files) and not self._loop:
            raise EndOfFramesError(f"all {len(self._files)} images of camera {self._view} were shown")
        path = self._files[self._shown % len(self._files)]
        rgb = read_image(path)
        self._check_size(path, rgb)
        stamp_ns = self._start_ns + self._shown * self._period_ns
        self._shown += 1
        if self._clock_ns is not None:
            stamp_ns = self._clock_ns()
        return Frame(self._view, stamp_ns, rgb, self._intrinsics, self._T_base_camera)

    def rewind(self) -> None:
        """Continue with the first image."""
        self._shown = 0

    def close(self) -> None:
        """Do nothing: no file stays open."""

    def _check_size(self, path: Path, rgb: NDArray[np.uint8]) -> None:
        height, width, _ = rgb.shape
        expected = f"{self._intrinsics.width_px} x {self._intrinsics.height_px} px"
        if (width, height) != (self._intrinsics.width_px, self._intrinsics.height_px):
            raise InputError(
                f"{str(path)!r} differs in size from its camera",
                expected=expected,
                got=f"{width} x {height} px",
            )


def _check_files(files: Sequence[Path]) -> None:
    if not files:
        raise InputError("a file camera needs images", expected=f"files *{', *'.join(IMAGE_SUFFIXES)}")
    wrong = [path for path in files if not path.is_file() or path.suffix.lower() not in IMAGE_SUFFIXES]
    if wrong:
        names = ", ".join(repr(str(path)) for path in wrong[:_LISTED])
        more = f" and {len(wrong) - _LISTED} more" if len(wrong) > _LISTED else ""
        raise InputError(
            f"missing files or not images: {names}{more}", expected=f"files *{', *'.join(IMAGE_SUFFIXES)}"
        )
