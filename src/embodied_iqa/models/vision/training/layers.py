"""Layers of the networks of the vision panel."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import torch
from torch import Tensor, nn

from embodied_iqa.models.panel.training.encoders import Mixer, Residual, conv


def unit(images: Tensor) -> Tensor:
    """Return ``(N, H, W, 3)`` bytes as ``(N, 3, H, W)`` in [-0.5, 0.5]."""
    return images.permute(0, 3, 1, 2).float() / 255 - 0.5


def depthwise(inputs: int, outputs: int, stride: int = 1) -> nn.Sequential:
    """A 3 x 3 convolution of each channel, then one of each place (MobileNet, 2017)."""
    return nn.Sequential(
        nn.Conv2d(inputs, inputs, 3, stride, 1, groups=inputs, bias=False),
        nn.BatchNorm2d(inputs),
        conv(inputs, outputs, 1),
    )


def _plain_stage(inputs: int, outputs: int) -> nn.Sequential:
    return nn.Sequential(conv(inputs, outputs, 3, 2), conv(outputs, outputs))


def _residual_stage(inputs: int, outputs: int) -> nn.Sequential:
    return nn.Sequential(conv(inputs, outputs, 3, 2), Residual(outputs))


def _depthwise_stage(inputs: int, outputs: int) -> nn.Sequential:
    return nn.Sequential(
        depthwise(inputs, outputs, 2), depthwise(outputs, outputs), depthwise(outputs, outputs)
    )


def _mixer_stage(inputs: int, outputs: int) -> nn.Sequential:
    return nn.Sequential(conv(inputs, outputs, 2, 2, 0), Mixer(outputs, 5), Mixer(outputs, 5))


STAGES: Final[dict[str, Callable[[int, int], nn.Sequential]]] = {
    "plain": _plain_stage,
    "residual": _residual_stage,
    "depthwise": _depthwise_stage,
    "convmixer": _mixer_stage,
}
"""Layers that halve the image and change the number of channels, by architecture."""


class TransformerLayer(nn.Module):
    """Attention among all tokens, then a network for each (pre-norm; Dosovitskiy et al. 2021)."""

    def __init__(self, width: int, heads: int = 4) -> None:
        super().__init__()
        self.heads = heads
        self.norm_1, self.norm_2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.to_qkv, self.join = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.feed = nn.Sequential(nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width))

    def forward(self, tokens: Tensor) -> Tensor:
        """Map ``(N, T, width)`` to the same shape."""
        batch, count, width = tokens.shape
        depth = width // self.heads
        q, k, v = (
            self.to_qkv(self.norm_1(tokens)).view(batch, count, 3, self.heads, depth).permute(2, 0, 3, 1, 4)
        )
        weights = (torch.matmul(q, k.transpose(2, 3)) * depth**-0.5).softmax(-1)
        seen = torch.matmul(weights, v).transpose(1, 2).reshape(batch, count, width)
        tokens = tokens + self.join(seen)
        attended: Tensor = tokens + self.feed(self.norm_2(tokens))
        return attended


class MlpMixerLayer(nn.Module):
    """A network across tokens, then one across channels (MLP-Mixer, 2021)."""

    def __init__(self, tokens: int, width: int) -> None:
        super().__init__()
        self.norm_1, self.norm_2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.across = nn.Sequential(nn.Linear(tokens, 2 * tokens), nn.GELU(), nn.Linear(2 * tokens, tokens))
        self.feed = nn.Sequential(nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width))

    def forward(self, tokens: Tensor) -> Tensor:
        """Map ``(N, T, width)`` to the same shape."""
        tokens = tokens + self.across(self.norm_1(tokens).transpose(1, 2)).transpose(1, 2)
        mixed: Tensor = tokens + self.feed(self.norm_2(tokens))
        return mixed
