"""From light to the delivered image: lens, sensor, demosaicing, white balance, gamma and 4:2:2 chroma."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Final

import cv2
import numpy as np
from numpy.typing import NDArray

from embodied_iqa.base.errors import UsageError
from embodied_iqa.base.lazy import load
from embodied_iqa.imaging.images.frame import View
from embodied_iqa.world.simulation.camera.exposure import Exposure
from embodied_iqa.world.simulation.camera.sensor import NATIVE_WIDTH_PX, SENSITIVITY, WHITE, Raw, Sensor

_LENS_SIGMA_PX: Final = 0.6
"""Point spread of lens and pixel at 1280 pixels per row: F/2.0 diffracts to 0.9 px, the rest is defocus."""
_SCALER_SIGMA_PX: Final = 0.35
"""Point spread of the device's scaler, in pixels of the smaller image."""
_WIDEST_OF_THREE_SAMPLES_PX: Final = 0.65
"""Above it more samples are taken, which then have the variance of the whole; three have at most 0.82 px."""
_CORNER_LIGHT: Final = 0.75
"""Light in the corners against the centre: cos^4 of the field angle, mostly corrected by the device."""


def image_of(
    rgb: NDArray[np.uint8], view: View, exposure: Exposure, noise_seed: tuple[int, ...]
) -> NDArray[np.uint8]:
    """Return the image that the camera delivers of a rendered one.

    The lens blurs sRGB values, not light: at the contrasts of the cell the difference is below the noise.

    Args:
        rgb: ``(H, W, 3)`` uint8, rendered, blurred by motion.
        view: The camera.
        exposure: Its settings.
        noise_seed: Of the noise of this image.

    Returns:
        ``(H, W, 3)`` uint8, sRGB.

    Raises:
        UsageError: Width or height is odd: two pixels share their chroma.
    """
    height_px, width_px, _ = rgb.shape
    if width_px % 2 or height_px % 2:
        raise UsageError("camera model d455 needs an even width and height", got=f"{width_px}x{height_px}")
    blurred = _through_lens(rgb, lens_sigma_px(width_px))
    sensor = Sensor(view, width_px, height_px)
    raw = sensor.expose(blurred, exposure, noise_seed, _vignette(width_px, height_px))
    return _chroma_422(_developed(raw, exposure, mosaic=sensor.is_mosaic))


def lens_sigma_px(width_px: int) -> float:
    """Return the standard deviation of the point spread at a resolution [px]."""
    if width_px >= NATIVE_WIDTH_PX:
        return _LENS_SIGMA_PX * width_px / NATIVE_WIDTH_PX
    return math.hypot(_LENS_SIGMA_PX * width_px / NATIVE_WIDTH_PX, _SCALER_SIGMA_PX)


def _through_lens(rgb: NDArray[np.uint8], sigma_px: float) -> NDArray[np.uint8]:
    if sigma_px > _WIDEST_OF_THREE_SAMPLES_PX:
        return np.asarray(cv2.GaussianBlur(rgb, (0, 0), sigma_px))
    return np.asarray(cv2.GaussianBlur(rgb, (3, 3), _sampled(sigma_px)))


def _sampled(sigma_px: float) -> float:
    """Return the width for which three samples of a Gaussian, normalised, have the variance of the whole.

    Of less than 0.81 px: three equal samples have that.
    """
    side = sigma_px**2 / 2
    return math.sqrt(-0.5 / math.log(side / (1 - 2 * side)))


@lru_cache(maxsize=4)
def _vignette(width_px: int, height_px: int) -> NDArray[np.float32]:
    x = np.arange(width_px) - (width_px - 1) / 2
    y = np.arange(height_px) - (height_px - 1) / 2
    radius2 = (x[None, :] ** 2 + y[:, None] ** 2) / (x[0] ** 2 + y[0] ** 2)
    tan2 = 1 / math.sqrt(_CORNER_LIGHT) - 1  # cos^4 = 1 / (1 + tan^2)^2
    return np.asarray(1 / (1 + tan2 * radius2) ** 2, np.float32)


def _developed(raw: Raw, exposure: Exposure, *, mosaic: bool) -> NDArray[np.uint8]:
    red, green, blue = (
        _gamma_table(round(gain / sensitivity, 6))
        for gain, sensitivity in zip((exposure.red, 1.0, exposure.blue), SENSITIVITY, strict=True)
    )
    if not mosaic:
        kernels = load("embodied_iqa.world.simulation.camera.kernels")  # numba loads slowly
        rgb: NDArray[np.uint8] = kernels.develop_colour(raw, red, green, blue)
        return rgb
    encoded = green[raw]
    encoded[::2, ::2] = red[raw[::2, ::2]]
    encoded[1::2, 1::2] = blue[raw[1::2, 1::2]]
    return np.asarray(cv2.cvtColor(encoded, cv2.COLOR_BayerRGGB2RGB))


@lru_cache(maxsize=64)
def _gamma_table(gain: float) -> NDArray[np.uint8]:
    """Return the sRGB value of each raw value after a gain."""
    light = np.minimum(gain * np.arange(WHITE + 1) / WHITE, 1.0)
    encoded = np.where(light <= 0.0031308, 12.92 * light, 1.055 * light ** (1 / 2.4) - 0.055)
    return np.rint(255.0 * encoded).astype(np.uint8)


def _chroma_422(rgb: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Return the image after YUYV, the device's format: BT.601 in studio range, chroma for two pixels."""
    yuyv = cv2.cvtColor(rgb, cv2.COLOR_RGB2YUV_YUY2)
    return np.asarray(cv2.cvtColor(yuyv, cv2.COLOR_YUV2RGB_YUY2))
