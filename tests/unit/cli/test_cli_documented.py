"""The guides agree with the program: their commands are understood, their parameters exist."""

from __future__ import annotations

import argparse
import importlib
import re
import shlex
from pathlib import Path

import pytest

from embodied_iqa.cli.main import COMMANDS
from embodied_iqa.config import flatten
from embodied_iqa.experiment.rows import COLUMNS
from embodied_iqa.graph.node_table import resolve
from embodied_iqa.resources import source_checkout

DOCS = (source_checkout() or Path()) / "docs"
PAGES = ("robot-guide.md", "experiment.md", "subjects.md", "policies.md", "tasks.md", "analysis.md")


def text_of(page: str) -> str:
    return (DOCS / page).read_text(encoding="utf-8")


def blocks(page: str, kind: str) -> list[str]:
    fenced = re.findall(r"^```(\w*)\n(.*?)^```$", text_of(page), flags=re.MULTILINE | re.DOTALL)
    return [content for language, content in fenced if language == kind]


def commands() -> list[tuple[str, str]]:
    return [
        (page, line)
        for page in PAGES
        for block in blocks(page, "")
        for line in block.splitlines()
        if line.startswith("embodied-iqa ")
    ]


@pytest.mark.parametrize(("page", "line"), commands())
def test_every_command_is_understood(page: str, line: str) -> None:
    _, name, *words = shlex.split(line)
    parser = argparse.ArgumentParser(exit_on_error=False)
    importlib.import_module(COMMANDS[name][0]).configure(parser)
    parser.parse_args(words)


def test_there_are_commands_and_settings_to_check() -> None:
    assert len(commands()) >= 6
    assert len(blocks("robot-guide.md", "yaml")) >= 4


@pytest.mark.parametrize("number", range(len(blocks("robot-guide.md", "yaml"))))
def test_every_setting_exists_and_has_a_legal_value(number: int) -> None:
    import yaml

    overrides = {
        f"{node}.{name}": value
        for node, content in yaml.safe_load(blocks("robot-guide.md", "yaml")[number]).items()
        for name, value in flatten(content["ros__parameters"]).items()
    }
    alone = {name: value for name, value in overrides.items() if not name.endswith((".source", ".robot"))}
    config = resolve((), alone)  # camera and robot go together, which is checked as a whole elsewhere
    for name, value in alone.items():
        node, _, parameter = name.partition(".")
        assert config.values()[node][parameter] == value


def test_words_in_code_marks_that_look_like_parameters_exist() -> None:
    known = {f"{node}.{name}" for node, values in resolve().values().items() for name in values} | {
        name for values in resolve().values().values() for name in values
    }
    page = re.sub(r"^```.*?^```", "", text_of("robot-guide.md"), flags=re.MULTILINE | re.DOTALL)
    marked = set(re.findall(r"`([a-z_]+(?:\.[a-zA-Z_]+)+)`", page))
    parameters = {word for word in marked if not word.endswith((".yaml", ".txt", ".rules", ".bag", ".db3"))}
    assert {word for word in parameters if not any(name.endswith(word) for name in known)} == set()


def test_every_column_is_documented() -> None:
    page = text_of("experiment.md")
    assert [name for name in COLUMNS if f"`{name}`" not in page] == []
