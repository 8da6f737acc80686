"""Which tests are selected by changed files that are not modules: explicit rules, else everything."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import PurePosixPath

__all__ = ["RULES", "Rule", "rule_of"]


@dataclass(frozen=True, slots=True)
class Rule:
    """Files by a pattern, where * stands for anything, and the tests that read them."""

    files: str
    tests: tuple[str, ...]
    """Beginnings of paths of test files."""
    why: str
    words: tuple[str, ...] = ()
    """Those with one of these words in their texts read them, too."""


RULES: Sequence[Rule] = (
    Rule("docs/*", (), "guides and references are compared with the program", ("docs",)),
    Rule("CHANGELOG.md", (), "style tests read it"),
    Rule("LICENSE", (), "nothing reads it"),
    Rule("*.md", (), "pages are compared with the program", ("README", "docs")),
    Rule(".gitignore", (), "style tests list what git tracks"),
    Rule(".dockerignore", ("tests/unit/docker/",), "images"),
    Rule("docker/*", ("tests/unit/docker/",), "images and what runs in them"),
    Rule(
        "examples/*",
        (
            "tests/unit/test_examples.py",
            "tests/unit/test_gate_examples.py",
            "tests/unit/live/ros/test_lease_follower.py",
            "tests/unit/live/ros/test_lease_follower_cpp.py",
        ),
        "examples are run",
    ),
    Rule("typings/*", (), "only type checkers read stubs"),
    Rule("launch/*", ("tests/ros/", "tests/fault/", "tests/unit/runs/graph/"), "starts the graph"),
    Rule("benchmarks/*", (), "the data of benchmarks is read by no test"),
    Rule("Makefile", ("tests/unit/workspace/",), "targets are documented", ("Makefile", "docs")),
    Rule(".ci/*", ("tests/unit/suite/", "tests/unit/workspace/"), "starts make"),
    Rule("scripts/*.sh", ("tests/unit/workspace/",), "set-up"),
    Rule("tests/lists/*", ("tests/unit/suite/",), "lists of the suite"),
    Rule("tests/mutants/*", ("tests/unit/mutants/",), "what was judged"),
    Rule("tests/golden/*", ("tests/golden/",), "expected values"),
    Rule("tests/fault/*", ("tests/fault/",), "data of these tests"),
    Rule("tests/ros/*", ("tests/ros/",), "data of these tests"),
)
"""The first one that fits counts; beside tests/style, which every change selects."""


def rule_of(path: str) -> Rule | None:
    """The rule for a file that is not a module, or None: it selects everything.

    A conftest.py, and data of a folder below tests/unit, selects the tests of its folder.
    """
    found = next((rule for rule in RULES if fnmatchcase(path, rule.files)), None)
    if found is not None and not path.endswith("conftest.py"):
        return found
    folder = PurePosixPath(path).parent
    if folder.is_relative_to("tests") and len(folder.parts) > 1:
        return Rule(path, (f"{folder}/",), "belongs to the tests of its folder")
    return None
