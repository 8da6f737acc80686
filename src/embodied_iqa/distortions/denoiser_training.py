"""Training the denoiser of distortion 17, in numpy: a minute-scale job that needs no framework."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray
from safetensors.numpy import save_file

from embodied_iqa.distortions.denoiser import (
    CONTEXT_PX,
    LAYERS,
    Denoiser,
    Planes,
    fold_quads,
    gather_columns,
    sigma_activation,
    with_noise_channel,
)
from embodied_iqa.distortions.image import Image
from embodied_iqa.errors import UsageError

__all__ = ["TrainingRecipe", "save_denoiser", "train_denoiser"]

_CHANNELS = 12
_LAST_LAYER_SCALE = 0.1
"""The network starts by seeing next to no noise: large first errors would switch channels off for good."""
_RANGE_SAMPLES = 64
"""Patches from which the range of each layer's activations is read."""
_ADAM_DECAYS = (0.9, 0.999)
_ADAM_EPSILON = 1e-8


@dataclass(frozen=True, slots=True)
class TrainingRecipe:
    """How the network is trained.

    Attributes:
        steps: Updates of the weights.
        batch: Patches an update.
        patch_px: Side of the part of a patch that is scored; even.
        width: Channels of the hidden layers.
        rate: Adam's learning rate at the start; it falls to 0 along half a cosine.
        variances: The smallest and largest noise variance, drawn log-uniformly for each patch.
        seed: Of the first weights, the patches and the noise.
    """

    steps: int = 12000
    batch: int = 12
    patch_px: int = 48
    width: int = 16
    rate: float = 1e-3
    variances: tuple[float, float] = (0.0002, 0.2)
    seed: int = 17

    def __post_init__(self) -> None:
        if min(self.steps, self.batch, self.width) < 1 or self.patch_px < 2 or self.patch_px % 2:
            raise UsageError("a recipe needs at least one step, patch and channel, and an even patch side")


@dataclass(frozen=True, slots=True, eq=False)
class _Network:
    """The network in float32: ``(C_out, 9 C_in)`` kernels and ``(C_out, 1)`` biases."""

    kernels: tuple[NDArray[np.float32], ...]
    biases: tuple[NDArray[np.float32], ...]


@dataclass(slots=True)
class _Adam:
    """Adam's moments of one array (Kingma & Ba 2015)."""

    first: NDArray[np.float32]
    second: NDArray[np.float32]
    steps: int = field(default=0)

    def update(self, gradient: NDArray[np.float32], rate: float) -> NDArray[np.float32]:
        self.steps += 1
        fast, slow = _ADAM_DECAYS
        self.first += (gradient - self.first) * np.float32(1 - fast)
        self.second += (gradient**2 - self.second) * np.float32(1 - slow)
        scale = rate * math.sqrt(1 - slow**self.steps) / (1 - fast**self.steps)
        step: NDArray[np.float32] = self.first * np.float32(-scale)
        step /= np.sqrt(self.second) + np.float32(_ADAM_EPSILON)
        return step


def train_denoiser(
    pictures: Sequence[Image], recipe: TrainingRecipe, tell: Callable[[int, float], None]
) -> Denoiser:
    """Train on noisy patches of clean pictures to predict the noise, least squares.

    Args:
        pictures: ``(H, W, 3)`` uint8, each larger than a patch with its context.
        recipe: How.
        tell: Called after each step with its number from 1 and the mean squared error, range [0, 1].

    Raises:
        UsageError: No picture is large enough.
    """
    side = recipe.patch_px + 2 * CONTEXT_PX
    usable = [picture for picture in pictures if min(picture.shape[:2]) >= side]
    if not usable:
        raise UsageError("no picture to learn from", expected=f"at least {side} x {side} pixels")
    rng = np.random.default_rng(recipe.seed)
    weights = _first_weights(recipe, rng)
    arrays = [*weights.kernels, *weights.biases]
    moments = [_Adam(np.zeros_like(array), np.zeros_like(array)) for array in arrays]
    for step in range(1, recipe.steps + 1):
        rate = recipe.rate * 0.5 * (1 + math.cos(math.pi * (step - 1) / recipe.steps))
        batch = [_noisy_patch(usable, side, recipe.variances, rng) for _ in range(recipe.batch)]
        error, gradients = _gradients(weights, batch)
        for array, moment, gradient in zip(arrays, moments, gradients, strict=True):
            np.add(array, moment.update(gradient, rate), out=array)
        tell(step, error)
    samples = [_noisy_patch(usable, side, recipe.variances, rng).noisy for _ in range(_RANGE_SAMPLES)]
    return _in_whole_numbers(weights, samples)


def _first_weights(recipe: TrainingRecipe, rng: Generator) -> _Network:
    sizes = (_CHANNELS + 1, *[recipe.width] * (LAYERS - 1), _CHANNELS)
    kernels = []
    for inputs, outputs in pairwise(sizes):
        spread = math.sqrt(2.0 / (9 * inputs))
        kernels.append((rng.standard_normal((outputs, 9 * inputs)) * spread).astype(np.float32))
    kernels[-1] *= np.float32(_LAST_LAYER_SCALE)
    biases = tuple(np.zeros((outputs, 1), np.float32) for outputs in sizes[1:])
    return _Network(tuple(kernels), biases)


@dataclass(frozen=True, slots=True, eq=False)
class _Sample:
    """A noisy patch with its noise channel, and the noise that saturation left."""

    noisy: Planes
    noise: Planes


def _noisy_patch(
    pictures: Sequence[Image], side_px: int, variances: tuple[float, float], rng: Generator
) -> _Sample:
    picture = pictures[int(rng.integers(len(pictures)))]
    y, x = (int(rng.integers(limit - side_px + 1)) for limit in picture.shape[:2])
    clean = picture[y : y + side_px, x : x + side_px].astype(np.float32) / 255
    if rng.integers(2):
        clean = clean[:, ::-1]
    clean = np.rot90(clean, int(rng.integers(4)))
    least, most = (math.log(variance) / 2 for variance in variances)
    sigma = math.exp(rng.uniform(least, most))
    noisy = np.clip(clean + rng.standard_normal(clean.shape, dtype=np.float32) * np.float32(sigma), 0, 1)
    planes = fold_quads(noisy.astype(np.float32))
    return _Sample(
        with_noise_channel(planes, sigma_activation(sigma) / 255),
        fold_quads((noisy - clean).astype(np.float32)),
    )


def _gradients(weights: _Network, batch: Sequence[_Sample]) -> tuple[float, list[NDArray[np.float32]]]:
    """Return the mean squared error of a batch and its gradient by every kernel, then every bias."""
    kernel_gradients = [np.zeros_like(kernel) for kernel in weights.kernels]
    bias_gradients = [np.zeros_like(bias) for bias in weights.biases]
    error = 0.0
    for sample in batch:
        columns, outputs, shapes = _forward(weights, sample.noisy)
        target = sample.noise[:, LAYERS:-LAYERS, LAYERS:-LAYERS].reshape(_CHANNELS, -1)
        slope = outputs[-1] - target
        error += float(np.mean(slope**2)) / len(batch)
        slope *= np.float32(2.0 / (slope.size * len(batch)))
        for layer in reversed(range(LAYERS)):
            kernel_gradients[layer] += slope @ columns[layer].T
            bias_gradients[layer] += slope.sum(axis=1, keepdims=True)
            if layer > 0:
                back = _scatter_columns(weights.kernels[layer].T @ slope, shapes[layer])
                slope = back.reshape(len(back), -1) * (outputs[layer - 1] > 0)
    return error, [*kernel_gradients, *bias_gradients]


def _forward(
    weights: _Network, planes: Planes
) -> tuple[list[Planes], list[NDArray[np.float32]], list[tuple[int, ...]]]:
    """Return each layer's columns, outputs ``(C, h w)`` and input shape."""
    columns, outputs, shapes = [], [], []
    for layer, (kernel, bias) in enumerate(zip(weights.kernels, weights.biases, strict=True)):
        shapes.append(planes.shape)
        columns.append(gather_columns(planes))
        out = kernel @ columns[-1] + bias
        if layer < LAYERS - 1:
            np.maximum(out, 0, out=out)
        outputs.append(out)
        planes = out.reshape(len(kernel), planes.shape[1] - 2, planes.shape[2] - 2)
    return columns, outputs, shapes


def _scatter_columns(columns: NDArray[np.float32], shape: tuple[int, ...]) -> Planes:
    """Return the sum over all neighbourhoods at each place: the transpose of ``gather_columns``."""
    channels, height, width = shape
    taps = columns.reshape(9, channels, height - 2, width - 2)
    planes = np.zeros(shape, np.float32)
    for tap in range(9):
        dy, dx = divmod(tap, 3)
        planes[:, dy : dy + height - 2, dx : dx + width - 2] += taps[tap]
    return planes


def _in_whole_numbers(weights: _Network, samples: Sequence[Planes]) -> Denoiser:
    """Return the network with 8-bit weights and activations (post-training quantization)."""
    activations = [_forward(weights, sample)[1] for sample in samples]
    steps = [1.0 / 255]
    for layer in range(LAYERS - 1):
        largest = max(float(np.quantile(outputs[layer], 0.9999)) for outputs in activations)
        steps.append(max(largest, 1e-6) / 255)
    steps.append(1.0 / 255)
    kernels, biases, scales = [], [], []
    for layer, (kernel, bias) in enumerate(zip(weights.kernels, weights.biases, strict=True)):
        unit = np.maximum(np.abs(kernel).max(axis=1, keepdims=True), 1e-12) / 127
        kernels.append(np.rint(kernel / unit).astype(np.float32))
        biases.append(np.rint(bias / (unit * steps[layer])).astype(np.float32))
        scales.append((unit * steps[layer] / steps[layer + 1]).astype(np.float32))
    return Denoiser(tuple(kernels), tuple(biases), tuple(scales))


def save_denoiser(network: Denoiser, path: Path) -> None:
    """Write the weights as safetensors, whole or not at all."""
    tensors: dict[str, NDArray[Any]] = {}
    for layer in range(LAYERS):
        tensors[f"kernel_{layer}"] = network.kernels[layer].astype(np.int8)
        tensors[f"bias_{layer}"] = network.biases[layer]
        tensors[f"scale_{layer}"] = network.scales[layer]
    partial = path.with_suffix(".partial")
    save_file(tensors, partial)
    partial.chmod(0o644)
    partial.replace(path)
