"""MIQD's environment: fog, snow, darkness."""

from __future__ import annotations

import math

import cv2
import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from embodied_iqa.imaging.distortions.convolution import convolve
from embodied_iqa.imaging.distortions.entry import DistortionClass, miqd
from embodied_iqa.imaging.distortions.image import FloatImage, Image, rounded
from embodied_iqa.imaging.distortions.miqd_blur import trail_kernel
from embodied_iqa.imaging.distortions.random_fields import normal_quantiles, uniform_words

_FAINTEST = 1.0 / 512
"""Octaves fainter than half a grey value, relative to the first, are invisible."""
_SNOW_ANGLES_DEG = (45.0, 135.0)


def plasma(rng: Generator, shape: tuple[int, int], decay: float) -> FloatImage:
    """Return a cloud in [0, 1]: midpoint displacement, each octave ``decay ** 2`` fainter than the last.

    (In the diamond-square generator of MIQD two factors decay.)
    """
    side = 2 ** math.ceil(math.log2(max(shape)))
    cloud = np.zeros((2, 2), np.float32)
    amplitude, step = 1.0, side
    while step > 1:
        step //= 2
        rows, columns = (math.ceil(length / step) + 1 for length in shape)
        cloud = _midpoints(cloud)[:rows, :columns]
        if amplitude > _FAINTEST:
            cloud = cloud + (rng.random(cloud.shape, np.float32) - np.float32(0.5)) * np.float32(amplitude)
        amplitude /= decay**2
    cloud = cloud[: shape[0], : shape[1]]
    low, high = float(cloud.min()), float(cloud.max())
    return (cloud - np.float32(low)) * np.float32(1.0 / max(high - low, 1e-9))


def _midpoints(cloud: FloatImage) -> FloatImage:
    """Return the grid with the means of neighbours in between, ``(2 H - 1, 2 W - 1)``."""
    rows, columns = cloud.shape
    fine = np.empty((2 * rows - 1, 2 * columns - 1), np.float32)
    fine[::2, ::2] = cloud
    fine[1::2, ::2] = (cloud[:-1] + cloud[1:]) * np.float32(0.5)
    fine[:, 1::2] = (fine[:, :-1:2] + fine[:, 2::2]) * np.float32(0.5)
    return fine


def fog(image: Image, rng: Generator, amount: float, decay: float) -> Image:
    """Add ``amount`` times a cloud and compress the tones back into the range of the image."""
    cloud = plasma(rng, (image.shape[0], image.shape[1]), decay)
    peak = float(image.max()) / 255.0
    share = peak / (peak + amount)
    haze = cv2.cvtColor(cloud * np.float32(255.0 * amount * share), cv2.COLOR_GRAY2RGB)
    result: Image = cv2.scaleAdd(image.astype(np.float32), share, haze).round().clip(0, 255).astype(np.uint8)
    return result


def _flakes(rng: Generator, shape: tuple[int, int], loc: float, scale: float, zoom: float) -> Image:
    """Return Gaussian noise of the range [0, 1] as uint8, enlarged by ``zoom``."""
    height, width = shape
    size = (math.ceil(height / zoom), math.ceil(width / zoom))
    values = rounded(255.0 * (loc + scale * normal_quantiles()))
    small = cv2.LUT(uniform_words(rng, size), values)
    return np.asarray(cv2.resize(small, (width, height), interpolation=cv2.INTER_LINEAR))


def snow(  # noqa: PLR0917 - one argument for each parameter of the catalogue
    image: Image,
    rng: Generator,
    loc: float,
    scale: float,
    zoom: float,
    threshold: float,
    radius_px: float,
    sigma_px: float,
    mix: float,
) -> Image:
    """Add snow: bright flakes smeared downwards over a whitened image.

    Args:
        image: ``(H, W, 3)`` uint8.
        rng: Random generator of the flakes.
        loc: Mean of the noise of which flakes are made, range [0, 1].
        scale: Its standard deviation.
        zoom: Size of a flake in px.
        threshold: Noise below this is set to 0.
        radius_px: Length of the smear.
        sigma_px: Its decay.
        mix: Weight of the unchanged image.
    """
    flakes = _flakes(rng, (image.shape[0], image.shape[1]), loc, scale, zoom)
    cv2.threshold(flakes, 255.0 * threshold, 0, cv2.THRESH_TOZERO, dst=flakes)
    flakes = convolve(flakes, trail_kernel(radius_px, sigma_px, float(rng.uniform(*_SNOW_ANGLES_DEG))))
    flakes = cv2.add(flakes, cv2.rotate(flakes, cv2.ROTATE_180))
    gray = cv2.LUT(cv2.cvtColor(image, cv2.COLOR_RGB2GRAY), rounded(np.arange(256) * 1.5 + 127.5))
    white = cv2.max(image, cv2.cvtColor(gray, cv2.COLOR_GRAY2RGB))
    behind = cv2.addWeighted(image, mix, white, 1.0 - mix, 0.0)
    return np.asarray(cv2.add(behind, cv2.cvtColor(flakes, cv2.COLOR_GRAY2RGB)))


def darkness(image: Image, _: Generator, amount: float) -> Image:
    """Subtract ``amount`` (of the range [0, 1]) from HSV's value; hue and saturation stay."""
    values = np.arange(256, dtype=np.float64)
    factors = (np.maximum(values - 255.0 * amount, 0.0) / np.maximum(values, 1.0)).astype(np.float32)
    red, green, blue = cv2.split(image)
    factor: NDArray[np.float32] = cv2.LUT(cv2.max(cv2.max(red, green), blue), factors)
    return np.asarray(cv2.multiply(image, cv2.merge([factor, factor, factor]), dtype=cv2.CV_8U))


_ENVIRONMENT = DistortionClass.ENVIRONMENT
ENTRIES = (
    miqd(
        "miqd:fog",
        _ENVIRONMENT,
        fog,
        "of the range [0, 1], decay of the cloud's octaves",
        amount=(0.1, 0.3, 0.7, 1.5, 5),
        decay=(3, 2.05, 1.6, 1.5, 1.3),
    ),
    miqd(
        "miqd:snow",
        _ENVIRONMENT,
        snow,
        "noise in [0, 1], zoom and smear in px, mix as a share",
        loc=(0.05, 0.25, 0.4, 0.5, 0.6),
        scale=(0.1, 0.209, 0.291, 0.345, 0.4),
        zoom=(1, 2.455, 3.545, 4.273, 5),
        threshold=(0.3, 0.518, 0.682, 0.791, 0.9),
        radius=(5, 8.64, 11.36, 13.18, 15),
        sigma=(2, 6.73, 10.27, 12.64, 15),
        mix=(1, 0.818, 0.682, 0.591, 0.5),
    ),
    miqd(
        "miqd:darkness",
        _ENVIRONMENT,
        darkness,
        "taken from HSV value, range [0, 1]",
        amount=(0.015, 0.061, 0.173, 0.348, 0.7),
    ),
)
