"""Options of all commands: JSON everywhere, and one name for one thing."""

from __future__ import annotations

import argparse
import importlib
from collections.abc import Iterator
from functools import cache

import pytest

from embodied_iqa.cli.main import COMMANDS
from embodied_iqa.cli.parser import FORMER, Parser, with_present_names

WITHOUT_JSON = {
    "studio": "serves pages until it is ended",
    "emulator": "runs until it is ended",
    "gate run": "a node: its output is the graph's",
    "completion": "prints a script",
}
RETIRED = {
    "--output": "--out",
    "--run-dir": "--out",
    "--pictures": "--images",
    "--type": "--distortion",
    "--gate-file": "--calibration",
    "--keep-pictures": "--keep-images",
}
"""Names of options that others already have a name for."""


@cache
def options() -> dict[str, frozenset[str]]:
    """Return the options of every command and action."""
    found = {}
    for name, (module, _) in COMMANDS.items():
        parser = Parser(prog=name)
        importlib.import_module(module).configure(parser)
        found |= dict(_leaves(parser, name, frozenset()))
    return found


def _leaves(
    parser: argparse.ArgumentParser, name: str, above: frozenset[str]
) -> Iterator[tuple[str, frozenset[str]]]:
    if isinstance(parser, Parser):
        parser.complete()
    own = above.union(*(action.option_strings for action in parser._actions))
    groups = [action for action in parser._actions if isinstance(action, argparse._SubParsersAction)]
    for group in groups:
        for action, chosen in group.choices.items():
            yield from _leaves(chosen, f"{name} {action}", own)
    if not groups or not all(group.required for group in groups):
        yield name, own


def test_every_command_prints_json() -> None:
    without = {name for name, own in options().items() if "--json" not in own}
    assert without == set(WITHOUT_JSON)


@pytest.mark.parametrize("old", RETIRED)
def test_one_thing_has_one_name(old: str) -> None:
    assert not [name for name, own in options().items() if old in own], f"it is called {RETIRED[old]}"


def test_former_names_lead_to_options_that_exist(capsys: pytest.CaptureFixture[str]) -> None:
    for place, names in FORMER.items():
        own = options()[" ".join(place)]
        assert not own & set(names), place
        assert set(names.values()) <= own, place
    words = with_present_names(["distort", "in.png", "--type", "12:3", "--type=13:1", "--", "--type"])
    assert words == ["distort", "in.png", "--distortion", "12:3", "--distortion=13:1", "--", "--type"]
    said = capsys.readouterr().err
    assert said == "embodied-iqa: --type is called --distortion; 0.2 no longer knows it\n"
