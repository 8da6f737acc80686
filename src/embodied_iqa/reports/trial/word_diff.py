"""Two answers side by side: which words differ."""

from __future__ import annotations

import re
from dataclasses import dataclass
from difflib import SequenceMatcher

__all__ = ["MarkedWords", "compare_words"]

_SPACES = re.compile(r"\s+")
_EDGES = re.compile(r"^\W+|\W+$")


@dataclass(frozen=True, slots=True)
class MarkedWords:
    """A few words in a row that are all the same in the other answer, or all different.

    Attributes:
        text: The words as they were written.
        differs: The other answer has other words here, or none.
    """

    text: str
    differs: bool


def compare_words(reference: str, other: str) -> tuple[tuple[MarkedWords, ...], tuple[MarkedWords, ...]]:
    """Mark the differing words of both answers.

    Case and punctuation at a word's edges do not count, as they do not in the scores.
    """
    ours, theirs = _words(reference), _words(other)
    matcher = SequenceMatcher(None, [_key(word) for word in ours], [_key(word) for word in theirs], False)
    left: list[MarkedWords] = []
    right: list[MarkedWords] = []
    for tag, a0, a1, b0, b1 in matcher.get_opcodes():
        differs = tag != "equal"
        if a1 > a0:
            left.append(MarkedWords(" ".join(ours[a0:a1]), differs))
        if b1 > b0:
            right.append(MarkedWords(" ".join(theirs[b0:b1]), differs))
    return tuple(left), tuple(right)


def _words(text: str) -> list[str]:
    return _SPACES.split(text.strip()) if text.strip() else []


def _key(word: str) -> str:
    """Return what is compared; a word of punctuation only stands for itself."""
    return _EDGES.sub("", word.casefold()) or word
