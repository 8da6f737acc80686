"""A drawn item before its image is taken: the question, and the state that decides the answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, TypeVar

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.base.errors import InternalError
from embodied_iqa.imaging.images.frame import View
from embodied_iqa.suites.static_benchmark.items import LETTERS, Dimension, Item, Person
from embodied_iqa.world.scenes.scene import Scene
from embodied_iqa.world.scenes.scene_graph import Side
from embodied_iqa.world.tasks.instruction import Instruction

_T = TypeVar("_T")
OPTIONS: Final = 4
"""Number of options of every made item."""


SIDE_WORDS: Final = {
    Side.LEFT: "to the left of",
    Side.RIGHT: "to the right of",
    Side.FRONT: "in front of",
    Side.BEHIND: "behind",
}


class NoItemError(Exception):
    """The scene has no such item; another one is drawn."""


@dataclass(frozen=True, slots=True, eq=False)
class Cut:
    """Where an expert episode is cut.

    Attributes:
        instruction: The task of the expert.
        waypoint: Index of the waypoint that the tool moves to.
        part: Part of the way to it, in (0, 1).
        T_base_tool: ``(4, 4)``, the tool's pose there (m).
        gripper: State in [0, 1]: 0 open, 1 closed on something.
    """

    instruction: Instruction
    waypoint: int
    part: float
    T_base_tool: NDArray[np.float64]
    gripper: float


@dataclass(frozen=True, slots=True, eq=False)
class Draft:
    """An item without an image.

    Attributes:
        dimension: What it asks for.
        view: The camera.
        scene: What is on the table.
        question: The question.
        options: The right one first.
        place: Place of the right one among the options when they are shown.
        cut: State of the episode; None for the first frame, the arm at home.
    """

    dimension: Dimension
    view: View
    scene: Scene
    question: str
    options: tuple[str, ...]
    place: int
    cut: Cut | None = None

    def item(self, index: int) -> Item:
        """Return the item with its options in the order in which they are shown."""
        shown = list(self.options[1:])
        shown.insert(self.place, self.options[0])
        person = Person.FIRST if self.view == View.WRIST else Person.THIRD
        return Item(
            index,
            index,
            self.question,
            tuple(shown),
            LETTERS[self.place],
            "",
            self.dimension,
            person,
            str(self.view),
        )


def mixed(rng: np.random.Generator, right: str, wrong: Sequence[str]) -> tuple[str, ...]:
    """Return the right option and `OPTIONS` - 1 of the wrong ones, drawn without repetition.

    Raises:
        NoItemError: There are too few.
        InternalError: The right option is among the wrong ones.
    """
    pool = sorted(set(wrong))
    if right in pool:
        raise InternalError(f"{right!r} is both right and wrong")
    if len(pool) < OPTIONS - 1:
        raise NoItemError
    chosen = rng.permutation(len(pool))[: OPTIONS - 1]
    return (right, *(pool[int(number)] for number in chosen))


def draw_from(rng: np.random.Generator, values: Sequence[_T]) -> _T:
    """Return one of several values, each with the same chance.

    Raises:
        NoItemError: There are none.
    """
    if not values:
        raise NoItemError
    return values[int(rng.integers(len(values)))]
