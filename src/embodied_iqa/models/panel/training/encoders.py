"""Encoders of images and of tasks.

An image encoder maps ``(B, 3, H, W)`` in [-0.5, 0.5], of one of `IMAGE_SIZES_PX`, to ``(B, C, 15, 20)``;
a task encoder maps ``(N, 32)`` word numbers to ``(N, 96)``.
"""

from __future__ import annotations

from typing import Final

import torch
from torch import Tensor, nn
from torch.nn import functional

from embodied_iqa.models.subjects.backends.panel.format import LARGE_PX, MAX_TASK_WORDS, PAD

GRID: Final = (15, 20)
"""Rows and columns of the features."""
TOKENS: Final = GRID[0] * GRID[1]
TASK_WIDTH: Final = 96
_WORD_WIDTH: Final = 32


def cell_centres() -> Tensor:
    """Return ``(300, 2)`` positions (x, y) of the cells' centres in the image, in [0, 1]."""
    rows, columns = GRID
    y = (torch.arange(rows) + 0.5) / rows
    x = (torch.arange(columns) + 0.5) / columns
    grid_y, grid_x = torch.meshgrid(y, x, indexing="ij")
    return torch.stack([grid_x, grid_y], dim=-1).reshape(-1, 2)


def conv(
    inputs: int, outputs: int, size: int = 3, stride: int = 1, padding: int | None = None
) -> nn.Sequential:
    """Convolution, batch normalisation, ReLU."""
    return nn.Sequential(
        nn.Conv2d(inputs, outputs, size, stride, size // 2 if padding is None else padding, bias=False),
        nn.BatchNorm2d(outputs),
        nn.ReLU(inplace=True),
    )


class Residual(nn.Module):
    """Two 3 x 3 convolutions and a shortcut (He et al. 2016)."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.first = conv(width, width)
        self.second = nn.Sequential(nn.Conv2d(width, width, 3, 1, 1, bias=False), nn.BatchNorm2d(width))

    def forward(self, features: Tensor) -> Tensor:
        """Map ``(N, width, h, w)`` to the same shape."""
        return functional.relu(features + self.second(self.first(features)))


class Mixer(nn.Module):
    """A depthwise convolution, 7 x 7 by default, then a pointwise one (ConvMixer, 2022)."""

    def __init__(self, width: int, size: int = 7) -> None:
        super().__init__()
        spread = nn.Conv2d(width, width, size, 1, size // 2, groups=width, bias=False)
        self.places = nn.Sequential(spread, nn.BatchNorm2d(width), nn.ReLU())
        self.channels = conv(width, width, 1)

    def forward(self, features: Tensor) -> Tensor:
        """Map ``(N, width, h, w)`` to the same shape."""
        mixed: Tensor = self.channels(features + self.places(features))
        return mixed


class Attention(nn.Module):
    """A pre-norm transformer layer over the cells, with keys and values of 5 x 5 pooled cells."""

    _POOL = (3, 4)

    def __init__(self, width: int, heads: int = 4) -> None:
        super().__init__()
        self.heads = heads
        self.norm_1, self.norm_2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.to_q, self.to_kv = nn.Linear(width, width), nn.Linear(width, 2 * width)
        self.join = nn.Linear(width, width)
        self.feed = nn.Sequential(nn.Linear(width, 2 * width), nn.ReLU(), nn.Linear(2 * width, width))

    def forward(self, tokens: Tensor) -> Tensor:
        """Map ``(N, cells, width)`` to the same shape."""
        batch, count, width = tokens.shape
        normed = self.norm_1(tokens)
        grid = normed.transpose(1, 2).reshape(batch, width, *GRID)
        pooled = functional.avg_pool2d(grid, self._POOL).flatten(2).transpose(1, 2)
        depth = width // self.heads
        q = self.to_q(normed).view(batch, count, self.heads, depth).transpose(1, 2)
        k, v = self.to_kv(pooled).view(batch, -1, 2, self.heads, depth).permute(2, 0, 3, 1, 4)
        weights = (torch.matmul(q, k.transpose(2, 3)) * depth**-0.5).softmax(-1)
        seen = torch.matmul(weights, v).transpose(1, 2).reshape(batch, count, width)
        tokens = tokens + self.join(seen)
        attended: Tensor = tokens + self.feed(self.norm_2(tokens))
        return attended


def stem(width: int, image_px: tuple[int, int]) -> nn.Sequential:
    """Return convolutions from an image to the grid."""
    first = 4 if image_px == LARGE_PX else 3
    return nn.Sequential(conv(3, 32, 7, first), conv(32, 48, 3, 2), conv(48, width, 3, 2))


class Hybrid(nn.Module):
    """A convolutional stem and two transformer layers."""

    def __init__(self, width: int, image_px: tuple[int, int]) -> None:
        super().__init__()
        self.stem = stem(width, image_px)
        self.places = nn.Parameter(0.02 * torch.randn(1, TOKENS, width))
        self.layers = nn.Sequential(Attention(width), Attention(width), nn.LayerNorm(width))

    def forward(self, images: Tensor) -> Tensor:
        """Map images to a grid of features."""
        features: Tensor = self.stem(images)
        tokens = self.layers(features.flatten(2).transpose(1, 2) + self.places)
        grid: Tensor = tokens.transpose(1, 2).reshape(features.shape)
        return grid


class GatedReader(nn.Module):
    """Word embeddings and a gated recurrent unit; the state after the last word."""

    def __init__(self, words: int) -> None:
        super().__init__()
        self.embed = nn.Embedding(words, _WORD_WIDTH, padding_idx=PAD)
        self.unit = nn.GRU(_WORD_WIDTH, TASK_WIDTH, batch_first=True)

    def forward(self, tasks: Tensor) -> Tensor:
        """Encode ``(N, 32)`` word numbers as ``(N, 96)``."""
        states, _ = self.unit(self.embed(tasks))
        last = (tasks != PAD).sum(1, keepdim=True).clamp_min(1) - 1
        here = torch.arange(MAX_TASK_WORDS, device=tasks.device)[None] == last
        read: Tensor = (states * here[:, :, None].to(states.dtype)).sum(1)
        return read


class PooledReader(nn.Module):
    """Word embeddings with positions, a convolution, and the maximum of each channel."""

    def __init__(self, words: int) -> None:
        super().__init__()
        self.embed = nn.Embedding(words, _WORD_WIDTH, padding_idx=PAD)
        self.places = nn.Parameter(0.1 * torch.randn(MAX_TASK_WORDS, _WORD_WIDTH))
        self.near = nn.Conv1d(_WORD_WIDTH, TASK_WIDTH, 5, padding=2)
        self.mix = nn.Sequential(nn.ReLU(), nn.Linear(TASK_WIDTH, TASK_WIDTH))

    def forward(self, tasks: Tensor) -> Tensor:
        """Encode ``(N, 32)`` word numbers as ``(N, 96)``."""
        there = (tasks != PAD)[:, :, None]
        words = (self.embed(tasks) + self.places) * there
        heard = self.near(words.transpose(1, 2)).transpose(1, 2)
        pooled = heard.masked_fill(~there, -10.0).amax(1)
        read: Tensor = self.mix(pooled)
        return read


ENCODERS: Final = {"residual": 64, "mixer": 80, "hybrid": 64}
"""Name of an image encoder to its number of channels."""
READERS: Final = {"gated": GatedReader, "pooled": PooledReader}
"""Name of a task encoder to its class."""


def make_encoder(name: str, image_px: tuple[int, int]) -> tuple[nn.Module, int]:
    """Return a new image encoder for images of a size, and its number of channels."""
    width = ENCODERS[name]
    match name:
        case "residual":
            return nn.Sequential(stem(width, image_px), Residual(width), Residual(width)), width
        case "mixer":
            return nn.Sequential(stem(width, image_px), *(Mixer(width) for _ in range(4))), width
    return Hybrid(width, image_px), width


def make_reader(name: str, words: int) -> nn.Module:
    """Return a new task encoder for a vocabulary of ``words`` words."""
    return READERS[name](words)
