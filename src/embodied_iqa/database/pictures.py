"""Pictures of a database: references from their files, distorted ones from files or from their seeds."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.database.store import Row
from embodied_iqa.distortions.spec import DistortionSpec
from embodied_iqa.distortions.stream import FrameDistorter
from embodied_iqa.errors import InputError
from embodied_iqa.images.codecs import read_picture
from embodied_iqa.images.frame import Frame, Intrinsics, View

__all__ = ["distorted_frame", "picture_hash", "read_frames", "spec_of"]

Picture = NDArray[np.uint8]


def picture_hash(rgb: Any) -> str:
    """Return the hash of a picture's pixels, 64 hexadecimal digits."""
    return hashlib.sha256(memoryview(rgb)).hexdigest()


def read_frames(path: Path, reference: Row, views: Iterable[View]) -> dict[View, Frame]:
    """Read pictures of a reference's instant.

    Args:
        path: The database.
        reference: A row of `references.parquet`.
        views: Which cameras; those that the reference does not have are left out.

    Raises:
        InputError: A file is missing, damaged or not the one that was written.
    """
    wanted = set(views)
    frames = {}
    for camera in reference["cameras"]:
        view = View(camera["view"])
        if view in wanted:
            rgb = read_picture(path / camera["picture"])
            if picture_hash(rgb) != camera["sha256"]:
                raise InputError(f"{path / camera['picture']} is not the picture that was written")
            frames[view] = Frame(view, reference["stamp_ns"], rgb, _intrinsics(rgb, camera), _pose(camera))
    return frames


def _intrinsics(rgb: Picture, camera: Mapping[str, Any]) -> Intrinsics:
    height_px, width_px = rgb.shape[:2]
    names = ("fx_px", "fy_px", "cx_px", "cy_px")
    return Intrinsics(width_px, height_px, *(float(camera[name]) for name in names))


def _pose(camera: Mapping[str, Any]) -> NDArray[np.float64]:
    return np.array(camera["T_base_camera"], np.float64).reshape(4, 4)


def spec_of(pair: Row) -> DistortionSpec:
    """Return how a pair's picture is made."""
    return DistortionSpec(pair["distortion_id"], pair["level"], pair["seed"])


def distorted_frame(frame: Frame, spec: DistortionSpec) -> Frame:
    """Distort a frame as a live camera's would be."""
    rgb = FrameDistorter(spec).apply(frame.rgb, frame.view, frame.stamp_ns)
    return Frame(frame.view, frame.stamp_ns, rgb, frame.intrinsics, frame.T_base_camera)
