"""Networks of images, small enough to train from nothing on two cores.

Each maps ``(N, H, W, 3)`` uint8 to ``(1, N, 2)``: rank and standardised label.
"""

from __future__ import annotations

from typing import Final

import torch
from torch import Tensor, nn
from torch.nn import functional

_PATCH_PX: Final = 32
_PATCHES: Final = 4
"""Of an image, drawn for each step of a training, which is on patches as in the paper."""


def planes_of(images: Tensor) -> Tensor:
    """Map ``(N, H, W, 3)`` uint8 to ``(N, 3, H, W)`` in [-0.5, 0.5]."""
    return images.permute(0, 3, 1, 2).float() / 255 - 0.5


class ImageLearner(nn.Module):
    """What the networks share: they need no fit of their inputs, and have one member."""

    def fit_inputs(self, inputs: Tensor, view: Tensor) -> None:
        """Do nothing: images are scaled by constants."""

    def members(self, inputs: Tensor, view: Tensor) -> Tensor:
        """Return ``(1, N, 2)``; the camera does not count, but belongs to the interface."""
        unused = 0.0 * view.float()[:, None]
        return (self.score(planes_of(inputs)) + unused)[None]

    def forward(self, inputs: Tensor, view: Tensor) -> Tensor:
        """Return ``(N, 2)``."""
        return self.members(inputs, view)[0]

    def score(self, planes: Tensor) -> Tensor:
        """Map ``(N, 3, H, W)`` in [-0.5, 0.5] to ``(N, 2)``."""
        raise NotImplementedError


class CnnIqa(ImageLearner):
    """CNNIQA (Kang et al. 2014): one convolution on normalised grey patches, minima and maxima, two layers.

    The patches of an image are averaged, in training some of them; both sides must be multiples of 32.
    """

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(1, 50, 7)
        self.hidden = nn.Sequential(
            nn.Linear(100, 800), nn.ReLU(), nn.Dropout(0.5), nn.Linear(800, 800), nn.ReLU()
        )
        self.out = nn.Linear(800, 2)
        self.register_buffer("luma", torch.tensor([0.299, 0.587, 0.114])[None, :, None, None])

    def score(self, planes: Tensor) -> Tensor:
        """Return the mean over patches."""
        gray = 255 * (planes * self.luma).sum(1, keepdim=True)
        mean = functional.avg_pool2d(gray, 7, 1, 3, count_include_pad=False)
        square = functional.avg_pool2d(gray * gray, 7, 1, 3, count_include_pad=False)
        normal = (gray - mean) / ((square - mean * mean).clamp_min(0).sqrt() + 1.0)
        size = _PATCH_PX
        batch, _, height, width = normal.shape
        rows, columns = height // size, width // size
        patches = normal[:, :, : rows * size, : columns * size].reshape(batch, rows, size, columns, size)
        patches = patches.permute(0, 1, 3, 2, 4).reshape(batch, rows * columns, size, size)
        if self.training:
            drawn = torch.rand(batch, rows * columns).argsort(1)[:, :_PATCHES]
            patches = patches[torch.arange(batch)[:, None], drawn]
        found = self.conv(patches.reshape(-1, 1, size, size)).flatten(2)
        features = torch.cat([found.amax(2), found.amin(2)], dim=1)
        values: Tensor = self.out(self.hidden(features))
        return values.view(batch, -1, 2).mean(1)


class _Block(nn.Module):
    """Basic block of a residual network (He et al. 2016)."""

    def __init__(self, inputs: int, outputs: int, stride: int) -> None:
        super().__init__()
        self.first = nn.Sequential(
            nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False), nn.BatchNorm2d(outputs), nn.ReLU()
        )
        self.second = nn.Sequential(nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False), nn.BatchNorm2d(outputs))
        self.shortcut: nn.Module = nn.Identity()
        if stride > 1 or inputs != outputs:
            self.shortcut = nn.Sequential(
                nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs)
            )

    def forward(self, features: Tensor) -> Tensor:
        """Map ``(N, inputs, h, w)`` to ``(N, outputs, h / stride, w / stride)``."""
        return functional.relu(self.second(self.first(features)) + self.shortcut(features))


class ReducedResNet18(ImageLearner):
    """ResNet-18 with a quarter of the channels: 16, 32, 64, 128; 0.7 million weights."""

    def __init__(self) -> None:
        super().__init__()
        widths = (16, 32, 64, 128)
        layers: list[nn.Module] = [
            nn.Conv2d(3, widths[0], 7, 2, 3, bias=False), nn.BatchNorm2d(widths[0]), nn.ReLU(),
            nn.MaxPool2d(3, 2, 1),
        ]  # fmt: skip
        inputs = widths[0]
        for stage, width in enumerate(widths):
            layers += [_Block(inputs, width, 1 if stage == 0 else 2), _Block(width, width, 1)]
            inputs = width
        self.layers = nn.Sequential(*layers)
        self.out = nn.Linear(widths[-1], 2)

    def score(self, planes: Tensor) -> Tensor:
        """Return the heads' values."""
        values: Tensor = self.out(self.layers(planes).mean((2, 3)))
        return values


class SmallViT(ImageLearner):
    """Vision transformer (Dosovitskiy et al. 2021) of reduced size: patches of 16 px, 4 layers of width 96.

    Args:
        size_px: Width and height of the images, multiples of 16.
    """

    def __init__(self, size_px: tuple[int, int]) -> None:
        super().__init__()
        side, width = 16, 96
        self.cut = nn.Conv2d(3, width, side, side)
        self.places = nn.Parameter(0.02 * torch.randn(1, (size_px[0] // side) * (size_px[1] // side), width))
        layer = nn.TransformerEncoderLayer(
            width, 4, 2 * width, dropout=0.1, activation="gelu", batch_first=True, norm_first=True
        )
        self.layers = nn.TransformerEncoder(layer, 4, nn.LayerNorm(width), enable_nested_tensor=False)
        self.out = nn.Linear(width, 2)

    def score(self, planes: Tensor) -> Tensor:
        """Return the heads' values."""
        tokens = self.cut(planes).flatten(2).transpose(1, 2) + self.places
        values: Tensor = self.out(self.layers(tokens).mean(1))
        return values
