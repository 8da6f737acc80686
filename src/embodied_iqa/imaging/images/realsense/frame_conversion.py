"""Conversion of librealsense frames: pixels bit for bit, intrinsics."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import cv2
import numpy as np
from numpy.typing import NDArray

from embodied_iqa.base.errors import InputError
from embodied_iqa.imaging.images.frame import Intrinsics, LensCalibration, pinhole_lens
from embodied_iqa.imaging.images.realsense.devices import load_library

_MODELS: Final = {"brown_conrady": "plumb_bob", "kannala_brandt4": "equidistant"}
"""Models of librealsense to those of CameraInfo."""


@dataclass(frozen=True, slots=True)
class Lens:
    """Calibration of a colour lens.

    Attributes:
        intrinsics: The pinhole part.
        calibration: The whole, in the terms of CameraInfo. A model without a name there keeps that of
            librealsense, such as ``inverse_brown_conrady``, which most colour sensors have.
        distortion_px: Largest displacement of a corner from its place in the pinhole model. Images are not
            rectified.
    """

    intrinsics: Intrinsics
    calibration: LensCalibration
    distortion_px: float


def lens_of(profile: Any) -> Lens:
    """Read the intrinsics of a ``pyrealsense2.video_stream_profile``."""
    library = load_library()
    raw = profile.get_intrinsics()
    pinhole = Intrinsics(
        int(raw.width), int(raw.height), float(raw.fx), float(raw.fy), float(raw.ppx), float(raw.ppy)
    )
    corners = [(u, v) for u in (0.0, raw.width - 1.0) for v in (0.0, raw.height - 1.0)]
    farthest = 0.0
    for u, v in corners:
        x, y, _ = library.rs2_deproject_pixel_to_point(raw, [u, v], 1.0)
        seen = np.array([raw.fx * x + raw.ppx, raw.fy * y + raw.ppy])
        farthest = max(farthest, float(np.linalg.norm(seen - (u, v))))
    return Lens(pinhole, _calibration(pinhole, raw.model, tuple(map(float, raw.coeffs))), farthest)


def _calibration(pinhole: Intrinsics, model: Any, d: tuple[float, ...]) -> LensCalibration:
    name = str(model.name)
    if name == "none" or not any(d):
        return pinhole_lens(pinhole)
    if name == "kannala_brandt4":
        d = d[:4]
    return pinhole_lens(pinhole, _MODELS.get(name, name), d)


def colour_pixels(frame: Any) -> NDArray[np.uint8]:
    """Return a colour frame's pixels, ``(H, W, 3)`` uint8, red first: a copy that outlives the frame.

    Raises:
        InputError: The stream has another format than RGB8 or BGR8.
    """
    library = load_library()
    form = frame.get_profile().format()
    if form not in {library.format.rgb8, library.format.bgr8}:
        raise InputError("the colour stream has another format", expected="rgb8 or bgr8", got=str(form))
    pixels: NDArray[np.uint8] = np.asanyarray(frame.get_data())
    if form == library.format.bgr8:
        return np.ascontiguousarray(cv2.cvtColor(pixels, cv2.COLOR_BGR2RGB))
    return np.array(pixels, order="C", copy=True)
