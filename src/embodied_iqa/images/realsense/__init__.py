"""Intel RealSense cameras through librealsense; importing this room does not need the library."""

from embodied_iqa.images.realsense.camera import PoseAt, RealSenseCamera
from embodied_iqa.images.realsense.pictures import Lens, RgbdFrame
from embodied_iqa.images.realsense.recorded import RECORDING_SUFFIXES, RecordedRealSense
from embodied_iqa.images.realsense.settings import RealSenseSettings

__all__ = [
    "RECORDING_SUFFIXES",
    "Lens",
    "PoseAt",
    "RealSenseCamera",
    "RealSenseSettings",
    "RecordedRealSense",
    "RgbdFrame",
]
