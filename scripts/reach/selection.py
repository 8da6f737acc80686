"""The test files that a change can reach, and why."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from reach.graph import Graph, read_graph
from reach.rules import Rule, rule_of

__all__ = ["ALWAYS", "Selection", "changed_files", "durations", "recorded", "select"]

ALWAYS = "tests/style/"
"""These tests read every source, so that any change reaches them."""
_PACKAGE = "src/embodied_iqa/"
_DURATIONS = "tests/lists/durations.txt"
_SHORT_S = 0.5
"""Of a test file that the list of durations leaves out."""
_NEAR = 1


@dataclass(slots=True)
class Selection:
    """Selected test files of all there are, with a line for each reason.

    Attributes:
        every: All test files.
        distances: The selected ones, with the number of imports between them and what has changed; 0 where
            that is not known.
        reasons: Why, a line for each changed file.
    """

    every: tuple[str, ...]
    distances: dict[str, int] = field(default_factory=dict)
    reasons: list[str] = field(default_factory=list)

    @property
    def tests(self) -> set[str]:
        """The selected test files."""
        return set(self.distances)

    @property
    def whole(self) -> bool:
        """Whether nothing is left out."""
        return len(self.distances) == len(self.every)

    def add(self, path: str, tests: Iterable[str] | Mapping[str, int], why: str) -> None:
        """Select tests for a changed file, with their distances from it."""
        chosen = dict(tests) if isinstance(tests, Mapping) else dict.fromkeys(tests, 0)
        for test, distance in chosen.items():
            self.distances[test] = min(distance, self.distances.get(test, distance))
        self.reasons.append(f"{path}: {len(chosen)} test files: {why}")

    def nearest(self, durations_s: Mapping[str, float], most_s: float) -> set[str]:
        """The selected tests that take no longer than that, nearest first, and all that import the change.

        Args:
            durations_s: Seconds of long test files.
            most_s: Seconds of all of them together.
        """
        chosen: set[str] = set()
        for test in sorted(self.distances, key=lambda test: (self.distances[test], durations_s.get(test, 0))):
            most_s -= durations_s.get(test, _SHORT_S)
            if most_s >= 0 or self.distances[test] <= _NEAR:
                chosen.add(test)
        return chosen

    def below(self, beginnings: Iterable[str]) -> list[str]:
        """The test files whose paths begin with one of these."""
        return [test for test in self.every if test.startswith(tuple(beginnings))]


def changed_files(root: Path, base: str) -> tuple[list[str], list[str]]:
    """The files that differ from a commit, in commits or uncommitted, and the untracked ones.

    Returns:
        Those that exist, and those that are gone; paths below the checkout.
    """
    differing = _git(root, "diff", "--name-only", "--no-renames", "-z", base, "--")
    untracked = _git(root, "ls-files", "--others", "--exclude-standard", "-z")
    names = sorted({name for name in (differing + untracked).split("\0") if name})
    there = [name for name in names if (root / name).is_file()]
    return there, [name for name in names if name not in there]


def _git(root: Path, *words: str) -> str:
    return subprocess.run(["git", *words], cwd=root, capture_output=True, text=True, check=True).stdout


def recorded(root: Path) -> dict[str, set[str]]:
    """The sources that each test file ran, as `make mutants` has recorded them; empty without a recording."""
    found: dict[str, set[str]] = {}
    for file in sorted((root / ".build" / "mutants").glob("*-baseline.json")):
        for name, record in json.loads(file.read_text(encoding="utf-8")).items():
            found.setdefault(name.partition("::")[0], set()).update(record["lines"])
    return found


def durations(root: Path) -> dict[str, float]:
    """Seconds of long test files, as `pytest --record-durations` has written them; empty without the list."""
    file = root / _DURATIONS
    lines = file.read_text(encoding="utf-8").splitlines() if file.is_file() else []
    rows = (line.split() for line in lines if line and not line.startswith("#"))
    return {name: float(seconds) for seconds, name in rows}


def select(root: Path, there: Iterable[str], gone: Iterable[str]) -> Selection:
    """Select the test files that changed files can reach.

    Args:
        root: The checkout.
        there: Changed files that exist, as paths below the checkout.
        gone: Changed files that do not: what imported them is not known any more.
    """
    graph = read_graph(root)
    selection = Selection(tuple(graph.tests))
    reach = {test: graph.distances_of(test) for test in graph.tests}
    for test, sources in recorded(root).items():
        if test in reach:
            reach[test] |= dict.fromkeys(sources - {test}, 1)
    selection.add("any change", selection.below([ALWAYS]), "they read every source")
    for path in there:
        _select_for(selection, graph, reach, path)
    for path in gone:
        if not (path.startswith("tests/") and PurePosixPath(path).name.startswith("test_")):
            selection.add(path, selection.every, "it is gone, and what used it is not known")
    return selection


def _select_for(selection: Selection, graph: Graph, reach: dict[str, dict[str, int]], path: str) -> None:
    if graph.knows(path) and not path.endswith("conftest.py"):
        tests = {test: files[path] for test, files in reach.items() if path in files}
        if not tests:
            selection.add(path, selection.every, "no test is known to import it: everything")
            return
        rule = rule_of(path) if not path.startswith(("src/", "tests/", "scripts/")) else None
        tests |= dict.fromkeys(_tests_of(rule, selection, graph) if rule else [], 0)
        selection.add(path, tests, "they import it" + (f"; {rule.why}" if rule else ""))
        return
    if path.startswith(_PACKAGE):
        folder = _folder_of(path, reach)
        tests = {
            test: min(distance for file, distance in files.items() if file.startswith(folder))
            for test, files in reach.items()
            if any(file.startswith(folder) for file in files)
        }
        if folder != _PACKAGE and tests:
            selection.add(path, tests, f"data of {folder}, which they import")
            return
    rule = rule_of(path)
    if rule is None:
        selection.add(path, selection.every, "no rule says what reads it: everything")
        return
    selection.add(path, _tests_of(rule, selection, graph), rule.why)


def _tests_of(rule: Rule, selection: Selection, graph: Graph) -> set[str]:
    return {*selection.below(rule.tests), *graph.tests_with(rule.words)}


def _folder_of(path: str, reach: Mapping[str, Mapping[str, int]]) -> str:
    """The next folder above a file of data that has modules which a test may import."""
    modules = {str(PurePosixPath(file).parent) for files in reach.values() for file in files}
    above = next((str(folder) for folder in PurePosixPath(path).parents if str(folder) in modules), "")
    return f"{above}/"
