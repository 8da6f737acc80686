"""Word-by-word comparison of two answers."""

from __future__ import annotations

import re
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Final

_EDGES: Final = re.compile(r"^\W+|\W+$")


@dataclass(frozen=True, slots=True)
class MarkedWords:
    """Consecutive words that are all equal to those of the other answer, or all different.

    Attributes:
        text: The original words.
        differs: Whether the other answer has other words here, or none.
    """

    text: str
    differs: bool


def compare_words(reference: str, other: str) -> tuple[tuple[MarkedWords, ...], tuple[MarkedWords, ...]]:
    """Mark the differing words of both answers.

    Case and punctuation at the edges of words are ignored, as in the scores.
    """
    ours, theirs = reference.split(), other.split()
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


def _key(word: str) -> str:
    """Return the compared part of a word; a word of punctuation only is compared as it is."""
    return _EDGES.sub("", word.casefold()) or word
