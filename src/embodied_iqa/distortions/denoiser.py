"""The small denoising network of distortion 17, run with numpy: four 3 x 3 convolutions on pixel quads.

The picture is folded so that each 2 x 2 quad becomes one place of twelve channels (as in FFDNet, Zhang et al.
2018), a thirteenth channel says how strong the noise is, the network predicts the noise (as in DnCNN, Zhang
et al. 2017), and the noise is taken away.

All values are whole: activations 0 to 255, weights -127 to 127. Every sum stays below 2^24, where float32 is
exact in whatever order it adds, so the picture is the same bit for bit with any BLAS and number of threads.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib.resources import as_file, files
from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray

from embodied_iqa.distortions.image import FloatImage, Image
from embodied_iqa.errors import InputError, MissingDependencyError

__all__ = [
    "CONTEXT_PX",
    "Denoiser",
    "denoise",
    "fold_quads",
    "gather_columns",
    "load_denoiser",
    "shipped_denoiser",
    "sigma_activation",
    "with_noise_channel",
]

Planes = NDArray[np.float32]
"""``(C, h, w)`` float32."""

LAYERS = 4
LARGEST_SIGMA = 0.5
"""Standard deviation of the noise, range [0, 1], at which the channel that tells it is full."""
CONTEXT_PX = 2 * LAYERS
"""What the convolutions, which do not pad, take away on each side of a picture."""
_BAND_ROWS = 16
"""Rows of quads that are computed at once: the working set stays within the processor's cache."""


@dataclass(frozen=True, slots=True, eq=False)
class Denoiser:
    """The network in whole numbers; one array a layer.

    Attributes:
        kernels: ``(C_out, 9 C_in)`` float32, whole, within 127; columns run over rows, columns, channels.
        biases: ``(C_out, 1)`` float32, whole.
        scales: ``(C_out, 1)`` float32: from a layer's sums to its activations, of the last to gray values.
    """

    kernels: tuple[NDArray[np.float32], ...]
    biases: tuple[NDArray[np.float32], ...]
    scales: tuple[NDArray[np.float32], ...]


def load_denoiser(path: Path) -> Denoiser:
    """Read the weights from a safetensors file.

    Raises:
        InputError: The file is missing or holds something else.
        MissingDependencyError: safetensors is not installed.
    """
    try:
        from safetensors import SafetensorError  # noqa: PLC0415 - distortion 17 alone needs it
        from safetensors.numpy import load_file  # noqa: PLC0415 - distortion 17 alone needs it
    except ImportError:
        raise MissingDependencyError(
            "distortion 17 needs safetensors", expected="pip install safetensors"
        ) from None
    try:
        tensors = load_file(path)
        kernels, biases, scales = (
            tuple(tensors[f"{name}_{layer}"].astype(np.float32) for layer in range(LAYERS))
            for name in ("kernel", "bias", "scale")
        )
    except (OSError, KeyError, ValueError, SafetensorError) as error:
        raise InputError("no weights of the denoiser", expected=f"{LAYERS} layers", got=str(path)) from error
    return Denoiser(kernels, biases, scales)


@cache
def shipped_denoiser() -> Denoiser:
    """Return the network that comes with the package."""
    with as_file(files("embodied_iqa.distortions").joinpath("denoiser.safetensors")) as path:
        return load_denoiser(path)


def sigma_activation(sigma: float) -> float:
    """Return what the noise channel holds, 0 to 255, for a standard deviation in [0, 1]."""
    return float(min(255, max(0, round(255 * sigma / LARGEST_SIGMA))))


def fold_quads(image: NDArray[np.uint8] | FloatImage) -> Planes:
    """Return ``(12, H/2, W/2)``: the four pixels of each 2 x 2 quad as channels. Sides must be even."""
    height, width, channels = image.shape
    quads = image.reshape(height // 2, 2, width // 2, 2, channels).transpose(1, 3, 4, 0, 2)
    return quads.astype(np.float32).reshape(4 * channels, height // 2, width // 2)


def with_noise_channel(planes: Planes, activation: float) -> Planes:
    """Return ``(13, h, w)``: the planes and one that holds the noise's ``activation`` everywhere."""
    level = np.full((1, *planes.shape[1:]), activation, np.float32)
    return np.concatenate([planes, level])


def _unfold_quads(planes: Planes) -> NDArray[np.int16]:
    channels, height, width = planes.shape
    quads = planes.reshape(2, 2, channels // 4, height, width).transpose(3, 0, 4, 1, 2)
    return quads.astype(np.int16).reshape(2 * height, 2 * width, channels // 4)


def gather_columns(planes: Planes) -> Planes:
    """Return ``(9 C, (h - 2) (w - 2))``: every 3 x 3 neighbourhood as a column."""
    channels, height, width = planes.shape
    columns = np.empty((9, channels, height - 2, width - 2), np.float32)
    for tap in range(9):
        dy, dx = divmod(tap, 3)
        columns[tap] = planes[:, dy : dy + height - 2, dx : dx + width - 2]
    return columns.reshape(9 * channels, -1)


def _noise_of(planes: Planes, network: Denoiser) -> Planes:
    """Return the predicted noise in whole gray values, four quads smaller on each side."""
    layers = zip(network.kernels, network.biases, network.scales, strict=True)
    for layer, (kernel, bias, scale) in enumerate(layers):
        _, height, width = planes.shape
        out = kernel @ gather_columns(planes)
        out += bias
        out *= scale
        np.rint(out, out=out)
        if layer < LAYERS - 1:
            np.clip(out, 0, 255, out=out)
        planes = out.reshape(len(kernel), height - 2, width - 2)
    return planes


def denoise(image: Image, sigma: float, network: Denoiser) -> Image:
    """Return the picture without the noise that the network sees in it.

    Args:
        image: ``(H, W, 3)`` uint8.
        sigma: The noise's standard deviation for a picture of range [0, 1].
        network: What it learned.
    """
    activation = sigma_activation(sigma)
    height, width = image.shape[:2]
    frame = (CONTEXT_PX, CONTEXT_PX + height % 2, CONTEXT_PX, CONTEXT_PX + width % 2)
    padded = cv2.copyMakeBorder(image, *frame, cv2.BORDER_REFLECT_101)
    out = np.empty((height + height % 2, width + width % 2, 3), np.uint8)
    for top in range(0, out.shape[0], 2 * _BAND_ROWS):
        band = padded[top : top + 2 * _BAND_ROWS + 2 * CONTEXT_PX]
        noise = _unfold_quads(_noise_of(with_noise_channel(fold_quads(band), activation), network))
        noisy = np.ascontiguousarray(band[CONTEXT_PX:-CONTEXT_PX, CONTEXT_PX:-CONTEXT_PX])
        out[top : top + len(noise)] = cv2.subtract(noisy, noise, dtype=cv2.CV_8U)
    return np.ascontiguousarray(out[:height, :width])
