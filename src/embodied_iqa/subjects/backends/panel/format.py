"""What goes into a member of the panel and what comes out: sizes, words, pictures and plans as arrays."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

import cv2
import numpy as np
from numpy.typing import NDArray

__all__ = [
    "ABSENT",
    "BEGIN",
    "END",
    "MAX_ANSWER_WORDS",
    "MAX_TASK_WORDS",
    "PAD",
    "PICTURE_PX",
    "PLAN_CENTRE",
    "PLAN_SCALE",
    "UNKNOWN",
    "Vocabulary",
    "answer_words",
    "shrink",
    "task_words",
]

PICTURE_PX: Final = (240, 180)
"""Width and height that every member sees; a 640 x 480 picture is 2.7 times as wide."""
MAX_TASK_WORDS: Final = 24
MAX_ANSWER_WORDS: Final = 22
PAD, UNKNOWN, BEGIN, END = 0, 1, 2, 3
_SPECIAL: Final = ("<pad>", "<unk>", "<begin>", "<end>")
_CLOSING: Final = frozenset(".,;")
ABSENT: Final = -1.0
"""A coordinate of something that the picture does not show."""
PLAN_CENTRE: Final = (-0.5, 0.0, 0.12, 0.0, 0.0, 0.5)
PLAN_SCALE: Final = (0.1, 0.1, 0.1, 0.5, 0.5, 0.5)
"""The columns of `WAYPOINT_FIELDS` minus the centre, over the scale, are of the order of one."""


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """Words and their numbers; the first four stand for padding, the unknown, begin and end.

    Attributes:
        words: All words, the special ones first.
    """

    words: tuple[str, ...]
    _numbers: dict[str, int] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_numbers", {word: number for number, word in enumerate(self.words)})

    @classmethod
    def of(cls, texts: Iterable[Sequence[str]]) -> Vocabulary:
        """Collect the words of texts, in alphabetical order."""
        return cls((*_SPECIAL, *sorted({word for text in texts for word in text})))

    def encode(self, words: Sequence[str], length: int, *, framed: bool = False) -> NDArray[np.int64]:
        """Return ``(length,)`` word numbers, padded or cut.

        Args:
            words: What to encode.
            length: How many numbers.
            framed: Begin with BEGIN and end with END.
        """
        numbers = [self._numbers.get(word, UNKNOWN) for word in words]
        if framed:
            numbers = [BEGIN, *numbers[: length - 2], END]
        row = np.full(length, PAD, np.int64)
        row[: len(numbers)] = numbers[:length]
        return row

    def decode(self, numbers: Iterable[int]) -> str:
        """Join words up to END into a sentence; punctuation clings to the word before it."""
        text = ""
        for number in numbers:
            if number == END:
                break
            word = self.words[number] if number > END else ""
            if word:
                text += word if word in _CLOSING or not text else f" {word}"
        return text


def task_words(text: str) -> list[str]:
    """Cut a task into lower-case words."""
    return re.findall(r"[a-z0-9]+", text.lower())


def answer_words(text: str) -> list[str]:
    """Cut an answer into words and punctuation marks."""
    return re.findall(r"[^\s.,;]+|[.,;]", text)


def shrink(rgb: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Bring a picture of any size to ``(180, 240, 3)`` by averaging areas; smaller ones are enlarged."""
    width, height = PICTURE_PX
    if rgb.shape[:2] == (height, width):
        return rgb
    method = cv2.INTER_AREA if rgb.shape[0] >= height else cv2.INTER_LINEAR
    small: NDArray[np.uint8] = cv2.resize(rgb, PICTURE_PX, interpolation=method)
    return small
