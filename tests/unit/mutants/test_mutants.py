"""The mutation tester: the changes that it makes, and the list of those that a person judged."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from hypothesis import Phase, settings

from mutants.judged import Judged, key_of, read_judged
from mutants.operators import mutants_of
from mutants.plugin import Recorder

ROOT = Path(__file__).resolve().parents[3]
SOURCE = '''
"""Docstrings, annotations and messages stay: 1 + 1."""
import logging
LIMIT: int = 3
def f(a, b=0.5):
    if a < b and not a:
        raise ValueError(f"{a + 1} is wrong")
    logging.info("a", a + 2)
    a.x = replace(a, y=1, z=2)
    return -a if a is None else [v for v in b if v]
'''


def _changes() -> set[str]:
    return {mutant.change for mutant in mutants_of("f.py", SOURCE)}


def test_each_kind_of_change_is_made_once() -> None:
    assert _changes() == {
        "3 -> 4",
        "0.5 -> 1.0",
        "a < b and not a -> ((a < b))",
        "a < b and not a -> ((not a))",
        "a < b and not a -> not (a < b and not a)",
        "a < b -> a <= b",
        "not a -> (a)",
        'raise ValueError(f"{a + 1} is wrong") -> pass',
        "a.x = replace(a, y=1, z=2) -> pass",
        "replace(a, y=1, z=2) -> replace(a, z=2)",
        "replace(a, y=1, z=2) -> replace(a, y=1, )",
        "1 -> 2",
        "2 -> 3",
        "-a -> (a)",
        "a is None -> a is not None",
        "v -> True",
    }


def test_every_mutant_is_another_program() -> None:
    whole = ast.dump(ast.parse(SOURCE))
    for mutant in mutants_of("f.py", SOURCE):
        assert ast.dump(ast.parse(mutant.applied_to(SOURCE.encode()))) != whole, mutant.change


def test_hypothesis_has_the_settings_of_the_suite_but_shrinks_no_failure() -> None:
    """With a deadline, tests that take long under coverage would fail without a mutant."""
    Recorder().pytest_sessionstart()
    ours = settings.default
    settings.load_profile("any machine")
    assert ours is not None
    assert (ours.deadline, ours.derandomize, Phase.shrink in ours.phases) == (None, True, False)


def test_what_was_judged_is_still_in_the_source() -> None:
    judged = read_judged(ROOT / "tests/mutants/equivalent.toml")
    found: set[tuple[str, str, str]] = set()
    for file in {file for file, _, _ in judged}:
        path = ROOT / "src/embodied_iqa" / file
        found |= {key_of(mutant) for mutant in mutants_of(f"src/embodied_iqa/{file}", path.read_text())}
    assert judged.keys() <= found
    for entry in judged.values():
        if entry.killed_by:
            file, _, name = entry.killed_by.partition("::")
            assert f"def {name.partition('[')[0]}(" in (ROOT / file).read_text()


@pytest.mark.parametrize(("reason", "killed_by"), [("", ""), ("why", "tests/x.py::test_y")])
def test_a_judgement_gives_either_a_reason_or_a_test(reason: str, killed_by: str) -> None:
    with pytest.raises(ValueError, match="expected either a reason or a test"):
        Judged("f.py", "line", "a -> b", reason, killed_by)
