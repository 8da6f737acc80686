"""The help of a node: what it does, how it is started, and what can be set."""

from __future__ import annotations

import sys
from types import ModuleType

import pytest

from embodied_iqa.base.config import parameters_of
from embodied_iqa.live.nodes import gate_filter_node, gate_only_node
from embodied_iqa.live.ros.node_help import help_of, wants_help
from embodied_iqa.runs.graph.gate_filter_parameters import GateFilterParameters
from embodied_iqa.runs.graph.gate_only_parameters import GateOnlyParameters


@pytest.mark.parametrize(
    ("node", "config", "words"),
    [
        (gate_filter_node, GateFilterParameters, "~/in -> ~/out, under fresh leases"),
        (gate_only_node, GateOnlyParameters, "Images of others -> ~/lease"),
    ],
)
def test_a_node_says_how_it_is_started(
    node: ModuleType,
    config: type,
    words: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    program = node.__name__.rpartition(".")[2]
    monkeypatch.setattr(sys, "argv", [f"nodes/{program}.py", "--help"])
    assert node.main() == 0
    text, error = capsys.readouterr()
    assert text.startswith(f"usage: {program} --ros-args [-p NAME:=VALUE ...]")
    assert words in text
    assert [
        line.strip().partition(":=")[0]
        for line in text.splitlines()
        if line.startswith("  ") and ":=" in line
    ] == [one.name for one in parameters_of(config)]
    assert all(len(line) <= 100 for line in text.splitlines())
    assert not error


def test_a_row_has_default_and_values() -> None:
    lines = help_of(gate_filter_node.GateFilterNode, "gate_filter_node").splitlines()
    place = lines.index("  command:=twist")
    assert lines[place + 1].strip() == (
        "twist, trajectory, positions or velocities. One of: twist, trajectory, positions, velocities."
    )
    assert any("Range: " in line for line in lines)


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        (["--help"], True),
        (["-h", "--ros-args"], True),
        (["--ros-args", "-p", "views:=[top]"], False),
        (["--ros-args", "-r", "--help"], False),
        ([], False),
    ],
)
def test_words_for_ros_ask_for_no_help(words: list[str], wanted: bool) -> None:
    assert wants_help(words) is wanted
