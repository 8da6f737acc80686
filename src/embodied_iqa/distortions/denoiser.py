"""Denoising network of distortion 17, run by ONNX Runtime: four 3 x 3 convolutions on pixel quads.

The picture is folded so that each 2 x 2 quad becomes one place of twelve channels, a thirteenth channel holds
the noise level (as in FFDNet, Zhang et al. 2018), the network predicts the noise (as in DnCNN, Zhang et al.
2017), and the noise is subtracted.

All values are integers: activations 0 to 255, weights -127 to 127. Every sum stays below 2^24, where float32
is exact in any order of summation, so the result is the same bit for bit on every machine.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any, Final

import cv2
import numpy as np

from embodied_iqa.distortions.image import Image
from embodied_iqa.errors import InputError
from embodied_iqa.onnx_session import open_session

LAYERS: Final = 4
CONTEXT_PX: Final = 2 * LAYERS
"""Border that the convolutions, which do not pad, consume on each side of a picture."""
LARGEST_SIGMA: Final = 0.5
"""Standard deviation of the noise, range [0, 1], at which the noise level is 255."""
_BAND_ROWS: Final = 128
"""Rows that are computed at once: the working set stays within the processor's cache."""
_INEXACT: Final = ("ConvMulFusion",)
"""Optimizations that would multiply the integer weights by a fraction."""


def noise_level(sigma: float) -> int:
    """Return the value of the noise channel, 0 to 255, for a standard deviation in [0, 1]."""
    return min(255, max(0, round(255 * sigma / LARGEST_SIGMA)))


class Denoiser:
    """A trained denoising network.

    Args:
        path: The ``.onnx`` file that ``embodied-iqa distort train-denoiser`` wrote.

    Raises:
        InputError: The file is missing or is not such a network.
        MissingDependencyError: ONNX Runtime is not installed.
    """

    def __init__(self, path: Path) -> None:
        try:
            network = path.read_bytes()
        except OSError as error:
            raise InputError(f"cannot read the denoiser: {error.strerror}", got=str(path)) from error
        self._session: Any = open_session(network, f"denoiser {path.name}", disabled_optimizers=_INEXACT)

    def denoise(self, image: Image, sigma: float) -> Image:
        """Return the picture without its noise.

        Args:
            image: ``(H, W, 3)`` uint8.
            sigma: The noise's standard deviation for a picture of range [0, 1].
        """
        height, width = image.shape[:2]
        margins = (CONTEXT_PX, CONTEXT_PX + height % 2, CONTEXT_PX, CONTEXT_PX + width % 2)
        padded = cv2.copyMakeBorder(image, *margins, cv2.BORDER_REFLECT_101)
        level = np.array(noise_level(sigma), np.float32)
        bands = [
            self._session.run(
                None, {"picture": padded[top : top + _BAND_ROWS + 2 * CONTEXT_PX], "level": level}
            )[0]
            for top in range(0, height, _BAND_ROWS)
        ]
        return np.ascontiguousarray(np.concatenate(bands)[:height, :width])


@cache
def shipped_denoiser() -> Denoiser:
    """Return the network that comes with the package."""
    with as_file(files("embodied_iqa.distortions").joinpath("denoiser.onnx")) as path:
        return Denoiser(path)
