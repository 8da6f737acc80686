"""Images without the distortion of their lens, by the models of `sensor_msgs/msg/CameraInfo`."""

from __future__ import annotations

from typing import Any, Final

import cv2
import numpy as np
from numpy.typing import NDArray

from embodied_iqa.base.errors import InputError
from embodied_iqa.imaging.images.frame import LensCalibration

_IDENTITY: Final = (1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0)
_ORTHONORMAL: Final = 1e-3
_EQUIDISTANT: Final = "equidistant"
_COEFFICIENTS: Final = {"plumb_bob": (4, 5), "rational_polynomial": (8,), _EQUIDISTANT: (4,)}
"""Numbers of coefficients of the models that can be rectified."""


class Rectifier:
    """Removes the distortion of a lens.

    Args:
        lens: Its calibration. Where ``r`` is zero it counts as identity, where ``p`` is zero as ``k``.

    Attributes:
        of: The calibration that was given.
        lens: The calibration of the rectified images: without distortion, ``k`` is the left part of ``p``.

    Raises:
        InputError: The model is not known, or a matrix is invalid.
    """

    def __init__(self, lens: LensCalibration) -> None:
        self.of = lens
        rotation = np.reshape(lens.r if any(lens.r) else _IDENTITY, (3, 3))
        if np.abs(rotation @ rotation.T - np.eye(3)).max() > _ORTHONORMAL:
            raise InputError("R of a CameraInfo is not a rotation", got=list(lens.r))
        k = np.reshape(lens.k, (3, 3))
        p = np.reshape(lens.p, (3, 4)) if any(lens.p) else np.column_stack([k, np.zeros(3)])
        if min(p[0, 0], p[1, 1]) <= 0.0 or not np.linalg.det(p[:, :3]) > 0.0:
            raise InputError("P of a CameraInfo projects nothing", got=list(lens.p))
        self._rotation, self._k, self._new_k = rotation, k, p[:, :3]
        self._distortion = _coefficients(lens)
        self._map = self._maps(cv2.CV_16SC2)
        self._exact: tuple[Any, Any] | None = None
        self.lens = LensCalibration(
            lens.width_px,
            lens.height_px,
            "plumb_bob",
            (0.0,) * 5,
            tuple(self._new_k.ravel().tolist()),
            _IDENTITY,
            tuple(p.ravel().tolist()),
        )

    def image(self, rgb: NDArray[np.uint8]) -> NDArray[np.uint8]:
        """Return the rectified image, ``(H, W, 3)`` uint8, read-only; black where the camera sees nothing."""
        found = np.asarray(cv2.remap(rgb, *self._map, cv2.INTER_LINEAR), np.uint8)
        found.flags.writeable = False
        return found

    def depth(self, depth: NDArray[np.uint16]) -> NDArray[np.uint16]:
        """Return rectified depth, ``(H, W)`` uint16: that of the nearest pixel, 0 outside the image."""
        if self._exact is None:  # fixed-point maps round down to the pixel
            self._exact = self._maps(cv2.CV_32FC1)
        return np.asarray(cv2.remap(depth, *self._exact, cv2.INTER_NEAREST), np.uint16)

    def pose(self, T_base_camera: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the pose ``(4, 4)`` of the rectified camera: ``r`` turns its frame (stereo cameras)."""
        T_camera_rectified = np.eye(4)
        T_camera_rectified[:3, :3] = self._rotation.T
        return T_base_camera @ T_camera_rectified

    def _maps(self, kind: int) -> tuple[Any, Any]:
        size = (self.of.width_px, self.of.height_px)
        make = (
            cv2.fisheye.initUndistortRectifyMap
            if self.of.model == _EQUIDISTANT
            else cv2.initUndistortRectifyMap
        )
        first, second = make(self._k, self._distortion, self._rotation, self._new_k, size, kind)
        return first, second


def _coefficients(lens: LensCalibration) -> NDArray[np.float64]:
    """Return the coefficients for OpenCV; a lens without any distortion may leave out its model.

    Raises:
        InputError: The model is not known, or has another number of coefficients.
    """
    if not any(lens.d) and lens.model != _EQUIDISTANT:
        return np.zeros(5)
    if lens.model not in _COEFFICIENTS:
        raise InputError("a lens cannot be rectified", got=lens.model, available=_COEFFICIENTS)
    if len(lens.d) not in _COEFFICIENTS[lens.model]:
        expected = " or ".join(map(str, _COEFFICIENTS[lens.model]))
        raise InputError(f"a {lens.model} lens has other coefficients", expected=expected, got=list(lens.d))
    return np.array(lens.d)
