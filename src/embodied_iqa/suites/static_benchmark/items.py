"""Multiple-choice items of the static benchmark."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from string import ascii_uppercase
from typing import Final

LETTERS: Final = ascii_uppercase
"""Letters of options, in their order."""


class Dimension(StrEnum):
    """What an item asks for."""

    MACRO = "macro planning"
    """The order of sub-tasks for an instruction."""
    MICRO = "micro perception"
    """Spatial arrangement, kind, colour, number or affordance of objects."""
    STAGE = "stage-wise reasoning"
    """Which step of an episode is under way, or is next."""


class Person(StrEnum):
    """Camera of an item."""

    FIRST = "first person"
    """The camera at the end effector."""
    THIRD = "third person"
    """A camera beside or above the robot."""


@dataclass(frozen=True, slots=True)
class Item:
    """A question with options about one image.

    Attributes:
        index: Number of the row, unique in a benchmark.
        image: Index of the row that stores the image: its own, or that of the unrotated item.
        question: The question.
        options: Two or more texts; the first is option A.
        answer: Letter of the right option.
        hint: Text before the question; may be empty.
        dimension: What it asks for; None if unknown.
        person: Its camera; None if unknown.
        source: Where it comes from (column `split`); may be empty.
        original: Index of the unrotated item; its own index for an unrotated one, None in a plain file.
        labels: Texts of `category` and `l2-category` that name neither a dimension nor a camera.
    """

    index: int
    image: int
    question: str
    options: tuple[str, ...]
    answer: str
    hint: str = ""
    dimension: Dimension | None = None
    person: Person | None = None
    source: str = ""
    original: int | None = None
    labels: tuple[str, ...] = ()

    @property
    def group(self) -> int:
        """Index of the unrotated item."""
        return self.index if self.original is None else self.original

    @property
    def letters(self) -> str:
        """Letters of its options."""
        return LETTERS[: len(self.options)]
