"""Augmentation of training images: blur, brightness, tint and noise."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Final

import cv2
import numpy as np
from numpy.typing import NDArray

from embodied_iqa.models.panel.panel_members import Augmentation
from embodied_iqa.models.subjects.backends.panel.format import LARGE_PX

_BANK_SIZE: Final = 16
_BANK_MARGIN_PX: Final = 32
_LEVELS: Final = np.arange(256, dtype=np.float32)


@dataclass(frozen=True, slots=True)
class _Strength:
    """Upper limits of the changes.

    Attributes:
        blur: Probability of a blur.
        sigma_px: Largest standard deviation of the blur.
        gain: Spread of brightness.
        tint: Spread of each channel.
        noise: Largest standard deviation in grey levels.
    """

    blur: float
    sigma_px: float
    gain: float
    tint: float
    noise: float


_STRENGTH: Final = {
    Augmentation.LIGHT: _Strength(0.3, 1.2, 0.25, 0.06, 8.0),
    Augmentation.STRONG: _Strength(0.4, 2.2, 0.45, 0.14, 20.0),
}


def augment(images: NDArray[np.uint8], kind: Augmentation, rng: np.random.Generator) -> NDArray[np.uint8]:
    """Return augmented copies of ``(B, H, W, 3)`` uint8 images, at most of the size of `LARGE_PX`."""
    if kind is Augmentation.NONE:
        return images
    strength, bank = _STRENGTH[kind], _noise_bank()
    changed = np.empty_like(images)
    for index, image in enumerate(images):
        changed[index] = _change(image, strength, bank, rng)
    return changed


def _change(
    image: NDArray[np.uint8], strength: _Strength, bank: NDArray[np.int16], rng: np.random.Generator
) -> NDArray[np.uint8]:
    if rng.random() < strength.blur:
        image = np.asarray(cv2.GaussianBlur(image, (0, 0), 0.3 + strength.sigma_px * rng.random()), np.uint8)
    gain = 1 + strength.gain * rng.uniform(-1, 1)
    gains = gain * (1 + strength.tint * rng.uniform(-1, 1, 3))
    table = np.clip(_LEVELS[:, None] * gains, 0, 255).astype(np.uint8)
    image = np.asarray(cv2.LUT(image, table[None]), np.uint8)
    share = rng.random() * strength.noise / 32.0
    y, x = rng.integers(0, _BANK_MARGIN_PX, 2)
    height, width = image.shape[:2]
    grain = bank[int(rng.integers(_BANK_SIZE)), y : y + height, x : x + width]
    noisy = cv2.addWeighted(image.astype(np.int16), 1.0, grain, share, 0.0)
    changed: NDArray[np.uint8] = np.clip(noisy, 0, 255).astype(np.uint8)
    return changed


@cache
def _noise_bank() -> NDArray[np.int16]:
    """Return normal noise of standard deviation 32; drawing it for each image would be slow."""
    width, height = LARGE_PX[0] + _BANK_MARGIN_PX, LARGE_PX[1] + _BANK_MARGIN_PX
    rng = np.random.default_rng(20250101)
    noise: NDArray[np.float64] = 32 * rng.standard_normal((_BANK_SIZE, height, width, 3))
    return noise.astype(np.int16)
