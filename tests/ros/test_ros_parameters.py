"""A node with an unknown parameter or a wrong value ends with exit code 2 and one line."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from loaded_nodes import End, loaded_nodes


@pytest.fixture(scope="module")
def end(ros_domain: int, tmp_path_factory: pytest.TempPathFactory) -> Iterator[End]:
    nodes = "arm_node", "camera_node", "gate_filter_node", "gate_node", "sim_node"
    with loaded_nodes(tmp_path_factory.mktemp("ended"), ros_domain, *nodes) as end:
        yield end


@pytest.mark.parametrize(
    ("node", "argument", "words"),
    [
        ("sim_node", "camera_rate:=15.0", ["'camera_rate'", "available", "camera_rate_hz"]),
        ("gate_node", "judge.mode:=maybe", ["judge.mode", "'maybe'", "available: on, shadow, off"]),
        ("camera_node", "width_px:=5", ["width_px", "64 to 3840", "5"]),
        ("arm_node", "limits.tool_speed:=9.0", ["'limits.tool_speed'", "available"]),
        ("gate_filter_node", "views:=[]", ["no value for views", "at least one"]),
    ],
)
def test_a_wrong_parameter_ends_the_node(end: End, node: str, argument: str, words: list[str]) -> None:
    refused(end, node, ["-p", argument], words)


def test_a_slip_in_a_section_for_all_nodes_ends_the_node(end: End, tmp_path: Path) -> None:
    path = tmp_path / "all.yaml"
    path.write_text("/**: {ros__parameters: {limits.tool_speed_mp: 0.05, source: none, of_others: 1}}\n")
    words = [f"section /** of {path}", "'limits.tool_speed_mp'", "available: limits.tool_speed_mps"]
    refused(end, "arm_node", ["--params-file", str(path)], words)


def test_a_section_in_a_namespace_that_the_node_has_not_ends_it(end: End, tmp_path: Path) -> None:
    path = tmp_path / "cells.yaml"
    path.write_text("/cel1/arm_node: {ros__parameters: {limits.tool_speed_mps: 0.05}}\n")
    words = [
        str(path),
        "cel1/arm_node is not a node of the graph in /cell1",
        "expected the section /cell1/arm_node",
    ]
    refused(end, "arm_node", ["-r", "__ns:=/cell1", "--params-file", str(path)], words)


def test_a_filter_with_one_topic_on_both_sides_ends(end: End) -> None:
    remapped = ["-r", "gate_filter/in:=/policy/twist", "-r", "~/out:=/policy/twist"]
    words = ["~/in and ~/out are one topic", "'/policy/twist'"]
    refused(end, "gate_filter_node", ["-p", "views:=[top]", *remapped], words)


def refused(end: End, node: str, arguments: list[str], words: list[str]) -> None:
    done = end(node, arguments)
    assert done.returncode == 2, done.stderr
    lines = done.stderr.strip().splitlines()
    assert len(lines) == 1, done.stderr
    assert all(word in lines[0] for word in words), lines[0]
