"""Detectors and instance segmenters without anchors: an object is found at its centre.

Each cell of a grid of 4 x 4 pixels predicts whether it is the centre of an object (CenterNet, 2019), its
class, and the distances to the edges of its box (FCOS, 2019). A segmenter also predicts common prototypes
and how they make up the mask of each object.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Final

import torch
from torch import Tensor, nn
from torch.nn import functional

from embodied_iqa.models.panel.training.encoders import conv
from embodied_iqa.models.vision.predictions import VisionTask
from embodied_iqa.models.vision.samples.truth import KIND_CLASSES
from embodied_iqa.models.vision.training.layers import STAGES, depthwise, unit
from embodied_iqa.models.vision.training.vision_members import VisionRecipe

STRIDE: Final = 4
"""Side of a cell of the grid [px of the input]."""
MASK_STRIDE: Final = 2
"""Side of a cell of the prototypes [px of the input]."""
MOST_FOUND: Final = 20
"""Objects in the output, by falling score."""
_CLASSES: Final = len(KIND_CLASSES)
_NECK: Final = 40
_PROTOTYPES: Final = 12
_HIDDEN: Final = 6
"""Channels of the layer of a dynamic mask."""
_DYNAMIC_INPUTS: Final = _PROTOTYPES + 2
_DYNAMIC_WEIGHTS: Final = _DYNAMIC_INPUTS * _HIDDEN + _HIDDEN + _HIDDEN + 1
_RARE: Final = -4.6
"""First logit of a centre: a probability of 1 %."""


@dataclass(frozen=True, slots=True, eq=False)
class Grid:
    """What a detector predicts for each of its cells.

    Attributes:
        centre: ``(N, h, w)`` logits that an object's centre is there.
        kind: ``(N, h, w, classes)`` logits.
        edges: ``(N, h, w, 4)`` distances from the cell to the left, top, right and bottom edge [px].
        shape: ``(N, h, w, C)`` coefficients of the mask; C is 0 in detectors.
        prototypes: ``(N, P, H, W)``, of half the input's size; None in detectors.
    """

    centre: Tensor
    kind: Tensor
    edges: Tensor
    shape: Tensor
    prototypes: Tensor | None

    def boxes(self) -> Tensor:
        """Return ``(N, h, w, 4)`` left, top, right, bottom [px of the input]."""
        place = cell_centres(self.centre.shape[1], self.centre.shape[2]).to(self.edges.device)
        return torch.cat([place - self.edges[..., :2], place + self.edges[..., 2:]], -1)


def cell_centres(rows: int, columns: int) -> Tensor:
    """Return ``(rows, columns, 2)``, x and y of the middle of each cell [px of the input]."""
    y, x = torch.meshgrid(torch.arange(rows), torch.arange(columns), indexing="ij")
    return (torch.stack([x, y], -1).float() + 0.5) * STRIDE


class Detector(nn.Module):
    """A pyramid of features, joined at a quarter of the input's size, and a head for every cell.

    Args:
        recipe: Of the member.
    """

    def __init__(self, recipe: VisionRecipe) -> None:
        super().__init__()
        width, stage = recipe.width, STAGES[recipe.architecture]
        widths = (width, 2 * width, 3 * width, 4 * width)
        self.stem = conv(3, width, 3, 2)
        self.stages = nn.ModuleList(stage(low, high) for low, high in pairwise(widths))
        self.laterals = nn.ModuleList(nn.Conv2d(high, _NECK, 1) for high in widths[1:])
        self.tower = nn.Sequential(depthwise(_NECK, _NECK), conv(_NECK, _NECK))
        self.centre, self.edges = nn.Conv2d(_NECK, 1, 1), nn.Conv2d(_NECK, 4, 1)
        self.kind = nn.Conv2d(_NECK, _CLASSES, 1)
        nn.init.constant_(self.centre.bias, _RARE)
        nn.init.constant_(self.edges.bias, 0.7)
        self.shapes: MaskHead | None = None
        if recipe.task is VisionTask.SEGMENTATION:
            self.shapes = MaskHead(width, dynamic=recipe.dynamic_masks)

    def grid(self, images: Tensor) -> Grid:
        """Map ``(N, H, W, 3)`` bytes to predictions for each cell."""
        first = self.stem(unit(images))
        levels = [first]
        for stage in self.stages:
            levels.append(stage(levels[-1]))
        joined: Tensor = self.laterals[-1](levels[-1])
        for lateral, level in zip(reversed(self.laterals[:-1]), reversed(levels[1:-1]), strict=True):
            joined = lateral(level) + functional.interpolate(joined, size=level.shape[2:])
        cells = self.tower(joined)
        edges = STRIDE * functional.softplus(self.edges(cells).float()).permute(0, 2, 3, 1)
        shape, prototypes = edges[..., :0], None
        if self.shapes is not None:
            shape, prototypes = self.shapes(cells, joined, first)
        kind = self.kind(cells).float().permute(0, 2, 3, 1)
        return Grid(self.centre(cells)[:, 0].float(), kind, edges, shape, prototypes)

    def forward(self, images: Tensor) -> tuple[Tensor, ...]:
        """Find objects.

        Args:
            images: ``(N, H, W, 3)`` bytes.

        Returns:
            ``(N, K)`` scores, falling; ``(N, K)`` classes; ``(N, K, 4)`` boxes in [0, 1] of width and height;
            of a segmenter also ``(N, K, H/2, W/2)`` logits of masks.
        """
        grid = self.grid(images)
        size = torch.tensor([images.shape[2], images.shape[1]] * 2, dtype=torch.float32)
        chance = grid.centre.sigmoid()
        peak = (functional.max_pool2d(chance[:, None], 3, 1, 1)[:, 0] == chance).float()
        sure, kind = grid.kind.softmax(-1).max(-1)
        score, place = (peak * chance * sure).flatten(1).topk(MOST_FOUND, 1)
        boxes = _picked(grid.boxes(), place)
        found = (score, kind.flatten(1).gather(1, place), boxes / size)
        if self.shapes is None or grid.prototypes is None:
            return found
        return *found, self.shapes.masks(_picked(grid.shape, place), boxes, grid.prototypes)


def _picked(values: Tensor, place: Tensor) -> Tensor:
    """Return ``(N, K, C)``, the values ``(N, h, w, C)`` of K cells."""
    flat = values.flatten(1, 2)
    return flat.gather(1, place[..., None].expand(-1, -1, flat.shape[-1]))


class MaskHead(nn.Module):
    """Prototypes, and the coefficients by which they make up the mask of an object.

    Args:
        first: Channels of the first layer of the detector.
        dynamic: Whether the coefficients are the layers of a small network for each object, which also sees
            where a cell is in its box, else weights of a sum.
    """

    def __init__(self, first: int, *, dynamic: bool) -> None:
        super().__init__()
        self.dynamic = dynamic
        self.first = nn.Conv2d(first, _PROTOTYPES, 1)
        self.deep = nn.Conv2d(_NECK, _PROTOTYPES, 1)
        self.mix = nn.Sequential(
            depthwise(_PROTOTYPES, 2 * _PROTOTYPES), nn.Conv2d(2 * _PROTOTYPES, _PROTOTYPES, 1)
        )
        self.coefficients = nn.Conv2d(_NECK, _DYNAMIC_WEIGHTS if dynamic else _PROTOTYPES + 1, 1)

    def forward(self, cells: Tensor, joined: Tensor, first: Tensor) -> tuple[Tensor, Tensor]:
        """Return coefficients ``(N, h, w, C)`` and prototypes ``(N, P, H, W)``."""
        deep = functional.interpolate(
            self.deep(joined), size=first.shape[2:], mode="bilinear", align_corners=False
        )
        prototypes = self.mix(functional.relu(deep + self.first(first)))
        return self.coefficients(cells).float().permute(0, 2, 3, 1), prototypes.float()

    def masks(self, shape: Tensor, boxes: Tensor, prototypes: Tensor) -> Tensor:
        """Return ``(N, K, H, W)`` logits of masks.

        Args:
            shape: ``(N, K, C)`` coefficients.
            boxes: ``(N, K, 4)`` [px of the input].
            prototypes: ``(N, P, H, W)``.
        """
        if not self.dynamic:
            drawn = torch.einsum("nkp,nphw->nkhw", shape[..., :-1], prototypes)
            return drawn + shape[..., -1, None, None]
        return _dynamic_masks(shape, boxes, prototypes)


def _dynamic_masks(shape: Tensor, boxes: Tensor, prototypes: Tensor) -> Tensor:
    """Draw each mask with two layers of its own from the prototypes and the place in its box."""
    rows, columns = prototypes.shape[2:]
    weights, biases, last, bias = shape.split([_DYNAMIC_INPUTS * _HIDDEN, _HIDDEN, _HIDDEN, 1], -1)
    of_inputs = weights.unflatten(-1, (_HIDDEN, _DYNAMIC_INPUTS))
    middle, half = (boxes[..., :2] + boxes[..., 2:]) / 2, (boxes[..., 2:] - boxes[..., :2]) / 2 + 1
    x = (torch.arange(columns) + 0.5) * MASK_STRIDE
    y = (torch.arange(rows) + 0.5) * MASK_STRIDE
    right = ((x - middle[..., :1]) / half[..., :1]).clamp(-4, 4)
    down = ((y - middle[..., 1:]) / half[..., 1:]).clamp(-4, 4)
    hidden = torch.einsum("nkcp,nphw->nkchw", of_inputs[..., :_PROTOTYPES], prototypes)
    hidden = hidden + (of_inputs[..., -2, None] * right[:, :, None])[..., None, :]
    hidden = hidden + (of_inputs[..., -1, None] * down[:, :, None])[..., None]
    hidden = functional.relu(hidden + biases[..., None, None])
    return (hidden * last[..., None, None]).sum(2) + bias[..., None]
