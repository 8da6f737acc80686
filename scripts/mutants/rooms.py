"""Rooms of the package that are tested with mutants, and the tests that have to notice them."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from mutants.operators import Mutant, mutants_of

_GOLDEN: Final = "tests/golden/test_golden_{}.py::test_values_are_those_of_the_file[{}]"
ROOMS: Final[dict[str, tuple[str, ...]]] = {
    "gate": ("tests/unit/quality/gate", _GOLDEN.format("worked", "gate")),
    "robot": ("tests/unit/arm/robot",),
    "kinematics": ("tests/unit/base/kinematics", _GOLDEN.format("worked", "kinematics")),
    "scoring": ("tests/unit/models/scoring", _GOLDEN.format("worked", "scoring")),
    "metrics": ("tests/unit/quality/metrics", _GOLDEN.format("images", "metrics")),
    "recording": ("tests/unit/data/recording",),
    "database": ("tests/unit/data/database",),
    "distortions": ("tests/unit/imaging/distortions", _GOLDEN.format("images", "distortions")),
    "trial": ("tests/unit/runs/trial", "tests/unit/runs/offline"),
}
"""Folders of tests, and single tests, of each room."""

INTERPRETED: Final = ("kinematics",)
"""Rooms of compiled kernels: they leave no trace for coverage, and numba's cache misses a changed callee."""

SAFETY: Final = (
    "leases",
    "lease_watch",
    "lease_filter",
    "verdict",
    "acceptance",
    "controller",
    "limits",
    "path",
)
"""Files of `robot` that are counted on their own."""

PACKAGE: Final = "src/embodied_iqa/"
BESIDE: Final = {"robot": ("arm/verdict.py",)}
"""Modules beside a room that its tests are about."""


def tests_of(tree: Path, room: str) -> list[str]:
    """Return the test files of a room and its single tests."""
    found: list[str] = []
    for place in ROOMS[room]:
        files = sorted(str(path.relative_to(tree)) for path in (tree / place).rglob("test_*.py"))
        found += [place] if "::" in place else files
    return found


def mutants_in(tree: Path, room: str, only: list[str]) -> list[Mutant]:
    """Return every mutant of a room, or of its files whose names, without ``.py``, are in ``only``."""
    found: list[Mutant] = []
    beside = (tree / PACKAGE / file for file in BESIDE.get(room, ()))
    for path in sorted([*(tree / PACKAGE).glob(f"*/{room}/**/*.py"), *beside]):
        if not only or path.stem in only:
            found += mutants_of(str(path.relative_to(tree)), path.read_text())
    return found
