"""Images of a database: references from their files, distorted ones from their seeds."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.base.errors import InputError
from embodied_iqa.base.kinematics.se3 import transform_fault
from embodied_iqa.data.database.schema import Camera, Pair, Reference
from embodied_iqa.imaging.distortions.spec import DistortionSpec
from embodied_iqa.imaging.distortions.stream import FrameDistorter
from embodied_iqa.imaging.images.codecs import read_image
from embodied_iqa.imaging.images.frame import Frame, Intrinsics, View


def image_hash(rgb: Any) -> str:
    """Return the hash of an image's pixels, 64 hexadecimal digits."""
    return hashlib.sha256(memoryview(rgb)).hexdigest()


def read_frames(path: Path, reference: Reference, views: Iterable[View]) -> dict[View, Frame]:
    """Read images of a reference's instant.

    Args:
        path: The database.
        reference: The reference.
        views: The cameras; those that the reference does not have are left out.

    Raises:
        InputError: A file is missing, damaged or not the one that was written.
    """
    wanted = set(views)
    cameras = [camera for camera in reference.cameras if camera.view in wanted]
    return {camera.view: _read_frame(path, camera, reference.noise_stamp_ns) for camera in cameras}


def _read_frame(path: Path, camera: Camera, stamp_ns: int) -> Frame:
    rgb = read_image(path / camera.image)
    if image_hash(rgb) != camera.sha256:
        raise InputError(f"{path / camera.image} is not the image that was written")
    if fault := camera_fault(camera):
        raise InputError(f"{path / camera.image}: {fault}")
    height_px, width_px = rgb.shape[:2]
    pinhole, pose = camera.pinhole_px, camera.T_base_camera
    return Frame(
        camera.view,
        stamp_ns,
        rgb,
        None if pinhole is None else Intrinsics(width_px, height_px, *pinhole),
        None if pose is None else np.array(pose, np.float64).reshape(4, 4),
    )


def camera_fault(camera: Camera) -> str:
    """Return what is wrong with the stored numbers of a camera; empty for nothing, or if not known."""
    numbers = (camera.fx_px, camera.fy_px, camera.cx_px, camera.cy_px)
    pinhole, pose = camera.pinhole_px, camera.T_base_camera
    if pinhole is None and any(number is not None for number in numbers):
        return f"the pinhole model of the {camera.view} camera is incomplete"
    if pinhole is not None and not (np.isfinite(pinhole).all() and min(pinhole[:2]) > 0.0):
        return f"the pinhole model of the {camera.view} camera is {list(pinhole)} px: no camera"
    if pose is not None and (fault := transform_fault(pose)):
        return f"the pose of the {camera.view} camera is {fault}"
    return ""


def reference_frame(path: Path, reference: Reference) -> Frame:
    """Read the image of a reference with its camera.

    Raises:
        InputError: The file is missing, damaged, outside of the database, or not the one that was written.
    """
    view = reference.view
    camera = next((camera for camera in reference.cameras if camera.view == view), None)
    if camera is None:
        raise InputError(f"the reference has no image of the {view} camera")
    inside(path, camera.image)
    return read_frames(path, reference, [view])[view]


def distorted_rgb(path: Path, reference: Reference, pair: Pair) -> NDArray[np.uint8]:
    """Return a distorted image, ``(H, W, 3)`` uint8 RGB: from its file, or else from its seed.

    Raises:
        InputError: A file is missing, damaged or outside of the database.
    """
    if pair.image is not None:
        return read_image(inside(path, pair.image))
    return distorted_frame(reference_frame(path, reference), spec_of(pair)).rgb


def inside(path: Path, name: str) -> Path:
    """Return a file of a database.

    Raises:
        InputError: The name leads out of the folder, as a damaged or hostile table may.
    """
    file = (path / name).resolve()
    if not file.is_relative_to(path.resolve()):
        raise InputError("an image is outside of the database", got=name)
    return file


def spec_of(pair: Pair) -> DistortionSpec:
    """Return the distortion of a pair's image."""
    return DistortionSpec(pair.distortion_id, pair.level, pair.seed)


def distorted_frame(frame: Frame, spec: DistortionSpec) -> Frame:
    """Distort a frame as a live camera's would be."""
    rgb = FrameDistorter(spec).apply(frame.rgb, frame.view, frame.stamp_ns)
    return Frame(frame.view, frame.stamp_ns, rgb, frame.intrinsics, frame.T_base_camera)
