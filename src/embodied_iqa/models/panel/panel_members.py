"""Members of the embedded panel, the only list of them, and plans of their training and evaluation."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Final

from embodied_iqa.base.config import ranged
from embodied_iqa.base.errors import InputError, UsageError
from embodied_iqa.imaging.images.frame import View
from embodied_iqa.models.panel.image_formats import LARGE_WHOLE, SMALL_CLOSE, SMALL_WHOLE, ImageFormat
from embodied_iqa.models.panel.true_answers import Style
from embodied_iqa.models.subjects.backends.panel.shipped_members import MODELS

_SUFFIXES: Final = (".onnx", ".json")
_HELD_OUT_OFFSET: Final = 1_000_003
LAST_ROUND: Final = 4
"""The last round of a policy that looks while it acts is so many times as long as the others."""
_SHARE: Final = 7
PART_SCENES: Final = 250
"""Scenes of a file of samples."""
_WHOLE_TABLE: Final = (View.TOP, View.SIDE)
"""Cameras that show the whole table."""


class Augmentation(StrEnum):
    """Strength of the random changes to training images."""

    NONE = "none"
    LIGHT = "light"
    STRONG = "strong"


@dataclass(frozen=True, slots=True)
class Recipe:
    """Network, cameras and training of a member.

    Attributes:
        name: Its name in the catalogue.
        summary: One sentence.
        encoder: Image encoder (`ENCODERS`), which finds the objects.
        look: Network of the close looks at objects (`Look`).
        context: Whether these also get the encoder's features.
        reader: Task encoder (`READERS`).
        images: Format of its images.
        views: Input views; a VLA's actions aim in the first.
        style: What its answers mention; None for a VLA.
        augmentation: Of the training images.
        scenes: Number of training scenes.
        epochs: Epochs with plain tasks.
        ranked_epochs: Following epochs with tasks of all ranks.
        tasks: Tasks per scene and step.
        batch: Scenes per step.
        rate: Highest learning rate.
        seed: Of initial weights, order and augmentation.
    """

    name: str
    summary: str
    encoder: str
    look: str
    context: bool
    reader: str
    images: ImageFormat
    views: tuple[View, ...]
    style: Style | None
    augmentation: Augmentation
    scenes: int = 12_000
    epochs: int = 14
    ranked_epochs: int = 6
    tasks: int = 6
    batch: int = 16
    rate: float = 1.5e-3
    seed: int = 0

    @property
    def is_vla(self) -> bool:
        """Whether the member acts; otherwise it answers."""
        return self.style is None

    @property
    def all_epochs(self) -> int:
        """Epochs with plain and with ranked tasks."""
        return self.epochs + self.ranked_epochs


@dataclass(frozen=True, slots=True)
class ReactiveRecipe(Recipe):
    """A policy that looks while it acts; ``scenes`` are those whose tasks are acted out for its samples.

    Attributes:
        start: Member whose shipped weights its training starts from.
        rounds: Rounds after the first one, in which the member acts itself, each on a seventh as many new
            scenes as the first. The last one, with all states, takes `LAST_ROUND` times as many epochs.
    """

    start: str = ""
    rounds: int = 6

    @property
    def all_epochs(self) -> int:
        """Epochs of all rounds."""
        return self.epochs * (self.rounds + LAST_ROUND)

    def round_of(self, epoch: int) -> tuple[int, int, int]:
        """Return the round of an epoch from 0, its epochs before this one, and how many it has."""
        turn = min(epoch // self.epochs, self.rounds)
        return turn, epoch - turn * self.epochs, self.epochs * (LAST_ROUND if turn == self.rounds else 1)

    def scenes_of(self, turn: int) -> range:
        """Return the numbers of the new scenes of a round."""
        if turn == 0:
            return range(self.scenes)
        more = math.ceil(self.scenes / _SHARE)
        return range(self.scenes + (turn - 1) * more, self.scenes + turn * more)


_TOP, _SIDE, _WRIST = View.TOP, View.SIDE, View.WRIST
_NONE, _LIGHT, _STRONG = Augmentation.NONE, Augmentation.LIGHT, Augmentation.STRONG

RECIPES: Final[dict[str, Recipe]] = {
    recipe.name: recipe
    for recipe in (
        Recipe(
            "panel-vla-object",
            "Sees patches around objects only, with fine texture; top view.",
            "residual", "fine", False, "gated", SMALL_WHOLE, (_TOP,), None, _LIGHT, seed=11,
        ),
        Recipe(
            "panel-vla-query",
            "A residual network on larger images and queries that the task makes; top view.",
            "residual", "mixed", True, "gated", LARGE_WHOLE, (_TOP,), None, _LIGHT, seed=12,
        ),
        Recipe(
            "panel-vla-side",
            "A convolutional mixer on the part of the image where objects are; looks from the side.",
            "mixer", "fine", True, "gated", SMALL_CLOSE, (_SIDE,), None, _LIGHT, seed=13,
        ),
        Recipe(
            "panel-vla-hand",
            "Two residual networks, one for the camera in the hand and one for the top view.",
            "residual", "mixed", True, "pooled", SMALL_WHOLE, (_WRIST, _TOP), None, _NONE,
            epochs=10, ranked_epochs=4, seed=14,
        ),
        Recipe(
            "panel-vla-hybrid",
            "Convolutional stems and transformer layers for the camera in the hand and the side view.",
            "hybrid", "coarse", True, "gated", SMALL_CLOSE, (_WRIST, _SIDE), None, _STRONG, seed=15,
        ),
        Recipe(
            "panel-vlm-fine",
            "A residual network on larger images; names the object's place and its neighbour; top view.",
            "residual", "fine", True, "gated", LARGE_WHOLE, (_TOP,), Style.PLACE, _LIGHT,
            epochs=10, ranked_epochs=4, tasks=4, seed=21,
        ),
        Recipe(
            "panel-vlm-plain",
            "A residual network taught without augmentation; says on which side of its neighbour it is.",
            "residual", "fine", False, "pooled", SMALL_WHOLE, (_TOP,), Style.RELATION, _NONE,
            epochs=10, ranked_epochs=4, tasks=4, seed=22,
        ),
        Recipe(
            "panel-vlm-mixer",
            "A convolutional mixer that sees shape rather than texture; counts the objects; top view.",
            "mixer", "coarse", True, "gated", SMALL_CLOSE, (_TOP,), Style.COUNT, _STRONG,
            epochs=10, ranked_epochs=4, tasks=4, seed=23,
        ),
        Recipe(
            "panel-vlm-side",
            "A mixer on the part of the image where objects are; counts the objects; from the side.",
            "mixer", "mixed", True, "gated", SMALL_CLOSE, (_SIDE,), Style.COUNT, _LIGHT,
            epochs=10, ranked_epochs=4, tasks=4, seed=24,
        ),
        Recipe(
            "panel-vlm-hand",
            "A convolutional stem and transformer layers; the camera in the hand, which does not see all.",
            "hybrid", "fine", True, "pooled", SMALL_WHOLE, (_WRIST,), Style.PLACE, _LIGHT,
            epochs=10, ranked_epochs=4, tasks=4, seed=25,
        ),
    )
}  # fmt: skip
"""All members by name."""
REACTIVE: Final[dict[str, ReactiveRecipe]] = {
    recipe.name: recipe
    for recipe in (
        ReactiveRecipe(
            "panel-vla-reactive-top",
            "Looks every 0.4 s and takes the next steps; always acts; top view.",
            "residual", "mixed", True, "gated", LARGE_WHOLE, (_TOP,), None, _NONE,
            scenes=700, epochs=8, ranked_epochs=0, tasks=1, batch=128, rate=1e-3, seed=31,
            start="panel-vla-query",
        ),
        ReactiveRecipe(
            "panel-vla-reactive-side",
            "Looks every 0.4 s and takes the next steps; always acts; from the side.",
            "mixer", "fine", True, "gated", SMALL_CLOSE, (_SIDE,), None, _NONE,
            scenes=700, epochs=8, ranked_epochs=0, tasks=1, batch=128, rate=1e-3, seed=32,
            start="panel-vla-side",
        ),
    )
}  # fmt: skip
"""Policies that look while they act, by name: trained on their own samples, and only where they are named."""
VLA_NAMES: Final = tuple(name for name, recipe in RECIPES.items() if recipe.is_vla)
VLM_NAMES: Final = tuple(name for name, recipe in RECIPES.items() if not recipe.is_vla)


def recipe_of(name: str) -> Recipe:
    """Return the recipe of a member.

    Raises:
        UsageError: No member has this name.
    """
    known = RECIPES | REACTIVE
    if name not in known:
        raise UsageError("unknown member of the panel", got=name, available=known)
    return known[name]


def adapted(recipe: Recipe, scenes: int | None, epochs: int | None) -> Recipe:
    """Return the recipe with another number of scenes or of epochs with plain tasks, where given.

    The number of epochs with ranked tasks changes in proportion.

    Raises:
        UsageError: A number is not positive.
    """
    if min(scenes or 1, epochs or 1) < 1 or 0 in {scenes, epochs}:
        raise UsageError("wrong amount of training", expected="scenes and epochs from 1")
    plain = epochs or recipe.epochs
    ranked = round(recipe.ranked_epochs * plain / recipe.epochs)
    ranked = max(1, ranked) if recipe.ranked_epochs else 0
    return dataclasses.replace(recipe, scenes=scenes or recipe.scenes, epochs=plain, ranked_epochs=ranked)


def quick(recipe: Recipe) -> Recipe:
    """Return the recipe with fewer scenes and epochs; its scores are worse."""
    if isinstance(recipe, ReactiveRecipe):
        return dataclasses.replace(recipe, scenes=120, epochs=4)
    return dataclasses.replace(recipe, scenes=2_500, epochs=8, ranked_epochs=2)


def members_in(folder: Path = MODELS) -> tuple[str, ...]:
    """Return the members whose network and card are in a folder, in the order of the panel.

    Raises:
        InputError: The folder has none.
    """
    names = tuple(name for name in RECIPES if all((folder / f"{name}{end}").is_file() for end in _SUFFIXES))
    if not names:
        raise InputError(f"no members of the panel in {folder}", expected="NAME.onnx with NAME.json")
    return names


def task_camera(views: Sequence[View]) -> View:
    """Return the camera that "left" and "right" refer to: one that shows the whole table, if any."""
    return next((view for view in views if view in _WHOLE_TABLE), views[0])


@dataclass(frozen=True, slots=True)
class PanelPlan:
    """Members and amount of training.

    Attributes:
        members: Names.
        out: Folder of samples, checkpoints, curves and models.
        seed: Of scenes and weights.
        quick: Fewer scenes and epochs, within 15 minutes; scores are worse.
        workers: Number of processes.
        scenes: Training scenes of each member; as in its recipe unless given.
        epochs: Epochs with plain tasks; those with harder tasks change in proportion.
    """

    members: tuple[str, ...]
    out: Path
    seed: int = ranged(1, 0, math.inf)
    quick: bool = False
    workers: int = ranged(2, 1, math.inf)
    scenes: int | None = ranged(None, 1, math.inf)
    epochs: int | None = ranged(None, 1, math.inf)

    @property
    def command(self) -> str:
        """Command line of this training."""
        words = ["embodied-iqa train panel"]
        if any(name in REACTIVE for name in self.members):  # trained only where they are named
            words += [f"--members {','.join(self.members)}"]
        words += ["--quick"] if self.quick else []
        words += [f"--scenes {self.scenes}"] if self.scenes else []
        words += [f"--epochs {self.epochs}"] if self.epochs else []
        return " ".join([*words, f"--seed {self.seed} --out DIR"])

    @property
    def models(self) -> Path:
        """Folder of networks and cards."""
        return self.out / "models"

    @property
    def work(self) -> Path:
        """Folder of checkpoints and curves."""
        return self.out / "work"

    @property
    def held_out_scenes(self) -> int:
        """Number of held-out scenes."""
        return PART_SCENES if self.quick else 2 * PART_SCENES

    @property
    def held_out_seed(self) -> int:
        """Seed of the held-out scenes."""
        return self.seed + _HELD_OUT_OFFSET


@dataclass(frozen=True, slots=True)
class EvaluationPlan:
    """Members, scenes and distortions of an evaluation.

    Attributes:
        models: Folder of networks and cards.
        vlas: Names of members.
        vlms: Names of members.
        scenes: Number of unseen scenes with undistorted images; the verbs alternate.
        grid_scenes: How many of them are also distorted.
        distortions: Numbers, ``"01"`` to ``"30"``.
        seed: Of the scenes; differs from those of the training.
        workers: Number of processes.
    """

    models: Path
    vlas: tuple[str, ...]
    vlms: tuple[str, ...]
    scenes: int = ranged(100, 1, math.inf)
    grid_scenes: int = 0
    distortions: tuple[str, ...] = ()
    seed: int = ranged(4_000_037, 0, math.inf)
    workers: int = ranged(2, 1, math.inf)
