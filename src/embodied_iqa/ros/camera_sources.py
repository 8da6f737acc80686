"""Cameras that are not simulated: picture files and recordings."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from embodied_iqa.errors import UsageError
from embodied_iqa.images.codecs import picture_files, read_picture
from embodied_iqa.images.files import FileCamera, intrinsics_of_fov
from embodied_iqa.images.frame import Camera, View
from embodied_iqa.recording.bag_camera import BagCamera, BagCameraOptions
from embodied_iqa.trial.parameters import CameraParameters, CameraSource

__all__ = ["open_cameras"]


def open_cameras(config: CameraParameters, clock_ns: Callable[[], int]) -> list[Camera]:
    """Open one camera for each view.

    Args:
        config: Source, path and views.
        clock_ns: Stamps of the pictures, ROS time: a picture is as fresh as when it is shown.

    Raises:
        UsageError: No path is given.
        InputError: The path holds no pictures.
    """
    if not config.path:
        raise UsageError(f"camera source {config.source} needs a path", expected="the parameter path")
    path = Path(config.path)
    if config.source is CameraSource.BAG:
        options = BagCameraOptions(loop=config.loop, clock_ns=clock_ns)
        return [BagCamera(path, view, options) for view in config.views]
    return [_file_camera(path, view, config, clock_ns) for view in config.views]


def _file_camera(path: Path, view: View, config: CameraParameters, clock_ns: Callable[[], int]) -> Camera:
    own = path / view
    files = picture_files(own if own.is_dir() else path)
    height_px, width_px, _ = read_picture(files[0]).shape
    intrinsics = intrinsics_of_fov(width_px, height_px, config.horizontal_fov_rad)
    return FileCamera(files, view, intrinsics, clock_ns=clock_ns, loop=config.loop)
