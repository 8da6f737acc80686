"""Training of the denoising network of distortion 17 with torch; takes minutes."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Final

import numpy as np
import torch
from numpy.random import Generator
from torch import Tensor, nn
from torch.nn import functional

from embodied_iqa.distortions.denoiser import CONTEXT_PX, LAYERS, noise_level
from embodied_iqa.distortions.image import FloatImage, Image
from embodied_iqa.errors import UsageError
from embodied_iqa.files import write_whole

_CHANNELS: Final = 12
_LAST_LAYER_SCALE: Final = 0.1
"""The network starts by predicting almost no noise: large first errors would disable channels for good."""
_RANGE_SAMPLES: Final = 64
"""Patches from which the range of each layer's activations is read."""
_RANGE_QUANTILE: Final = 0.9999
_OPSET: Final = 17


@dataclass(frozen=True, slots=True)
class TrainingRecipe:
    """Training options.

    Attributes:
        steps: Updates of the weights.
        batch: Patches per update.
        patch_px: Side of the part of a patch that is scored; even.
        width: Channels of the hidden layers.
        rate: Adam's learning rate at the start; it falls to 0 along half a cosine.
        variances: The smallest and largest noise variance, drawn log-uniformly for each patch.
        seed: Of the initial weights, the patches and the noise.
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
class _Batch:
    """Noisy patches.

    Attributes:
        noisy: ``(N, 3, side, side)`` float32 in [0, 1].
        noise: The noise that saturation left, without the context: ``(N, 3, patch, patch)``.
        level: ``(N, 1, 1, 1)`` float32, noise level in [0, 1].
    """

    noisy: Tensor
    noise: Tensor
    level: Tensor


class _FloatNetwork(nn.Module):
    """The network during training, in float32."""

    def __init__(self, width: int) -> None:
        super().__init__()
        sizes = (_CHANNELS + 1, *[width] * (LAYERS - 1), _CHANNELS)
        self.layers = nn.ModuleList(nn.Conv2d(inputs, outputs, 3) for inputs, outputs in pairwise(sizes))
        for layer in self.layers:
            nn.init.kaiming_normal_(layer.weight)
            nn.init.zeros_(layer.bias)
        with torch.no_grad():
            self.layers[-1].weight *= _LAST_LAYER_SCALE

    def activations(self, batch: _Batch) -> list[Tensor]:
        """Return the output of each layer; that of the last is the noise of each quad."""
        values = _with_level(batch.noisy, batch.level)
        outputs: list[Tensor] = []
        for layer in self.layers:
            values = layer(values if not outputs else outputs[-1].relu_())
            outputs.append(values)
        return outputs

    def forward(self, batch: _Batch) -> Tensor:
        return functional.pixel_shuffle(self.activations(batch)[-1], 2)


class IntegerNetwork(nn.Module):
    """The network with 8-bit weights and activations, as exported.

    Args:
        kernels: ``(C_out, C_in, 3, 3)`` for each layer, integers within 127.
        biases: ``(C_out,)`` for each layer, integers.
        scales: ``(C_out,)`` for each layer: from its sums to its activations, of the last to gray values.
    """

    def __init__(self, kernels: Sequence[Tensor], biases: Sequence[Tensor], scales: Sequence[Tensor]) -> None:
        super().__init__()
        self.kernels, self.biases = nn.ParameterList(kernels), nn.ParameterList(biases)
        self.scales = nn.ParameterList(scale[:, None, None] for scale in scales)
        self.requires_grad_(requires_grad=False)

    def forward(self, picture: Tensor, level: Tensor) -> Tensor:
        """Denoise a picture.

        Args:
            picture: ``(H, W, 3)`` uint8, sides even.
            level: Noise level, 0 to 255, a float32 scalar.

        Returns:
            ``(H - 16, W - 16, 3)`` uint8.
        """
        pixels = picture.permute(2, 0, 1)[None].float()
        values = _with_level(pixels, level.reshape(1, 1, 1, 1))
        layers = zip(self.kernels, self.biases, self.scales, strict=True)
        for index, (kernel, bias, scale) in enumerate(layers):
            values = (functional.conv2d(values, kernel, bias) * scale).round()
            if index < LAYERS - 1:
                values = values.clamp(0, 255)
        clean = _inner(pixels) - functional.pixel_shuffle(values, 2)
        return clean.clamp(0, 255)[0].permute(1, 2, 0).to(torch.uint8)


def _with_level(pixels: Tensor, level: Tensor) -> Tensor:
    """Return ``(N, 13, H/2, W/2)``: the pixels of each quad as channels, and the noise level."""
    quads = functional.pixel_unshuffle(pixels, 2)
    return torch.cat([quads, level.expand(-1, 1, quads.shape[2], quads.shape[3])], dim=1)


def _inner(pixels: Tensor) -> Tensor:
    return pixels[:, :, CONTEXT_PX:-CONTEXT_PX, CONTEXT_PX:-CONTEXT_PX]


def train_denoiser(
    pictures: Sequence[Image], recipe: TrainingRecipe, on_step: Callable[[int, float], None]
) -> IntegerNetwork:
    """Train on noisy patches of clean pictures to predict the noise, least squares.

    Args:
        pictures: ``(H, W, 3)`` uint8; those smaller than a patch with its context are not used.
        recipe: How to train.
        on_step: Called after each step with its number from 1 and the mean squared error, range [0, 1].

    Raises:
        UsageError: No picture is large enough.
    """
    side = recipe.patch_px + 2 * CONTEXT_PX
    usable = [picture for picture in pictures if min(picture.shape[:2]) >= side]
    if not usable:
        raise UsageError("no picture to train on", expected=f"at least {side} x {side} pixels")
    torch.set_num_threads(1)  # a batch is too small to divide
    torch.manual_seed(recipe.seed)
    rng = np.random.default_rng(recipe.seed)
    network = _FloatNetwork(recipe.width)
    optimiser = torch.optim.Adam(network.parameters(), lr=recipe.rate)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, recipe.steps)
    for step in range(1, recipe.steps + 1):
        batch = _batch(usable, recipe, recipe.batch, rng)
        error = functional.mse_loss(network(batch), batch.noise)
        optimiser.zero_grad()
        error.backward()
        optimiser.step()
        schedule.step()
        on_step(step, error.item())
    with torch.no_grad():
        return _quantized(network, _batch(usable, recipe, _RANGE_SAMPLES, rng))


def _batch(pictures: Sequence[Image], recipe: TrainingRecipe, count: int, rng: Generator) -> _Batch:
    side = recipe.patch_px + 2 * CONTEXT_PX
    clean = np.stack([_patch(pictures, side, rng) for _ in range(count)])
    low, high = (math.log(variance) / 2 for variance in recipe.variances)
    sigmas = np.exp(rng.uniform(low, high, (count, 1, 1, 1)))
    noise = rng.standard_normal(clean.shape, dtype=np.float32) * sigmas.astype(np.float32)
    levels = np.array([noise_level(sigma) / 255 for sigma in sigmas.flat], np.float32)
    pixels = torch.from_numpy(clean).permute(0, 3, 1, 2)
    noisy = (pixels + torch.from_numpy(noise).permute(0, 3, 1, 2)).clamp(0, 1)
    return _Batch(noisy, _inner(noisy - pixels), torch.from_numpy(levels).reshape(-1, 1, 1, 1))


def _patch(pictures: Sequence[Image], side_px: int, rng: Generator) -> FloatImage:
    """Return ``(side, side, 3)`` float32 in [0, 1], randomly flipped and rotated."""
    picture = pictures[int(rng.integers(len(pictures)))]
    y, x = (int(rng.integers(limit - side_px + 1)) for limit in picture.shape[:2])
    patch = picture[y : y + side_px, x : x + side_px].astype(np.float32) / 255
    if rng.integers(2):
        patch = patch[:, ::-1]
    return np.rot90(patch, int(rng.integers(4)))


def _quantized(network: _FloatNetwork, samples: _Batch) -> IntegerNetwork:
    """Return the network with 8-bit weights and activations (post-training quantization)."""
    outputs = network.activations(samples)[:-1]
    ranges = [
        max(1e-6, *(float(np.quantile(patch.numpy(), _RANGE_QUANTILE)) for patch in output))
        for output in outputs
    ]
    steps = [value / 255 for value in (1.0, *ranges, 1.0)]
    kernels, biases, scales = [], [], []
    for layer, (before, after) in zip(network.layers, pairwise(steps), strict=True):
        unit = layer.weight.abs().amax((1, 2, 3)).clamp_min(1e-12) / 127
        kernels.append((layer.weight / unit[:, None, None, None]).round())
        biases.append((layer.bias / (unit * before)).round())
        scales.append(unit * before / after)
    return IntegerNetwork(kernels, biases, scales)


def save_denoiser(network: IntegerNetwork, path: Path) -> None:
    """Write the network as ONNX, atomically.

    Inputs: ``picture`` ``(H, W, 3)`` uint8 and ``level``, a float32 scalar. Output: ``clean``; see
    :meth:`IntegerNetwork.forward`.
    """
    picture = torch.zeros((64, 48, 3), dtype=torch.uint8)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the exporter announces its successor
        write_whole(
            path,
            lambda fresh: torch.onnx.export(
                network,
                (picture, torch.tensor(0.0)),
                str(fresh),
                input_names=["picture", "level"],
                output_names=["clean"],
                dynamic_axes={"picture": {0: "height", 1: "width"}, "clean": {0: "rows", 1: "columns"}},
                opset_version=_OPSET,
                dynamo=False,
            ),
        )
