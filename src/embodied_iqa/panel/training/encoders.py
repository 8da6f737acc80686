"""From a picture to a grid of features: the encoders that the members differ in.

Each maps ``(B, 3, 180, 240)`` in [-0.5, 0.5] to ``(B, C, 15, 20)``.
"""

from __future__ import annotations

from typing import Final

import torch
from torch import Tensor, nn
from torch.nn import functional

__all__ = ["ENCODERS", "GRID", "TOKENS", "cell_centres", "make_encoder"]

GRID: Final = (15, 20)
"""Rows and columns of the features."""
TOKENS: Final = GRID[0] * GRID[1]


def cell_centres() -> Tensor:
    """Return ``(300, 2)``: where each cell's middle lies in the picture, (x, y) in [0, 1]."""
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
    """Two 3 x 3 convolutions beside a shortcut (He et al. 2016)."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.first = conv(width, width)
        self.second = nn.Sequential(nn.Conv2d(width, width, 3, 1, 1, bias=False), nn.BatchNorm2d(width))

    def forward(self, features: Tensor) -> Tensor:
        return functional.relu(features + self.second(self.first(features)))


class Mixer(nn.Module):
    """A wide depthwise convolution, then a pointwise one: mixes places, then channels (ConvMixer, 2022)."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.places = nn.Sequential(
            nn.Conv2d(width, width, 7, 1, 3, groups=width, bias=False), nn.BatchNorm2d(width), nn.ReLU()
        )
        self.channels = conv(width, width, 1)

    def forward(self, features: Tensor) -> Tensor:
        mixed: Tensor = self.channels(features + self.places(features))
        return mixed


class Attention(nn.Module):
    """A pre-norm transformer layer over the cells; keys and values come from 5 x 5 pooled cells."""

    _POOL = (3, 4)

    def __init__(self, width: int, heads: int = 4) -> None:
        super().__init__()
        self.heads = heads
        self.norm_1, self.norm_2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.to_q, self.to_kv = nn.Linear(width, width), nn.Linear(width, 2 * width)
        self.join = nn.Linear(width, width)
        self.feed = nn.Sequential(nn.Linear(width, 2 * width), nn.ReLU(), nn.Linear(2 * width, width))

    def forward(self, tokens: Tensor) -> Tensor:
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


class Plain(nn.Sequential):
    """A coarse stem and residual blocks."""

    def __init__(self, width: int = 64) -> None:
        super().__init__(conv(3, 48, 8, 6, 1), conv(48, width, 3, 2), Residual(width), Residual(width))


class FineStem(nn.Sequential):
    """A stem of three small strided convolutions: sees finer detail before it is averaged away."""

    def __init__(self, width: int = 64) -> None:
        super().__init__(
            conv(3, 24, 5, 3), conv(24, 48, 3, 2), conv(48, width, 3, 2), Residual(width), Residual(width)
        )


class MixerNet(nn.Sequential):
    """A coarse stem and four mixer blocks."""

    def __init__(self, width: int = 80) -> None:
        super().__init__(conv(3, 48, 8, 6, 1), conv(48, width, 3, 2), *(Mixer(width) for _ in range(4)))


class FineMixer(nn.Sequential):
    """The fine stem and three mixer blocks: for cameras that see the table from far and aslant."""

    def __init__(self, width: int = 80) -> None:
        super().__init__(
            conv(3, 24, 5, 3),
            conv(24, 48, 3, 2),
            conv(48, width, 3, 2),
            *(Mixer(width) for _ in range(3)),
        )


class Hybrid(nn.Module):
    """A convolutional stem, one residual block, then two transformer layers over the grid."""

    def __init__(self, width: int = 64) -> None:
        super().__init__()
        self.stem = nn.Sequential(conv(3, 48, 8, 6, 1), conv(48, width, 3, 2), Residual(width))
        self.places = nn.Parameter(0.02 * torch.randn(1, TOKENS, width))
        self.layers = nn.Sequential(Attention(width), Attention(width), nn.LayerNorm(width))

    def forward(self, pictures: Tensor) -> Tensor:
        features: Tensor = self.stem(pictures)
        tokens = self.layers(features.flatten(2).transpose(1, 2) + self.places)
        grid: Tensor = tokens.transpose(1, 2).reshape(features.shape)
        return grid


ENCODERS: Final[dict[str, tuple[type[nn.Module], int]]] = {
    "plain": (Plain, 64),
    "fine": (FineStem, 64),
    "mixer": (MixerNet, 80),
    "fine-mixer": (FineMixer, 80),
    "hybrid": (Hybrid, 64),
}
"""Name to class and number of channels."""


def make_encoder(name: str) -> tuple[nn.Module, int]:
    """Return a new encoder and its number of channels."""
    encoder, width = ENCODERS[name]
    return encoder(), width
