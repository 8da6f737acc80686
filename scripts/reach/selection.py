"""The test files that a change can reach, and why."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from reach.graph import Graph, read_graph
from reach.rules import rule_of

__all__ = ["ALWAYS", "Selection", "changed_files", "recorded", "select"]

ALWAYS = "tests/style/"
"""These tests read every source, so that any change reaches them."""
_PACKAGE = "src/embodied_iqa/"


@dataclass(slots=True)
class Selection:
    """Selected test files of all there are, with a line for each reason."""

    every: tuple[str, ...]
    tests: set[str] = field(default_factory=set)
    reasons: list[str] = field(default_factory=list)

    @property
    def whole(self) -> bool:
        """Whether nothing is left out."""
        return len(self.tests) == len(self.every)

    def add(self, path: str, tests: Iterable[str], why: str) -> None:
        """Select tests for a changed file."""
        chosen = set(tests)
        self.tests |= chosen
        self.reasons.append(f"{path}: {len(chosen)} test files: {why}")

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


def select(root: Path, there: Iterable[str], gone: Iterable[str]) -> Selection:
    """Select the test files that changed files can reach.

    Args:
        root: The checkout.
        there: Changed files that exist, as paths below the checkout.
        gone: Changed files that do not: what imported them is not known any more.
    """
    graph = read_graph(root)
    selection = Selection(tuple(graph.tests))
    reach = {test: graph.files_of(test) for test in graph.tests}
    for test, sources in recorded(root).items():
        if test in reach:
            reach[test] |= sources
    selection.add("any change", selection.below([ALWAYS]), "they read every source")
    for path in there:
        _select_for(selection, graph, reach, path)
    for path in gone:
        if not (path.startswith("tests/") and PurePosixPath(path).name.startswith("test_")):
            selection.add(path, selection.every, "it is gone, and what used it is not known")
    return selection


def _select_for(selection: Selection, graph: Graph, reach: dict[str, set[str]], path: str) -> None:
    if graph.knows(path) and not path.endswith("conftest.py"):
        tests = [test for test, files in reach.items() if path in files]
        if not tests:
            selection.add(path, selection.every, "no test is known to import it: everything")
            return
        rule = rule_of(path) if not path.startswith(("src/", "tests/", "scripts/")) else None
        extra = selection.below(rule.tests) if rule else []
        selection.add(path, [*tests, *extra], "they import it" + (f"; {rule.why}" if rule else ""))
        return
    if path.startswith(_PACKAGE):
        room = "/".join(path.split("/")[:3]) + "/"
        tests = [test for test, files in reach.items() if any(file.startswith(room) for file in files)]
        if path.count("/") > 2 and tests:
            selection.add(path, tests, f"data of {room}, which they import")
            return
    rule = rule_of(path)
    if rule is None:
        selection.add(path, selection.every, "no rule says what reads it: everything")
        return
    selection.add(path, selection.below(rule.tests), rule.why)
