"""Options of all commands: JSON everywhere, one name for one thing, one thing behind a name."""

from __future__ import annotations

import argparse
import importlib
import re
from collections.abc import Iterator
from functools import cache

import pytest
from guide_spans import guides, spans
from style_sources import sources

from embodied_iqa.cli.main import COMMANDS
from embodied_iqa.cli.parser import FORMER, Parser, with_present_names

WITHOUT_JSON = {
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


ONE_OR_MORE = {"SUBJECTS": "SUBJECT", "NAMES": "NAME"}
SAME = {
    "--out": "what is written differs",
    "--gate": "a trial has one gate, an experiment compares some",
    "--distortion": "distort also takes one without a level",
    "--view": "the proxy's is found by its key, tasks make knows the cell's",
    "--world": "build takes several suites",
    "--set": "of a subject alone, its parameters need no node",
    "--reference": "one image, or a source of them",
}
"""Options whose values are written in several ways, with the reason."""
REPEATED = {
    "--distortion": "manipulate detect looks at one condition",
    "--size": "the gate is calibrated for several",
    "--task": "a trial runs several tasks, stored images have one",
    "--view": "some work on one camera",
}
"""Options that may be given several times in some commands only, with the reason."""
MEANINGS = {
    "--camera-model": "of the images that are rendered",
    "--distortion": "a distortion, of all images or of a condition",
    "--distortions": "types, each at the levels of --levels",
    "--epochs": "of a training",
    "--metrics": "that are compared",
    "--model": "of the arm",
    "--namespace": "of the ROS nodes",
    "--out": "what is written",
    "--scene-seed": "of the simulated scene",
    "--seed": "of what is random",
    "--set": "a parameter",
    "--target": "the score that is learned",
    "--task": "in words",
    "--vision-task": "of labels of machine vision",
    "--vla": "policies",
    "--vlm": "that answer",
    "--workers": "at once",
}
"""Options whose helps share no word, with the one meaning that they have."""
TWO_MEANINGS = {
    "--all": "everything there is, distortions or subjects",
    "--batch": "how many at once, questions or images of a step",
    "--format": "of what is written, a set or images",
    "--gate": "what a gate does: one mode, conditions of an experiment, or answers to a hold",
    "--yes": "ask nothing",
}
"""Likewise, of options that do related things with different objects."""
FOREIGN = {
    "docker": {"--revision", "--rm", "--shm-size"},
    "pytest": {"--timeout"},
    "ROS 2": {"--compression-mode", "--show-args"},
}
"""Options of other programs that pages name."""
_WORD = re.compile(r"[a-z]{4,}")
_EMPTY = {
    "default",
    "each",
    "from",
    "repeatable",
    "repeated",
    "such",
    "that",
    "their",
    "them",
    "where",
    "with",
}
_OPTION = re.compile(r"(?<![\w-])--[a-z][\w-]*")
_NAMED = re.compile(r"(?:embodied-iqa\s+|(?<!`)`(?!embodied-iqa|`))([a-z]+)(?:\s+([a-z][\w-]*))?")


@cache
def options() -> dict[str, frozenset[str]]:
    """Return the options of every command and action."""
    return {name: frozenset(own) for name, own in values().items()}


@cache
def actions() -> dict[str, dict[str, argparse.Action]]:
    """Return the options of every command and action as argparse has them."""
    found = {}
    for name, (module, _) in COMMANDS.items():
        parser = Parser(prog=name)
        importlib.import_module(module).configure(parser)
        found |= dict(_leaves(parser, name, {}))
    return found


@cache
def values() -> dict[str, dict[str, str]]:
    """Return how the value of each option of every command and action is written."""
    return {name: {option: _value(one) for option, one in own.items()} for name, own in actions().items()}


def _value(action: argparse.Action) -> str:
    """Return the kind of value of an option; one of some words counts as words."""
    if action.nargs == 0:
        return "a switch"
    word = str(action.metavar or ("words" if action.choices else action.dest))
    return ONE_OR_MORE.get(word, word)


def _leaves(
    parser: argparse.ArgumentParser, name: str, above: dict[str, argparse.Action]
) -> Iterator[tuple[str, dict[str, argparse.Action]]]:
    if isinstance(parser, Parser):
        parser.complete()
    own = above | {option: action for action in parser._actions for option in action.option_strings}
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


def test_an_option_means_one_thing_in_every_command() -> None:
    kinds: dict[str, dict[str, list[str]]] = {}
    for command, own in values().items():
        for option, value in own.items():
            kinds.setdefault(option, {}).setdefault(value, []).append(command)
    several = {option: found for option, found in kinds.items() if len(found) > 1}
    assert {option: found for option, found in several.items() if option not in SAME} == {}
    assert set(SAME) == set(several), "a reason that nothing needs"


def test_an_option_is_repeatable_in_every_command_or_in_none() -> None:
    kinds: dict[str, set[bool]] = {}
    for own in actions().values():
        for option, action in own.items():
            kinds.setdefault(option, set()).add(isinstance(action, argparse._AppendAction))
    assert {option for option, found in kinds.items() if len(found) > 1} == set(REPEATED)


def test_helps_of_an_option_say_the_same_or_its_meaning_is_listed() -> None:
    helps: dict[str, set[str]] = {}
    for own in actions().values():
        for option, action in own.items():
            if action.help != argparse.SUPPRESS:
                helps.setdefault(option, set()).add(action.help or "")
    apart = {option for option, texts in helps.items() if len(texts) > 1 and not _shared(texts)}
    assert apart == MEANINGS.keys() | TWO_MEANINGS.keys()


def _shared(texts: set[str]) -> set[str]:
    """Return the words that all texts have, without defaults and words that say nothing."""
    plain = [re.sub(r"\(default[^)]*\)", "", text.lower()) for text in texts]
    return set.intersection(*({word.rstrip("s") for word in _WORD.findall(text)} - _EMPTY for text in plain))


def test_former_names_lead_to_options_that_exist(capsys: pytest.CaptureFixture[str]) -> None:
    for place, names in FORMER.items():
        own = options().get(" ".join(place)) or options()[place[0]]
        assert not own & set(names), place
        assert {name.partition("=")[0] for name in names.values()} <= own, place
    words = with_present_names(["distort", "in.png", "--type", "12:3", "--type=13:1", "--", "--type"])
    assert words == ["distort", "in.png", "--distortion", "12:3", "--distortion=13:1", "--", "--type"]
    said = capsys.readouterr().err
    assert said == "embodied-iqa: --type is called --distortion; 0.2 no longer knows it\n"
    assert with_present_names(["serve", "S", "--vla"]) == ["serve", "S", "--role=vla"]
    words = ["distort", "calibrate", "--steps", "5", "--type", "12"]
    assert with_present_names(words) == ["distort", "calibrate", "--curve-points", "5", "--distortion", "12"]


def commands_on(page: str) -> set[str]:
    """Return the commands and actions that a page names; a reference page speaks of those of its guides."""
    found: set[str] = set()
    for name, action in _NAMED.findall(guides()[page]):
        both = f"{name} {action}"
        actions = {both} if both in options() else {one for one in options() if one.startswith(f"{name} ")}
        found |= actions or {name} & options().keys()
    return set(options()) if "/reference/" in page or not found else found


def test_options_on_pages_are_those_of_commands_that_the_page_names() -> None:
    scripts = "".join(source.text for source in sources("scripts", "benchmarks"))
    foreign = {option for names in FOREIGN.values() for option in names}
    strange = {
        (page, span, option)
        for span, pages in spans().items()
        for option in _OPTION.findall(span)
        if option != "--help" and f'"{option}"' not in scripts
        for page in pages
        if not any(option in options()[command] for command in commands_on(page))
    }
    unknown = {found for found in strange if found[2] not in foreign}
    assert not unknown, "\n".join(f"{page}: {option} in `{span}`" for page, span, option in sorted(unknown))
    assert foreign == {option for _, _, option in strange}, "a reason that nothing needs"
