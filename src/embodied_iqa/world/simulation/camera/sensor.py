"""The image sensor: light to raw values, with photon and read noise and a fixed pattern.

The colour sensor of the D455 is an OmniVision OV9782 (Intel D400 series data sheet 337029): 1/4 inch,
1280 x 800 pixels of 3 um, global shutter. Its product brief gives a signal-to-noise ratio of 38 dB, a dynamic
range of 68 dB and 10 bits.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, lru_cache
from hashlib import blake2b
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.base.lazy import load
from embodied_iqa.imaging.images.frame import View
from embodied_iqa.world.scenes.dimensions import CELL_VIEWS
from embodied_iqa.world.simulation.camera.exposure import FULL_SCALE_S, Exposure

Raw = NDArray[np.uint16]

FULL_WELL_E: Final = 10 ** (38 / 10)
"""Electrons of a full pixel: at the shot-noise limit the ratio is its square root."""
READ_NOISE_E: Final = FULL_WELL_E / 10 ** (68 / 20)
"""Electrons of noise in the dark: the dynamic range is full well over read noise."""
WHITE: Final = 1023
"""Largest raw value, 10 bits."""
NATIVE_WIDTH_PX: Final = 1280
SENSITIVITY: Final = (1 / 1.9, 1.0, 1 / 1.6)
"""Signal of a white surface in red, green and blue pixels: what a white balance near 4600 K undoes."""
_PRNU: Final = 0.008
"""Relative spread of the pixels' sensitivity; EMVA 1288 data sheets of CMOS sensors give 0.5 to 1 %."""
_COLUMN_E: Final = 0.4
"""Spread of the columns' offsets in electrons; as for `_PRNU`."""
_TABLE: Final = 1 << 20
"""Draws of the normal distribution that images take their noise from, each row from a random place."""


@dataclass(frozen=True, slots=True, eq=False)
class Sensor:
    """The sensor of one camera at one resolution.

    At 1280 pixels per row each pixel sees one colour (a Bayer mosaic); at 640 and less the device combines
    pixels, so that each has all three.

    Attributes:
        view: The camera; every camera has a fixed pattern of its own.
        width_px: Width of the images, even.
        height_px: Height of the images, even.
    """

    view: View
    width_px: int
    height_px: int

    @property
    def combined(self) -> float:
        """Pixels of the sensor that make one value of the image; 1 for a mosaic."""
        return max((NATIVE_WIDTH_PX / self.width_px) ** 2 / 4, 1.0)

    @property
    def is_mosaic(self) -> bool:
        """Whether each pixel sees one colour: red green / green blue."""
        return 2 * self.width_px > NATIVE_WIDTH_PX

    def expose(
        self,
        rgb: NDArray[np.uint8],
        exposure: Exposure,
        noise_seed: tuple[int, ...],
        light: NDArray[np.float32],
    ) -> Raw:
        """Return raw values.

        Args:
            rgb: ``(H, W, 3)`` uint8, sRGB.
            exposure: Time and gain.
            noise_seed: Of the noise of this image.
            light: ``(H, W)`` float32, share of the light that the lens passes to each pixel.

        Returns:
            ``(H, W)`` uint16 for a mosaic, else ``(H, W, 3)``; linear, 0 to `WHITE`.
        """
        pattern = _fixed_pattern(self.view, self.width_px, self.height_px, mosaic=self.is_mosaic)
        electrons = FULL_WELL_E * self.combined * exposure.time_s / FULL_SCALE_S
        white_e = FULL_WELL_E * self.combined / exposure.gain
        kernel = _kernels().expose_mosaic if self.is_mosaic else _kernels().expose_colour
        raw: Raw = kernel(
            rgb,
            linear_table() * np.float32(electrons),
            np.array(SENSITIVITY, np.float32),
            light,
            *pattern,
            _normal_table(),
            seeded(noise_seed).integers(0, _TABLE, self.height_px),
            np.array([READ_NOISE_E**2 * self.combined, WHITE / white_e], np.float32),
        )
        return raw


@cache
def linear_table() -> NDArray[np.float32]:
    """Return ``(256,)`` float32, linear light in [0, 1] of each sRGB value (IEC 61966-2-1)."""
    encoded = np.arange(256) / 255.0
    return np.where(encoded <= 0.04045, encoded / 12.92, ((encoded + 0.055) / 1.055) ** 2.4).astype(
        np.float32
    )


@lru_cache(maxsize=8)
def _fixed_pattern(
    view: View, width_px: int, height_px: int, *, mosaic: bool
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Return each value's sensitivity and each column's offset in electrons."""
    rng = np.random.default_rng([CELL_VIEWS.index(view), width_px, height_px])
    shape = (height_px, width_px) if mosaic else (height_px, width_px, 3)
    gains = 1.0 + _PRNU * rng.standard_normal(shape, np.float32)
    return gains, _COLUMN_E * rng.standard_normal(width_px, np.float32)


@cache
def _normal_table() -> NDArray[np.float32]:
    return np.random.default_rng(1288).standard_normal(2 * _TABLE, np.float32)


def seeded(seed: tuple[int | str, ...]) -> np.random.Generator:
    """Return a generator that depends on numbers and words only."""
    return np.random.default_rng(int.from_bytes(blake2b(repr(seed).encode(), digest_size=16).digest()))


@cache
def _kernels() -> Any:
    return load("embodied_iqa.world.simulation.camera.kernels")  # numba loads slowly
