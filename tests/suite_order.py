"""In which order and in which groups the workers of `make test` take test files: longest first.

`pytest --record-durations` writes what a whole run measured into tests/lists/durations.txt.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path

import pytest

LISTS = Path(__file__).resolve().parent / "lists"
DURATIONS = LISTS / "durations.txt"

WORLDS = (
    "tests/fault/test_fault_endurance.py",
    "tests/fault/test_fault_hold.py",
    "tests/fault/test_fault_interrupts.py",
    "tests/fault/test_fault_killed.py",
    "tests/ros/test_ros_end_run.py",
    "tests/ros/test_ros_experiment.py",
    "tests/ros/test_ros_real_arm.py",
    "tests/ros/test_ros_sim_chain.py",
    "tests/ros/test_ros_trial.py",
    "tests/ros/test_runtime_parity_trial.py",
)
"""Files whose graph keeps a world moving: one of them uses both processors, so no two run side by side."""
READING = ("tests/style/",)
"""Tests that share the parsed sources, so that one worker takes them."""
ALONE = ("tests/style/test_style_tools.py",)
"""Long files of these folders that share nothing."""
EACH = ("tests/golden/test_golden_images.py",)
"""Files whose tests take a minute or more and share nothing, so that every worker may take one."""

WALL_CLOCK = "wall_clock"
"""The marker and the group of tests that run alone, when everything else is done."""

_RECORDED_S = 2.0
"""Shorter files are not listed: their order decides nothing."""


def group_of(nodeid: str) -> str:
    """The group of a test: what one worker takes as a whole, because it shares fixtures or the machine."""
    if nodeid.partition("[")[0] in real_time_tests():
        return WALL_CLOCK
    if nodeid.startswith(READING) and not nodeid.startswith(ALONE):
        return "reading"
    if nodeid.startswith(EACH):
        return nodeid
    return "worlds" if nodeid.startswith(WORLDS) else nodeid.partition("::")[0]


@cache
def real_time_tests(folder: Path = LISTS.parent) -> frozenset[str]:
    """Ids, without parameters, of the test functions that are marked `wall_clock`.

    They are read from the sources: the process that hands out the tests knows no markers.
    """
    found = set()
    for file in folder.rglob("test_*.py"):
        text = file.read_text(encoding="utf-8")
        if f"@pytest.mark.{WALL_CLOCK}" in text:
            path = file.relative_to(folder.parent).as_posix()
            functions = (node for node in ast.parse(text).body if isinstance(node, ast.FunctionDef))
            found |= {f"{path}::{node.name}" for node in functions if is_marked(node)}
    return frozenset(found)


def is_marked(function: ast.AST) -> bool:
    """Whether a function is a test that is marked to decide by real time."""
    return isinstance(function, ast.FunctionDef) and any(
        isinstance(mark, ast.Attribute) and ast.unparse(mark) == f"pytest.mark.{WALL_CLOCK}"
        for mark in function.decorator_list
    )


def read_durations(file: Path = DURATIONS) -> dict[str, float]:
    """Seconds of the files that are listed; lines are `seconds path`."""
    lines = file.read_text(encoding="utf-8").splitlines()
    pairs = (line.split() for line in lines if line.strip() and not line.startswith("#"))
    return {path: float(seconds) for seconds, path in pairs}


def group_durations(nodeids: Iterable[str], seconds: Mapping[str, float]) -> dict[str, float]:
    """Seconds of each group of these tests: those of its files, in equal shares where a file is split."""
    groups: dict[str, set[tuple[str, str]]] = defaultdict(set)
    shares: dict[str, set[str]] = defaultdict(set)
    for nodeid in nodeids:
        file, group = nodeid.partition("::")[0], group_of(nodeid)
        groups[group].add((file, group))
        shares[file].add(group)
    return {
        group: sum(seconds.get(file, 0.0) / len(shares[file]) for file, _ in members)
        for group, members in groups.items()
    }


def longest_first(nodeids: list[str], seconds: Mapping[str, float]) -> list[int]:
    """Places of the tests in a new order: worlds first, then groups by their length, each group together.

    The worker that takes the worlds is busy longest and cannot share them. Tests of real time come last.
    """
    lengths = group_durations(nodeids, seconds)
    first = {group: place for place, group in reversed(list(enumerate(map(group_of, nodeids))))}

    def rank(place: int) -> tuple[int, float, int, int]:
        group = group_of(nodeids[place])
        stage = {"worlds": 0, WALL_CLOCK: 2}.get(group, 1)
        return stage, -lengths[group], first[group], place

    return sorted(range(len(nodeids)), key=rank)


class Order:
    """The plugin: order for several workers, and the record of durations."""

    def __init__(self) -> None:
        self._seconds: dict[str, float] = defaultdict(float)

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        """Sort for several workers."""
        if config.getoption("workers") > 1:
            places = longest_first([item.nodeid for item in items], read_durations())
            items[:] = [items[place] for place in places]

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Add up set-up, call and tear-down of each file."""
        self._seconds[report.nodeid.partition("::")[0]] += report.duration

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Write the durations where asked to; files that did not run keep theirs."""
        if session.config.getoption("record_durations"):
            write_durations(read_durations() | self._seconds)


def write_durations(seconds: Mapping[str, float], file: Path = DURATIONS) -> None:
    """Write the files of 2 s and more, longest first; files that are gone are left out."""
    root = LISTS.parents[1]
    kept = sorted(
        (-value, path) for path, value in seconds.items() if value >= _RECORDED_S and (root / path).is_file()
    )
    head = "# Seconds of test files, longest first: pytest --record-durations writes this list.\n"
    file.write_text(head + "".join(f"{-value:.0f} {path}\n" for value, path in kept), encoding="utf-8")
