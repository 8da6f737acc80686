"""Intel RealSense cameras through librealsense, which is loaded on first use."""

from embodied_iqa.imaging.images.realsense.camera import RealSenseCamera
from embodied_iqa.imaging.images.realsense.frame_conversion import Lens
from embodied_iqa.imaging.images.realsense.realsense_options import RealSenseOptions
from embodied_iqa.imaging.images.realsense.recorded import RECORDING_SUFFIXES, RecordedRealSense

__all__ = [
    "RECORDING_SUFFIXES",
    "Lens",
    "RealSenseCamera",
    "RealSenseOptions",
    "RecordedRealSense",
]
