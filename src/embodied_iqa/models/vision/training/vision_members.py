"""Members of the embedded vision panel: networks, inputs and amount of training. This is the only list."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from embodied_iqa.base.config import check_ranges, ranged
from embodied_iqa.base.errors import UsageError
from embodied_iqa.models.panel.panel_members import Augmentation
from embodied_iqa.models.vision.predictions import VisionTask

_SEED_STEP: Final = 1_000_000
_HELD_OUT_OFFSET: Final = 500_000
"""Training images have the seeds below it."""
_HELD_OUT_IMAGES: Final = 300
_QUICK_HELD_OUT: Final = 30


@dataclass(frozen=True, slots=True)
class VisionRecipe:
    """Network and training of a member.

    Attributes:
        name: Of the member.
        architecture: Of its layers: a key of `CLASSIFIERS` or `STAGES`.
        input_px: Width and height of its input.
        width: Channels of its first layers.
        augmentation: Of the training images, beside mirroring.
        epochs: Passes through the training images.
        seed: Of initial weights, order and augmentation.
        images: Largest number of training images; a member with fewer knows less.
        batch: Images or crops per step.
        rate: Highest learning rate.
        dynamic_masks: Whether a segmenter predicts the layers that draw each mask (CondInst), not the weights
            of common prototypes (YOLACT).
    """

    name: str
    architecture: str
    input_px: tuple[int, int]
    width: int
    augmentation: Augmentation
    epochs: int
    seed: int
    images: int = 3000
    batch: int = 32
    rate: float = 3e-3
    dynamic_masks: bool = False

    @property
    def task(self) -> VisionTask:
        """What it does, by the first part of its name."""
        return VisionTask(self.name.partition("-")[0])


_NONE, _LIGHT, _STRONG = Augmentation.NONE, Augmentation.LIGHT, Augmentation.STRONG
_TINY, _SMALL, _MIDDLE, _LARGE = (160, 120), (192, 144), (224, 168), (256, 192)

RECIPES: Final[dict[str, VisionRecipe]] = {
    recipe.name: recipe
    for recipe in (
        VisionRecipe("cls-plain-48", "plain", (48, 48), 12, _NONE, 6, 101, images=1500, batch=64),
        VisionRecipe("cls-plain-64", "plain", (64, 64), 16, _LIGHT, 5, 102, batch=64),
        VisionRecipe("cls-residual-64", "residual", (64, 64), 12, _LIGHT, 5, 103, batch=64),
        VisionRecipe("cls-residual-96", "residual", (96, 96), 12, _STRONG, 4, 104, batch=64),
        VisionRecipe("cls-depthwise-64", "depthwise", (64, 64), 16, _NONE, 5, 105, batch=64),
        VisionRecipe("cls-depthwise-96", "depthwise", (96, 96), 16, _STRONG, 5, 106, batch=64),
        VisionRecipe("cls-convmixer-80", "convmixer", (80, 80), 48, _LIGHT, 5, 107, batch=64),
        VisionRecipe("cls-mlpmixer-64", "mlpmixer", (64, 64), 64, _LIGHT, 8, 108, batch=64, rate=2e-3),
        VisionRecipe("cls-vit-64", "vit", (64, 64), 64, _LIGHT, 8, 109, batch=64, rate=2e-3),
        VisionRecipe("cls-vit-96", "vit", (96, 96), 64, _NONE, 8, 110, batch=64, rate=2e-3),
        VisionRecipe("det-plain-160", "plain", _TINY, 16, _LIGHT, 20, 201),
        VisionRecipe("det-residual-192", "residual", _SMALL, 16, _LIGHT, 14, 202),
        VisionRecipe("det-depthwise-224", "depthwise", _MIDDLE, 16, _NONE, 14, 203),
        VisionRecipe("det-mixer-192", "convmixer", _SMALL, 16, _STRONG, 20, 204),
        VisionRecipe("det-plain-256", "plain", _LARGE, 12, _STRONG, 12, 205),
        VisionRecipe("ins-plain-160", "plain", _TINY, 16, _LIGHT, 20, 301),
        VisionRecipe("ins-residual-192", "residual", _SMALL, 16, _LIGHT, 11, 302, dynamic_masks=True),
        VisionRecipe("ins-depthwise-224", "depthwise", _MIDDLE, 16, _STRONG, 10, 303),
        VisionRecipe("ins-mixer-192", "convmixer", _SMALL, 16, _NONE, 11, 304, dynamic_masks=True),
        VisionRecipe("ins-plain-256", "plain", _LARGE, 12, _LIGHT, 7, 305),
    )
}
"""All members by name."""


def recipes_of(
    names: Sequence[str], *, quick: bool = False, images: int | None = None, seed: int = 1
) -> list[VisionRecipe]:
    """Return the recipes of members.

    Args:
        names: Of members; none for all.
        quick: A fraction of the training.
        images: Largest number of training images.
        seed: Changes the members' own seeds.

    Raises:
        UsageError: No member has a name.
    """
    unknown = [name for name in names if name not in RECIPES]
    if unknown:
        raise UsageError("unknown member of the vision panel", got=unknown[0], available=RECIPES)
    return [_adapted(RECIPES[name], quick, images, seed) for name in names or RECIPES]


QUICK_IMAGES: Final = 60
"""Training images of a quick training."""


def _adapted(recipe: VisionRecipe, quick: bool, images: int | None, seed: int) -> VisionRecipe:  # noqa: FBT001 - one call
    most = images or (QUICK_IMAGES if quick else recipe.images)
    return dataclasses.replace(
        recipe,
        images=min(most, recipe.images) if images is None else most,
        epochs=2 if quick else recipe.epochs,
        seed=recipe.seed + 1000 * seed,
    )


@dataclass(frozen=True, slots=True)
class VisionPlan:
    """Members and amount of training.

    Attributes:
        members: Names; empty for all.
        out: Folder of samples, checkpoints, curves and models.
        seed: Of scenes and weights.
        quick: Few images and two epochs, to try it out; predicts poorly.
        workers: Processes that draw samples.
        images: Training images of each member; as in its recipe unless given.
    """

    members: tuple[str, ...]
    out: Path
    seed: int = ranged(1, 0, math.inf)
    quick: bool = False
    workers: int = ranged(2, 1, math.inf)
    images: int | None = ranged(None, 1, _HELD_OUT_OFFSET)

    def __post_init__(self) -> None:
        check_ranges(self)

    @property
    def command(self) -> str:
        """Command line of this training."""
        words = ["embodied-iqa train vision-panel"]
        words += ["--quick"] if self.quick else []
        words += [f"--samples {self.images}"] if self.images else []
        return " ".join([*words, f"--seed {self.seed} --out DIR"])

    @property
    def models(self) -> Path:
        """Folder of networks and cards."""
        return self.out / "models"

    @property
    def train(self) -> Path:
        """Folder of the training samples."""
        return self.out / "train" / f"seed-{self.seed}"

    @property
    def held_out(self) -> Path:
        """Folder of the held-out samples."""
        return self.out / "held-out" / f"seed-{self.seed}"

    @property
    def held_out_images(self) -> int:
        """Number of held-out samples."""
        return _QUICK_HELD_OUT if self.quick else _HELD_OUT_IMAGES

    @property
    def train_seed(self) -> int:
        """Seed of the first training image."""
        return self.seed * _SEED_STEP

    @property
    def held_out_seed(self) -> int:
        """Seed of the first held-out image."""
        return self.train_seed + _HELD_OUT_OFFSET
