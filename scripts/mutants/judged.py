"""Mutants judged by a person: equivalent ones, and those that only a slower test kills."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path

from mutants.operators import Mutant


@dataclass(frozen=True, slots=True)
class Judged:
    """One entry of ``tests/mutants/equivalent.toml``.

    ``file`` is relative to the package, ``line`` the source line without indentation, ``change`` as the table
    prints it. Either ``reason`` says why no test can notice the change, or ``killed_by`` names the test of
    `tests/ros` or `tests/fault` that fails with it.
    """

    file: str
    line: str
    change: str
    reason: str = ""
    killed_by: str = ""

    def __post_init__(self) -> None:
        """Check that the entry says one of the two.

        Raises:
            ValueError: it says both or neither.
        """
        if bool(self.reason) == bool(self.killed_by):
            raise ValueError(f"{self.file}: {self.change}: expected either a reason or a test")


def read_judged(path: Path) -> dict[tuple[str, str, str], Judged]:
    """Read the entries by file, line and change."""
    entries = tomllib.loads(path.read_text()).get("mutant", [])
    judged = [Judged(**entry) for entry in entries]
    return {(entry.file, entry.line, entry.change): entry for entry in judged}


def key_of(mutant: Mutant) -> tuple[str, str, str]:
    """Return what identifies a mutant while the lines around it change."""
    return mutant.file.removeprefix("src/embodied_iqa/"), mutant.text, mutant.change
