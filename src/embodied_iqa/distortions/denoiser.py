"""The small denoising network of distortion 17, run with numpy: four 3 x 3 convolutions on pixel quads.

The picture is folded so that each 2 x 2 quad becomes one place of twelve channels (as in FFDNet, Zhang et al.
2018), the network predicts the noise (as in DnCNN, Zhang et al. 2017), and the noise is taken away.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib.resources import as_file, files
from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray

from embodied_iqa.distortions.image import FloatImage, Image, from_unit, to_unit
from embodied_iqa.errors import InputError, MissingDependencyError

__all__ = [
    "CONTEXT_PX",
    "DenoiserWeights",
    "denoise",
    "fold_quads",
    "gather_columns",
    "load_denoiser",
    "shipped_denoiser",
]

Planes = NDArray[np.float32]
"""``(C, h, w)`` float32."""

LAYERS = 4
CONTEXT_PX = 2 * LAYERS
"""What the convolutions, which do not pad, take away on each side of a picture."""
_BAND_ROWS = 48
"""Rows of quads that are computed at once: the working set stays within the processor's cache."""


@dataclass(frozen=True, slots=True, eq=False)
class DenoiserWeights:
    """What the network learned.

    Attributes:
        kernels: One ``(C_out, 9 C_in)`` float32 matrix a layer; columns run over rows, columns, channels.
        biases: One ``(C_out, 1)`` float32 vector a layer.
    """

    kernels: tuple[NDArray[np.float32], ...]
    biases: tuple[NDArray[np.float32], ...]


def load_denoiser(path: Path) -> DenoiserWeights:
    """Read the weights from a safetensors file.

    Raises:
        InputError: The file is missing or holds something else.
        MissingDependencyError: safetensors is not installed.
    """
    try:
        from safetensors.numpy import load_file  # noqa: PLC0415 - distortion 17 alone needs it
    except ImportError:
        raise MissingDependencyError(
            "distortion 17 needs safetensors", expected="pip install safetensors"
        ) from None
    try:
        tensors = load_file(path)
        kernels = tuple(tensors[f"kernel_{layer}"] for layer in range(LAYERS))
        biases = tuple(tensors[f"bias_{layer}"] for layer in range(LAYERS))
    except (OSError, KeyError, ValueError) as error:
        raise InputError("no weights of the denoiser", expected=f"{LAYERS} layers", got=str(path)) from error
    return DenoiserWeights(kernels, biases)


@cache
def shipped_denoiser() -> DenoiserWeights:
    """Return the network that comes with the package."""
    with as_file(files("embodied_iqa.distortions").joinpath("denoiser.safetensors")) as path:
        return load_denoiser(path)


def fold_quads(image: FloatImage) -> Planes:
    """Return ``(12, H/2, W/2)``: the four pixels of each 2 x 2 quad as channels. Sides must be even."""
    height, width, channels = image.shape
    quads = image.reshape(height // 2, 2, width // 2, 2, channels).transpose(1, 3, 4, 0, 2)
    return np.ascontiguousarray(quads).reshape(4 * channels, height // 2, width // 2)


def _unfold_quads(planes: Planes) -> FloatImage:
    channels, height, width = planes.shape
    quads = planes.reshape(2, 2, channels // 4, height, width).transpose(3, 0, 4, 1, 2)
    return np.ascontiguousarray(quads).reshape(2 * height, 2 * width, channels // 4)


def gather_columns(planes: Planes) -> Planes:
    """Return ``(9 C, (h - 2) (w - 2))``: every 3 x 3 neighbourhood as a column."""
    channels, height, width = planes.shape
    columns = np.empty((9, channels, height - 2, width - 2), np.float32)
    for tap in range(9):
        dy, dx = divmod(tap, 3)
        columns[tap] = planes[:, dy : dy + height - 2, dx : dx + width - 2]
    return columns.reshape(9 * channels, -1)


def _noise_of(planes: Planes, weights: DenoiserWeights) -> Planes:
    """Return the predicted noise, four quads smaller on each side."""
    for layer, (kernel, bias) in enumerate(zip(weights.kernels, weights.biases, strict=True)):
        _, height, width = planes.shape
        out = kernel @ gather_columns(planes)
        out += bias
        if layer < LAYERS - 1:
            np.maximum(out, 0, out=out)
        planes = out.reshape(len(kernel), height - 2, width - 2)
    return planes


def denoise(image: Image, weights: DenoiserWeights) -> Image:
    """Return the picture without the noise that the network sees in it.

    Args:
        image: ``(H, W, 3)`` uint8.
        weights: The network.
    """
    height, width = image.shape[:2]
    frame = (CONTEXT_PX, CONTEXT_PX + height % 2, CONTEXT_PX, CONTEXT_PX + width % 2)
    padded = cv2.copyMakeBorder(image, *frame, cv2.BORDER_REFLECT_101)
    out = np.empty((height + height % 2, width + width % 2, 3), np.uint8)
    for top in range(0, out.shape[0], 2 * _BAND_ROWS):
        band = to_unit(padded[top : top + 2 * _BAND_ROWS + 2 * CONTEXT_PX])
        noise = _unfold_quads(_noise_of(fold_quads(band), weights))
        clean = cv2.subtract(band[CONTEXT_PX:-CONTEXT_PX, CONTEXT_PX:-CONTEXT_PX], noise)
        out[top : top + len(clean)] = from_unit(clean)
    return np.ascontiguousarray(out[:height, :width])
