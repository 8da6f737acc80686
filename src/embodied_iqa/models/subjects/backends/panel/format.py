"""Input and output format of panel members: vocabularies, image size, plan scaling."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

import cv2
import numpy as np
from numpy.typing import NDArray

from embodied_iqa.imaging.images.frame import View

SMALL_PX: Final = (240, 180)
LARGE_PX: Final = (320, 240)
"""Width and height of a member's input."""


class Framing(StrEnum):
    """Part of a camera's image that a member sees."""

    WHOLE = "whole"
    CLOSE = "close"
    """Where the objects are."""


_WHOLE: Final = (0.0, 0.0, 1.0, 1.0)
_CLOSE: Final = {View.TOP: (0.1, 0.12, 0.9, 0.92), View.SIDE: (0.17, 0.46, 0.67, 0.96)}
"""Left, top, right and bottom edge, as parts of the image; the wrist camera is close already."""
MAX_TASK_WORDS: Final = 32
MAX_ANSWER_WORDS: Final = 28
PAD, UNKNOWN, BEGIN, END = 0, 1, 2, 3
_SPECIAL: Final = ("<pad>", "<unk>", "<begin>", "<end>")
_CLOSING: Final = frozenset(".,;")
FEATURES: Final = "features_"
"""Prefix of the outputs of a network that hold what it sees in each view, before any task is read."""
PICTURE: Final = "picture_"
"""Prefix of the inputs of a network that are images."""
TOOL: Final = "tool"
"""Input of a network that looks while it acts: the tool and its gripper."""
ABSENT: Final = -1.0
"""Coordinate of an object that the image does not show."""
PLAN_CENTRE: Final = (-0.5, 0.0, 0.12, 0.0, 0.0, 0.5)
PLAN_SCALE: Final = (0.1, 0.1, 0.1, 0.5, 0.5, 0.5)
"""Normalisation of the columns of `WAYPOINT_FIELDS`: subtract the centre, divide by the scale."""


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """Words and their numbers; the first four are padding, unknown, begin and end.

    Attributes:
        words: All words, the special ones first.
    """

    words: tuple[str, ...]
    _numbers: dict[str, int] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_numbers", {word: number for number, word in enumerate(self.words)})

    @classmethod
    def of(cls, texts: Iterable[Sequence[str]]) -> Vocabulary:
        """Return the vocabulary of texts, in alphabetical order."""
        return cls((*_SPECIAL, *sorted({word for text in texts for word in text})))

    def encode(self, words: Sequence[str], length: int, *, framed: bool = False) -> NDArray[np.int64]:
        """Return ``(length,)`` word numbers, padded or cut.

        Args:
            words: The words.
            length: Length of the result.
            framed: Start with BEGIN and end with END.
        """
        numbers = [self._numbers.get(word, UNKNOWN) for word in words]
        if framed:
            numbers = [BEGIN, *numbers[: length - 2], END]
        row = np.full(length, PAD, np.int64)
        row[: len(numbers)] = numbers[:length]
        return row

    def decode(self, numbers: Iterable[int]) -> str:
        """Join words up to END into a sentence; punctuation follows its word without a space."""
        text = ""
        for number in numbers:
            if number == END:
                break
            word = self.words[number] if number > END else ""
            if word:
                text += word if word in _CLOSING or not text else f" {word}"
        return text


def task_words(text: str) -> list[str]:
    """Split a task into lower-case words."""
    return re.findall(r"[a-z0-9]+", text.lower())


def answer_words(text: str) -> list[str]:
    """Split an answer into words and punctuation marks."""
    return re.findall(r"[^\s.,;]+|[.,;]", text)


def region_of(view: View, framing: Framing) -> tuple[float, float, float, float]:
    """Return the left, top, right and bottom edge of what a member sees, as parts of the image."""
    return _CLOSE.get(view, _WHOLE) if framing is Framing.CLOSE else _WHOLE


def framed(
    rgb: NDArray[np.uint8], view: View, framing: Framing, size_px: tuple[int, int]
) -> NDArray[np.uint8]:
    """Return what a member sees of an image of any size."""
    height, width = rgb.shape[:2]
    left, top, right, bottom = region_of(view, framing)
    rows = slice(round(top * height), max(round(bottom * height), 1))
    columns = slice(round(left * width), max(round(right * width), 1))
    return shrink(rgb[rows, columns], size_px)


def shrink(rgb: NDArray[np.uint8], size_px: tuple[int, int]) -> NDArray[np.uint8]:
    """Resize an image to a width and height: by area averaging if larger, else linearly."""
    width, height = size_px
    if rgb.shape[:2] == (height, width):
        return rgb
    method = cv2.INTER_AREA if rgb.shape[0] >= height else cv2.INTER_LINEAR
    small: NDArray[np.uint8] = cv2.resize(rgb, size_px, interpolation=method)
    return small
