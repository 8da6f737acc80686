"""Classifiers: from the image of one object to its kind and colour."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import torch
from torch import Tensor, nn
from torch.nn import functional

from embodied_iqa.models.panel.training.encoders import Mixer, conv
from embodied_iqa.models.vision.samples.truth import COLOURED_CLASSES, KIND_CLASSES
from embodied_iqa.models.vision.training.layers import STAGES, MlpMixerLayer, TransformerLayer, unit
from embodied_iqa.models.vision.training.vision_members import VisionRecipe
from embodied_iqa.world.tasks.vocabulary import Colour

_PATCHES: Final = 8
"""Patches in a row of an image."""
_LAYERS: Final = 4
_COLOURS: Final = len(Colour)


class _Tokens(nn.Module):
    """64 patches with positions, layers over them, and their mean."""

    def __init__(self, side_px: int, width: int, layers: Sequence[nn.Module]) -> None:
        super().__init__()
        patch_px = side_px // _PATCHES
        self.embed = nn.Conv2d(3, width, patch_px, patch_px)
        self.places = nn.Parameter(0.02 * torch.randn(1, _PATCHES**2, width))
        self.layers = nn.Sequential(*layers, nn.LayerNorm(width))

    def forward(self, images: Tensor) -> Tensor:
        tokens = self.embed(images).flatten(2).transpose(1, 2) + self.places
        mean: Tensor = self.layers(tokens).mean(1)
        return mean


class _Pooled(nn.Module):
    """Convolutions and the mean over all places."""

    def __init__(self, *layers: nn.Module) -> None:
        super().__init__()
        self.layers = nn.Sequential(*layers)

    def forward(self, images: Tensor) -> Tensor:
        mean: Tensor = self.layers(images).mean((2, 3))
        return mean


def _features(recipe: VisionRecipe) -> tuple[nn.Module, int]:
    """Return layers from images to features, and the number of features."""
    width, side = recipe.width, recipe.input_px[0]
    match recipe.architecture:
        case "vit":
            return _Tokens(side, width, [TransformerLayer(width) for _ in range(_LAYERS)]), width
        case "mlpmixer":
            return _Tokens(side, width, [MlpMixerLayer(_PATCHES**2, width) for _ in range(_LAYERS)]), width
        case "convmixer":
            return _Pooled(conv(3, width, 5, 5, 0), *(Mixer(width, 5) for _ in range(_LAYERS))), width
    stage = STAGES[recipe.architecture]
    stages = (stage(width, 2 * width), stage(2 * width, 4 * width), conv(4 * width, 4 * width))
    return _Pooled(conv(3, width, 3, 2), *stages), 4 * width


class Classifier(nn.Module):
    """Probabilities of kinds times those of colours: both are learned from all objects.

    Args:
        recipe: Of the member.
    """

    def __init__(self, recipe: VisionRecipe) -> None:
        super().__init__()
        self.features, width = _features(recipe)
        self.kinds, self.colours = nn.Linear(width, len(KIND_CLASSES)), nn.Linear(width, _COLOURS)

    def logits(self, images: Tensor) -> Tensor:
        """Map ``(N, S, S, 3)`` bytes to ``(N, classes)`` logits of `COLOURED_CLASSES`."""
        features = self.features(unit(images))
        both = self.kinds(features)[:, :, None] + self.colours(features)[:, None]
        return both.reshape(-1, len(COLOURED_CLASSES))

    def forward(self, images: Tensor) -> Tensor:
        """Map ``(N, S, S, 3)`` bytes to ``(N, classes)`` probabilities."""
        return self.logits(images).float().softmax(-1)

    def loss(self, images: Tensor, classes: Tensor) -> Tensor:
        """Return the cross entropy with ``(N,)`` indices of classes."""
        return functional.cross_entropy(self.logits(images).float(), classes)
