"""Training of the denoising network of distortion 17 with torch; takes minutes."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Final

import numpy as np
import torch
from numpy.random import Generator
from numpy.typing import ArrayLike, NDArray
from onnx import helper
from torch import Tensor, nn
from torch.nn import functional

from embodied_iqa.base.errors import UsageError
from embodied_iqa.base.training.onnx_writer import write_graph
from embodied_iqa.base.training.trainer import Trainer
from embodied_iqa.imaging.distortions.denoiser import CHANNELS, CONTEXT_PX, LAYERS, QUAD_VALUES, noise_level
from embodied_iqa.imaging.distortions.image import FloatImage, Image

_LAST_LAYER_SCALE: Final = 0.1
"""The network starts by predicting almost no noise: large first errors would disable channels for good."""
_RANGE_SAMPLES: Final = 64
"""Patches from which the range of each layer's activations is read."""
_RANGE_QUANTILE: Final = 0.9999


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
        sizes = (QUAD_VALUES + 1, *[width] * (LAYERS - 1), QUAD_VALUES)
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


@dataclass(frozen=True, slots=True, eq=False)
class IntegerLayer:
    """A layer with 8-bit weights and activations.

    Attributes:
        kernel: ``(C_out, C_in, 3, 3)`` int8, within 127.
        bias: ``(C_out,)`` int32.
        scale: ``(C_out,)`` float32: from its sums to its activations, of the last layer to grey values.
    """

    kernel: NDArray[np.int8]
    bias: NDArray[np.int32]
    scale: NDArray[np.float32]


def _with_level(pixels: Tensor, level: Tensor) -> Tensor:
    """Return ``(N, 13, H/2, W/2)``: the pixels of each quad as channels, and the noise level."""
    quads = functional.pixel_unshuffle(pixels, 2)
    return torch.cat([quads, level.expand(-1, 1, quads.shape[2], quads.shape[3])], dim=1)


def _inner(pixels: Tensor) -> Tensor:
    return pixels[:, :, CONTEXT_PX:-CONTEXT_PX, CONTEXT_PX:-CONTEXT_PX]


def train_denoiser(
    images: Sequence[Image], recipe: TrainingRecipe, on_step: Callable[[int, float], None]
) -> list[IntegerLayer]:
    """Train on noisy patches of clean images to predict the noise, least squares.

    Args:
        images: ``(H, W, 3)`` uint8; those smaller than a patch with its context are not used.
        recipe: How to train.
        on_step: Called after each step with its number from 1 and the mean squared error, range [0, 1].

    Raises:
        UsageError: No image is large enough.
    """
    side = recipe.patch_px + 2 * CONTEXT_PX
    usable = [image for image in images if min(image.shape[:2]) >= side]
    if not usable:
        raise UsageError("no image to train on", expected=f"at least {side} x {side} pixels")
    torch.set_num_threads(1)  # a batch is too small to divide
    torch.manual_seed(recipe.seed)
    rng = np.random.default_rng(recipe.seed)
    network = _FloatNetwork(recipe.width)
    optimiser = torch.optim.Adam(network.parameters(), lr=recipe.rate)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, recipe.steps)

    def rate(_epoch: int, step: int, _steps: int) -> float:
        if step:
            schedule.step()
        return float(schedule.get_last_lr()[0])

    def prepare(_step: int) -> Callable[[], Tensor]:
        batch = _batch(usable, recipe, recipe.batch, rng)
        return lambda: functional.mse_loss(network(batch), batch.noise)

    trainer = Trainer(network, optimiser, rate, largest_gradient=None)
    trainer.epoch(0, range(recipe.steps), prepare, on_step)
    with torch.no_grad():
        return _quantized(network, _batch(usable, recipe, _RANGE_SAMPLES, rng))


def _batch(images: Sequence[Image], recipe: TrainingRecipe, count: int, rng: Generator) -> _Batch:
    side = recipe.patch_px + 2 * CONTEXT_PX
    clean = np.stack([_patch(images, side, rng) for _ in range(count)])
    low, high = (math.log(variance) / 2 for variance in recipe.variances)
    sigmas = np.exp(rng.uniform(low, high, (count, 1, 1, 1)))
    noise = rng.standard_normal(clean.shape, dtype=np.float32) * sigmas.astype(np.float32)
    levels = np.array([noise_level(sigma) / 255 for sigma in sigmas.flat], np.float32)
    pixels = torch.from_numpy(clean).permute(0, 3, 1, 2)
    noisy = (pixels + torch.from_numpy(noise).permute(0, 3, 1, 2)).clamp(0, 1)
    return _Batch(noisy, _inner(noisy - pixels), torch.from_numpy(levels).reshape(-1, 1, 1, 1))


def _patch(images: Sequence[Image], side_px: int, rng: Generator) -> FloatImage:
    """Return ``(side, side, 3)`` float32 in [0, 1], randomly flipped and rotated."""
    image = images[int(rng.integers(len(images)))]
    y, x = (int(rng.integers(limit - side_px + 1)) for limit in image.shape[:2])
    patch = image[y : y + side_px, x : x + side_px].astype(np.float32) / 255
    if rng.integers(2):
        patch = patch[:, ::-1]
    return np.rot90(patch, int(rng.integers(4)))


def _quantized(network: _FloatNetwork, samples: _Batch) -> list[IntegerLayer]:
    """Return the network with 8-bit weights and activations (post-training quantization)."""
    outputs = network.activations(samples)[:-1]
    ranges = [
        max(1e-6, *(float(np.quantile(patch.numpy(), _RANGE_QUANTILE)) for patch in output))
        for output in outputs
    ]
    steps = [value / 255 for value in (1.0, *ranges, 1.0)]
    layers = []
    for layer, (before, after) in zip(network.layers, pairwise(steps), strict=True):
        unit = layer.weight.abs().amax((1, 2, 3)).clamp_min(1e-12) / 127
        kernel = (layer.weight / unit[:, None, None, None]).round().to(torch.int8)
        bias = (layer.bias / (unit * before)).round().to(torch.int32)
        layers.append(IntegerLayer(kernel.numpy(), bias.numpy(), (unit * before / after).numpy()))
    return layers


def save_denoiser(layers: Sequence[IntegerLayer], path: Path) -> None:
    """Write the network as ONNX with 8-bit convolutions, atomically.

    Input: ``quads`` ``(1, H, W, CHANNELS)`` uint8. Output: ``noise`` ``(1, H - 8, W - 8, 2 QUAD_VALUES)``
    uint8: first what to subtract from the values of the inner quads, then what to add to them.
    """
    constants: dict[str, ArrayLike] = {"one": np.float32(1), "zero": np.uint8(0)}
    nodes = [helper.make_node("Transpose", ["quads"], ["layer.0"], perm=[0, 3, 1, 2])]
    for index, layer in enumerate(_stored(layers)):
        kernel, origin, bias, scale = (
            f"{kind}.{index}" for kind in ("kernels", "origins", "biases", "scales")
        )  # ONNX Runtime may replace an origin with its kernel: each layer has its own
        constants |= {kernel: layer.kernel, origin: np.int8(0), bias: layer.bias, scale: layer.scale}
        inputs = [f"layer.{index}", "one", "zero", kernel, scale, origin, "one", "zero", bias]
        nodes.append(helper.make_node("QLinearConv", inputs, [f"layer.{index + 1}"]))
    nodes.append(helper.make_node("Transpose", [f"layer.{LAYERS}"], ["noise"], perm=[0, 2, 3, 1]))
    quads: list[int | str] = [1, "H", "W", CHANNELS]
    noise: list[int | str] = [1, "h", "w", 2 * QUAD_VALUES]
    write_graph(nodes, {"quads": quads}, {"noise": noise}, constants, path, name="denoiser")


def _stored(layers: Sequence[IntegerLayer]) -> list[IntegerLayer]:
    """Return the layers as the file holds them: the last one gives the noise and its negative.

    Channels are ordered as `QUAD_VALUES` says; torch's quads are ordered by colour, then by place.
    """
    order = [4 * colour + place for place in range(4) for colour in range(3)]
    first, last = layers[0], layers[-1]
    unused = [(0, 0), (0, CHANNELS - QUAD_VALUES - 1), (0, 0), (0, 0)]
    kernel = np.pad(first.kernel[:, [*order, QUAD_VALUES]], unused)
    both = IntegerLayer(
        np.concatenate([last.kernel[order], -last.kernel[order]]),
        np.concatenate([last.bias[order], -last.bias[order]]),
        np.tile(last.scale[order], 2),
    )
    return [IntegerLayer(kernel, first.bias, first.scale), *layers[1:-1], both]
