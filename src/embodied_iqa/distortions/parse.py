"""From a word such as `19:5` to a specification."""

from __future__ import annotations

from embodied_iqa.distortions.catalogue import entry
from embodied_iqa.distortions.spec import LEVELS, DistortionSpec
from embodied_iqa.errors import UsageError

__all__ = ["parse_distortion"]


def parse_distortion(word: str, *, seed: int = 0, frozen: bool = False) -> DistortionSpec:
    """Understand ``02:3``, ``gaussian-blur:2`` or ``miqd:fog:4``: a distortion, a colon and its level.

    Raises:
        UsageError: The word has another form, or there is no such distortion or level.
    """
    name, colon, level_word = word.strip().rpartition(":")
    if not colon or not level_word.isdecimal():
        raise UsageError(
            "a distortion is a number or name, a colon and a level", expected="such as 02:3", got=word
        )
    line = entry(name)
    if int(level_word) not in LEVELS:
        raise UsageError(f"unknown level of {line.name}", got=int(level_word), available=LEVELS)
    return DistortionSpec(id=line.id, level=int(level_word), seed=seed, frozen=frozen)
