"""Denoising network of distortion 17, run by ONNX Runtime: four 3 x 3 convolutions on pixel quads.

The image is folded so that each 2 x 2 quad becomes one place of twelve channels, a thirteenth channel holds
the noise level (as in FFDNet, Zhang et al. 2018), the network predicts the noise (as in DnCNN, Zhang et al.
2017), and the noise is subtracted.

All values are integers: activations 0 to 255, weights -127 to 127. Every sum stays below 2^24, where float32
is exact too, and one float32 product takes it to the next activation: the result is the same bit for bit on
every machine.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any, Final

import cv2
import numpy as np
from numpy.typing import NDArray

from embodied_iqa.base.errors import InputError
from embodied_iqa.base.onnx_session import open_session
from embodied_iqa.imaging.distortions.image import Image

LAYERS: Final = 4
CONTEXT_PX: Final = 2 * LAYERS
"""Border that the convolutions, which do not pad, consume on each side of an image."""
LARGEST_SIGMA: Final = 0.5
"""Standard deviation of the noise, range [0, 1], at which the noise level is 255."""
QUAD_VALUES: Final = 12
"""Values of a quad: upper row, then lower row, each left and right pixel, each red, green, blue."""
CHANNELS: Final = 16
"""Channels of the input: the quad's values, the noise level, zeros up to what 8-bit kernels take at once."""
_PAIR: Final = np.dtype((np.void, QUAD_VALUES // 2))
"""Two pixels side by side; NumPy moves them as one value, several times as fast as six."""
_QUAD: Final = np.dtype(
    {
        "names": ["upper", "lower", "level"],
        "formats": [_PAIR, _PAIR, np.uint8],
        "offsets": [0, QUAD_VALUES // 2, QUAD_VALUES],
        "itemsize": CHANNELS,
    }
)
_INPUT: Final = f"quads [1, 'H', 'W', {CHANNELS}]"
_BAND_ROWS: Final = 64
"""Rows of quads that are computed at once: the working set stays within the processor's cache."""
HAS_VNNI: Final = 261
"""OpenCV's ``CPU_AVX512_CLX``: exact products of 8-bit values."""
_EXACT: Final = {"session.x64quantprecision": "1"}
"""Keeps 8-bit products from saturating on x86 processors without these; takes three times as long."""


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
        settings = {} if cv2.checkHardwareSupport(HAS_VNNI) else _EXACT
        self._session: Any = open_session(network, f"denoiser {path.name}", settings)
        inputs = [f"{value.name} {value.shape}" for value in self._session.get_inputs()]
        if inputs != [_INPUT]:
            raise InputError(
                f"not a denoiser: {str(path)!r}", expected=f"a network with the input {_INPUT}", got=inputs
            )

    def denoise(self, image: Image, sigma: float) -> Image:
        """Return the image without its noise.

        Args:
            image: ``(H, W, 3)`` uint8.
            sigma: The noise's standard deviation for an image of range [0, 1].
        """
        height, width = image.shape[:2]
        margins = (CONTEXT_PX, CONTEXT_PX + height % 2, CONTEXT_PX, CONTEXT_PX + width % 2)
        quads = _folded(cv2.copyMakeBorder(image, *margins, cv2.BORDER_REFLECT_101), noise_level(sigma))
        noise = np.concatenate(
            [
                self._session.run(None, {"quads": quads[None, top : top + _BAND_ROWS + 2 * LAYERS]})[0][0]
                for top in range(0, len(quads) - 2 * LAYERS, _BAND_ROWS)
            ]
        )
        surplus, lack = _unfolded(noise)[:, :height, :width]
        return np.asarray(cv2.add(cv2.subtract(image, surplus), lack))


def _folded(image: Image, level: int) -> NDArray[np.uint8]:
    """Return ``(H/2, W/2, CHANNELS)`` of an image with even sides."""
    height, width = image.shape[:2]
    pairs = image.reshape(height, -1).view(_PAIR).reshape(height // 2, 2, width // 2)
    quads = np.zeros((height // 2, width // 2), _QUAD)
    quads["upper"], quads["lower"], quads["level"] = pairs[:, 0], pairs[:, 1], level
    return quads.view(np.uint8).reshape(height // 2, width // 2, CHANNELS)


def _unfolded(quads: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Return ``(N, 2 H, 2 W, 3)`` of ``(H, W, N QUAD_VALUES)``."""
    height, width = quads.shape[:2]
    pairs = quads.view(_PAIR).reshape(height, width, -1, 2).transpose(2, 0, 3, 1)
    return np.ascontiguousarray(pairs).view(np.uint8).reshape(-1, 2 * height, 2 * width, 3)


@cache
def shipped_denoiser() -> Denoiser:
    """Return the network that comes with the package."""
    with as_file(files("embodied_iqa.imaging.distortions").joinpath("denoiser.onnx")) as path:
        return Denoiser(path)
