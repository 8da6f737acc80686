"""Close looks at objects: a network finds them on a coarse grid and cuts a patch around each.

Printed marks are a few pixels wide. Features of a whole image that keep such detail are slow and hardly
learned; a patch that is centred on an object is small, and marks are read from it after minutes of training.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from embodied_iqa.models.panel.training.encoders import GRID, Mixer, cell_centres, conv

SLOTS: Final = 10
"""Patches of an image; there are fewer objects."""
_CANDIDATES: Final = 8 * SLOTS
_SAME: Final = 0.04
"""What is found nearer to each other than this share of the image is one object."""
_TWICE: Final = 100.0
"""How much less likely (logit) it is to be there a second time."""
NOTHING: Final = SLOTS
"""Index of the token that stands for an object that the image does not show."""
PATCH_PX: Final = 32
_REACH_CELLS: Final = 0.75
"""An object's centre is at most this far from the centre of its cell, along each axis."""


class Look(StrEnum):
    """Network of the patches."""

    FINE = "fine"
    """Begins with a stride of one: keeps texture."""
    MIXED = "mixed"
    """Cuts the patch in squares of four pixels and mixes these."""
    COARSE = "coarse"
    """Strides of two from the start: sees shape rather than texture."""


class Objects(NamedTuple):
    """What a network found in ``B`` images.

    Attributes:
        tokens: ``(B, SLOTS + 1, C)`` features of each patch; the last one is `NOTHING`.
        places: ``(B, SLOTS + 1, 2)`` centres (u, v) in [0, 1].
        heat: ``(B, 3, 15, 20)``: logit of an object's centre in each cell, and its offset in cells.
    """

    tokens: Tensor
    places: Tensor
    heat: Tensor


class Glimpses(nn.Module):
    """Finds objects on the grid of an encoder and looks at each closely.

    Args:
        width: Channels of the grid and of the tokens.
        look: Network of the patches.
        context: Add the grid's features at the object to those of the patch.
    """

    def __init__(self, width: int, look: Look, *, context: bool) -> None:
        super().__init__()
        self.find = nn.Conv2d(width, 3, 1)
        self.look = _patch_network(look)
        self.join = nn.Linear(_PATCH_FEATURES, width)
        self.context = nn.Linear(width, width) if context else None
        self.nothing = nn.Parameter(0.02 * torch.randn(1, 1, width))
        steps = torch.arange(PATCH_PX) - (PATCH_PX - 1) / 2
        y, x = torch.meshgrid(steps, steps, indexing="ij")
        self.register_buffer("offsets_px", torch.stack([x, y], dim=-1), persistent=False)
        self.register_buffer("centres", cell_centres(), persistent=False)

    def forward(self, image: Tensor, grid: Tensor, spots: Tensor | None) -> Objects:
        """Look at objects.

        Args:
            image: ``(B, 3, H, W)``.
            grid: ``(B, C, 15, 20)`` features of the image.
            spots: ``(B, SLOTS, 2)`` where to look, in training; None to look where the network finds objects.
        """
        heat = self.find(grid).float()
        places = self.peaks(heat) if spots is None else spots
        patches = self._cut(image, places)
        tokens = self.join(self.look(patches).flatten(1)).view(*places.shape[:2], -1).float()
        if self.context is not None:
            there = functional.grid_sample(grid.float(), places[:, :, None] * 2 - 1, align_corners=False)
            tokens = tokens + self.context(there[..., 0].transpose(1, 2)).float()
        batch = len(image)
        tokens = torch.cat([functional.relu(tokens), self.nothing.expand(batch, -1, -1)], dim=1)
        nowhere = places.new_full((batch, 1, 2), 0.5)
        return Objects(tokens, torch.cat([places, nowhere], dim=1), heat)

    def peaks(self, heat: Tensor) -> Tensor:
        """Return ``(B, SLOTS, 2)``, the likeliest places by ``(B, 3, 15, 20)`` heat, each object once."""
        flat = heat.flatten(2)
        likely, index = flat[:, 0].topk(_CANDIDATES, dim=1)
        rows, columns = GRID
        reach = _REACH_CELLS * flat[:, 1:].tanh() / flat.new_tensor([columns, rows])[None, :, None]
        places = (self.centres[None] + reach.transpose(1, 2)).gather(1, index[..., None].expand(-1, -1, 2))
        near = (places[:, :, None] - places[:, None]).square().sum(-1) < _SAME**2
        again = torch.tril(near.float(), -1).amax(-1)  # candidates are in order: a likelier one is there
        _, kept = (likely - _TWICE * again).topk(SLOTS, dim=1)
        return places.gather(1, kept[..., None].expand(-1, -1, 2))

    def _cut(self, image: Tensor, places: Tensor) -> Tensor:
        """Return ``(B SLOTS, 3, PATCH_PX, PATCH_PX)``, pixel for pixel around each place."""
        height, width = image.shape[2:]
        scale = 2.0 / places.new_tensor([float(width), float(height)])
        grid = (places * 2 - 1)[:, :, None, None] + self.offsets_px * scale
        cut = functional.grid_sample(image.float(), grid.flatten(1, 2), align_corners=False)
        return cut.unflatten(2, (SLOTS, PATCH_PX)).transpose(1, 2).flatten(0, 1)


def finding_loss(heat: Tensor, spots: Tensor, there: Tensor) -> Tensor:
    """Cross-entropy of the cells with an object's centre, and smooth L1 of the centre's offset.

    Args:
        heat: ``(B, 3, 15, 20)`` of `Objects`.
        spots: ``(B, T, 2)`` true centres (u, v).
        there: ``(B, T)`` whether there is such an object in the image.
    """
    rows, columns = GRID
    size = spots.new_tensor([columns, rows])
    cells = (spots * size).floor()
    index = (cells[..., 1].clamp(0, rows - 1) * columns + cells[..., 0].clamp(0, columns - 1)).long()
    flat = heat.flatten(2)
    wanted = torch.zeros_like(flat[:, 0]).scatter_reduce(1, index, there.float(), "amax")
    count = there.float().sum().clamp_min(1.0)
    found = functional.binary_cross_entropy_with_logits(flat[:, 0], wanted, reduction="sum") / count
    offset = spots * size - cells - 0.5
    guess = _REACH_CELLS * flat[:, 1:].gather(2, index[:, None].expand(-1, 2, -1)).tanh()
    off = functional.smooth_l1_loss(guess.transpose(1, 2), offset, reduction="none", beta=0.1).sum(-1)
    return 0.3 * found + (off * there.float()).sum() / count


_PATCH_FEATURES: Final = 64 * 4 * 4


def _patch_network(look: Look) -> nn.Sequential:
    """Return a network from ``(N, 3, 32, 32)`` to ``(N, 64, 4, 4)``."""
    match look:
        case Look.FINE:
            first = conv(3, 24), conv(24, 32, 3, 2), conv(32, 64, 3, 2)
            return nn.Sequential(*first, conv(64, 64), nn.AvgPool2d(2))
        case Look.MIXED:
            squares = conv(3, 64, 4, 4, 0)
            return nn.Sequential(squares, Mixer(64, 5), Mixer(64, 5), conv(64, 64), nn.AvgPool2d(2))
    return nn.Sequential(conv(3, 32, 5, 2), conv(32, 64, 3, 2), conv(64, 64, 3, 2), conv(64, 64))
