"""Recipes of trainable metrics, by name."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, replace
from enum import StrEnum
from types import MappingProxyType
from typing import Final

from embodied_iqa.base.errors import UsageError
from embodied_iqa.base.lazy import load
from embodied_iqa.quality.metrics.learned.inputs import InputKind, NetworkInput
from embodied_iqa.quality.metrics.trainable import Trainable

_PLUS: Final = re.compile(r"\+(?!http|wss)")
"""Between subjects; not the plus sign of a protocol."""
_WITH_SUBJECTS: Final = MappingProxyType(
    {InputKind.FINE: InputKind.TOKENS, InputKind.DIFFERENCES: InputKind.DIFFERENCES}
)
"""Kind of input with subjects, by that without."""
RECIPES_VERSION: Final = "3"
"""Changes whenever a training with the same set and seed can end otherwise."""


class Architecture(StrEnum):
    """Network of a metric."""

    VECTOR = "perceptrons"
    CNNIQA = "cnniqa"
    RESNET = "resnet-18"
    VIT = "vit-small"
    REGION_AWARE = "ra-miqa"
    """A vision transformer; with a region token if the recipe has a region encoder."""
    TORCHVISION = "torchvision"
    """A network of torchvision with one output; the recipe names it."""


class Objective(StrEnum):
    """What a training minimises."""

    TWO_HEADS = "two heads"
    """Order and smooth absolute error, see `metric_losses.two_head_loss`."""
    SQUARED = "squared"
    """Mean squared error of the label, the only output."""


@dataclass(frozen=True, slots=True)
class TransformerSize:
    """Size of a vision transformer.

    Attributes:
        dim: Width of a token.
        blocks: Number of blocks.
        heads: Attention heads of a block.
        patch_px: Side of a patch.
    """

    dim: int
    blocks: int
    heads: int
    patch_px: int = 16


@dataclass(frozen=True, slots=True)
class RegionSource:
    """Where the region token comes from.

    Attributes:
        encoder: Size of the frozen region encoder.
        layer: Number of the block, from 1, whose tokens are averaged; 0 for the last one, after the norm.
    """

    encoder: TransformerSize
    layer: int = 0


@dataclass(frozen=True, slots=True)
class RegionEncoderPlan:
    """What a region encoder depends on.

    Attributes:
        size: Of the transformer.
        square_px: Side of its images.
        scenes: Rendered scenes; every tenth is held out. Each gives three images.
        epochs: Passes over them.
        seed: Of scenes and weights.
    """

    size: TransformerSize
    square_px: int
    scenes: int
    epochs: int
    seed: int


@dataclass(frozen=True, slots=True)
class ImageNetwork:
    """What a network of central squares is made of.

    Attributes:
        crop_px: Side of the crop, random in training, else central.
        transformer: Of `Architecture.REGION_AWARE`.
        region: Of `Architecture.REGION_AWARE`; None for no region token.
        torchvision: Name of the network of `Architecture.TORCHVISION`.
        pretrained: The backbone has the size of the region encoder and begins with its weights.
    """

    crop_px: int
    transformer: TransformerSize | None = None
    region: RegionSource | None = None
    torchvision: str = ""
    pretrained: bool = False


@dataclass(frozen=True, slots=True)
class MetricRecipe:
    """How a metric is trained.

    Attributes:
        name: Unique.
        summary: One sentence.
        architecture: The network.
        input: What it takes.
        epochs: At most.
        patience: Epochs without a better validation SRCC after which it stops.
        batch: Pairs in a step.
        rate: Largest learning rate.
        weight_decay: Of weights, not of offsets.
        rank_share: Weight of the rank head's loss; the label head has the rest.
        shared_label: Weight of the mean label of the training images of the same kind and camera in what is
            learned; the image's own label has the rest. The labels of a handful of subjects are noisy.
        steps: After which more epochs gain nothing; 0 for no such limit.
        fewest_epochs: However large the training set is.
        objective: What is minimised.
        warm_up_epochs: In which the learning rate rises.
        least_rate_share: Least learning rate, as a share of the largest.
        network: Details of networks of central squares; None for the others.
        pictures_each: Images of each reference that are used, drawn by the seed; 0 for all.
    """

    name: str
    summary: str
    architecture: Architecture
    input: NetworkInput
    epochs: int
    patience: int
    batch: int
    rate: float
    weight_decay: float
    rank_share: float = 0.7
    shared_label: float = 0.8
    steps: int = 0
    fewest_epochs: int = 20
    objective: Objective = Objective.TWO_HEADS
    warm_up_epochs: float = 2.0
    least_rate_share: float = 1e-3
    network: ImageNetwork | None = None
    pictures_each: int = 0

    def of_epochs(self, epochs: int | None) -> MetricRecipe:
        """Return the recipe with another maximum of epochs, whatever the training set; itself for None."""
        return self if epochs is None else replace(self, epochs=epochs, steps=0)

    def of_size(self, pairs: int) -> MetricRecipe:
        """Return the recipe for a training set of this size: fewer epochs if it is large."""
        if not self.steps:
            return self
        epochs = max(self.fewest_epochs, math.ceil(self.steps * self.batch / pairs))
        return replace(self, epochs=min(self.epochs, epochs))


_SMALL_IMAGE: Final = NetworkInput(InputKind.IMAGE, size_px=(128, 96))
"""36,900 images of this size are 1.4 GB."""

RECIPES: Final = MappingProxyType(
    {
        recipe.name: recipe
        for recipe in (
            MetricRecipe(
                "embodied-nr",
                "No reference: statistics at the policy's input size and of fine texture, per camera.",
                Architecture.VECTOR, NetworkInput(InputKind.FINE), 80, 20, 256, 2e-3, 0.05, steps=2500,
            ),
            MetricRecipe(
                "embodied-fr",
                "Full reference: differences at the policy's input size, and in the features of subjects.",
                Architecture.VECTOR, NetworkInput(InputKind.DIFFERENCES), 80, 20, 256, 2e-3, 0.05, steps=2500,
            ),
            MetricRecipe(
                "cnniqa",  # stored records of trainings hash the summaries: not a word of them changes
                "No reference: CNNIQA (Kang et al. 2014) from nothing, patches of the resized picture.",
                Architecture.CNNIQA, _SMALL_IMAGE, 30, 8, 64, 1e-3, 0.01, steps=4000, fewest_epochs=8,
            ),
            MetricRecipe(
                "resnet-18",
                "No reference: ResNet-18 of a quarter of the channels, from nothing.",
                Architecture.RESNET, _SMALL_IMAGE, 30, 8, 64, 2e-3, 0.02, steps=4000, fewest_epochs=8,
            ),
            MetricRecipe(
                "vit-small",
                "No reference: a vision transformer of reduced size, from nothing.",
                Architecture.VIT, _SMALL_IMAGE, 40, 10, 64, 1e-3, 0.05, steps=4000, fewest_epochs=8,
            ),
        )
    }
)  # fmt: skip
"""Recipes for the labels of any database, by name."""


def recipe_by_name(name: str) -> MetricRecipe:
    """Return a recipe by name, which may have subjects behind it.

    ``embodied-fr:SUBJECT+SUBJECT`` also takes distances in these subjects' features,
    ``embodied-nr:SUBJECT+SUBJECT`` the features of the first that is made for the camera of an image.

    Raises:
        UsageError: Unknown name, or subjects for a recipe that sees nothing but the image.
    """
    base, colon, rest = name.partition(":")
    known = {**RECIPES, **load("embodied_iqa.quality.metrics.training.miqa_recipes:MIQA_RECIPES")}
    if base not in known:
        raise UsageError("unknown metric to train", got=name, available=known)
    recipe: MetricRecipe = known[base]
    if not colon:
        return recipe
    subjects = tuple(word for word in _PLUS.split(rest) if word)
    if recipe.input.kind not in _WITH_SUBJECTS or not subjects:
        raise UsageError(
            "wrong metric to train",
            expected="subjects only of embodied-nr and embodied-fr: embodied-fr:SUBJECT+SUBJECT",
            got=name,
        )
    kind = _WITH_SUBJECTS[recipe.input.kind]
    return replace(recipe, name=name, input=replace(recipe.input, kind=kind, subjects=subjects))


def trainable_by_name(name: str) -> Trainable:
    """Return a metric to train; torch is imported when it is trained.

    Raises:
        UsageError: Unknown name.
    """
    made: Trainable = load("embodied_iqa.quality.metrics.training.metric_training:RecipeTraining")(
        recipe_by_name(name)
    )
    return made
