"""ROS parameter files: a parameter that is set twice for one node is refused, however it is written."""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import partial
from pathlib import Path

import pytest

from embodied_iqa.base.errors import EmbodiedIqaError, InputError, UsageError
from embodied_iqa.runs.graph.node_table import resolve
from embodied_iqa.runs.graph.parameter_files import read_sections, settings_of

HEAD = "arm_node:\n  ros__parameters:\n    "
SLOW = "limits: {tool_speed_mps: 0.05}\n"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "p.yaml"


def settings(path: Path, node: str = "/arm_node") -> list[Mapping[str, object]]:
    arguments = ["node", "--ros-args", "--params-file", str(path)]
    return [values for _, values in settings_of(node, arguments)]


def speed(path: Path) -> float:
    return resolve((path,)).arm_node.limits.tool_speed_mps


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            f"{HEAD}{SLOW}{HEAD}limits: {{table_z_m: 0.01}}\n",
            "{path}:4:1: key arm_node is written twice, first in line 1, column 1",
        ),
        (
            HEAD + "limits: {tool_speed_mps: 0.05, tool_speed_mps: 0.25}\n",
            "{path}:3:36: key arm_node.ros__parameters.limits.tool_speed_mps is written twice, first",
        ),
        (
            f"{HEAD}{SLOW}    limits: {{table_z_m: 0.01}}\n",
            "{path}:4:5: key arm_node.ros__parameters.limits is written twice, first in line 3, column 5",
        ),
        (
            f"{HEAD}{SLOW}    limits.tool_speed_mps: 0.25\n",
            "{path}:4:5: key /arm_node.limits.tool_speed_mps is written twice, first in line 3, column 14",
        ),
        (
            f"{HEAD}{SLOW}/{HEAD}limits: {{table_z_m: 0.01}}\n",
            "{path}:4:1: key /arm_node is written twice, first in line 1, column 1",
        ),
        (
            f"{HEAD}{SLOW}/**:\n  ros__parameters: {{limits.tool_speed_mps: 0.25}}\n",
            "{path}:5:21: limits.tool_speed_mps is set by section /** and, in line 3, by section /arm_node",
        ),
        (
            f"/**/arm_node:\n  ros__parameters:\n    {SLOW}{HEAD}limits.tool_speed_mps: 0.25\n",
            "{path}:6:5: limits.tool_speed_mps is set by section /arm_node and, in line 3, by section /**",
        ),
        (
            "/*:\n  ros__parameters: {a: 1}\n/**:\n  ros__parameters: {a: 1}\n",
            "{path}:4:21: a is set by section /** and, in line 2, by section /*",
        ),
    ],
)
def test_a_limit_that_is_set_twice_is_refused_with_both_places(path: Path, text: str, words: str) -> None:
    path.write_text(text)
    for read in (partial(read_sections, nodes=["/arm_node"]), settings, speed):
        with pytest.raises(InputError) as caught:
            read(path)
        assert str(caught.value).startswith(words.format(path=path))


@pytest.mark.parametrize(
    "text",
    [
        "/**:\n  ros__parameters: {use_sim_time: true}\n" + HEAD + SLOW,
        HEAD + SLOW + "gate_node:\n  ros__parameters: {limits.tool_speed_mps: 1.0}\n",
        HEAD + SLOW + "/cell/arm_node:\n  ros__parameters: {limits.tool_speed_mps: 1.0}\n",
        HEAD + SLOW + "cell:\n  arm_node:\n    ros__parameters: {limits.tool_speed_mps: 1.0}\n",
        HEAD + SLOW + "/cell/*:\n  ros__parameters: {limits.tool_speed_mps: 1.0}\n",
        HEAD + SLOW + "/robot1/*:\n  ros__parameters: {a: 1}\n/robot2/*:\n  ros__parameters: {a: 2}\n",
        HEAD + SLOW + "/robot1/*:\n  ros__parameters: {a: 1}\n/robot1/b:\n  ros__parameters: {a: 2}\n",
        HEAD + SLOW + "mapper:\n  ros__parameters: {a: .nan, b: [1, .NaN], c: 9223372036854775808}\n",
    ],
)
def test_sections_of_other_nodes_and_other_parameters_are_no_conflict(path: Path, text: str) -> None:
    path.write_text(text)
    found = settings(path)
    assert [values.get("limits.tool_speed_mps", 0.05) for values in found] == [0.05] * len(found)


@pytest.mark.parametrize(
    ("value", "speed_mps"),
    [("5e-2", 0.05), (".05", 0.05), ("1e-1", 0.1), ("0.25", 0.25), ("0x0", None), ("yes", None)]
    + [(word, None) for word in ("05e", "'0.05'", "1_0.0", "0:05", ".nan", "nan", ".inf", "on", "~")],
)
def test_numbers_are_those_of_ros(path: Path, value: str, speed_mps: float | None) -> None:
    path.write_text(f"{HEAD}limits: {{tool_speed_mps: {value}}}\n")
    if speed_mps is None:
        with pytest.raises(EmbodiedIqaError):
            speed(path)
    else:
        assert speed(path) == speed_mps


@pytest.mark.parametrize("word", ["yes", "no", "true", "false", "y", "ON", "Off", "1", "~"])
def test_a_word_that_is_no_mode_is_refused(path: Path, word: str) -> None:
    path.write_text(f"gate_node:\n  ros__parameters:\n    judge: {{mode: {word}}}\n")
    with pytest.raises(UsageError, match=r"judge\.mode .*; available: on, shadow, off"):
        resolve((path,))


@pytest.mark.parametrize("word", ["on", "off", "shadow", "'on'"])
def test_a_mode_needs_no_quotes(path: Path, word: str) -> None:
    path.write_text(f"gate_node:\n  ros__parameters:\n    judge: {{mode: {word}}}\n")
    assert resolve((path,)).gate_node.judge.mode == word.strip("'")


@pytest.mark.parametrize("word", ["yes", "on", "1", "'true'"])
def test_a_bool_is_true_or_false(path: Path, word: str) -> None:
    path.write_text(f"sim_node:\n  ros__parameters: {{lockstep: {word}}}\n")
    with pytest.raises(UsageError, match=r"lockstep .*; expected a value of type bool"):
        resolve((path,))


def test_a_name_with_a_slash_is_the_node(path: Path) -> None:
    path.write_text("/" + HEAD + SLOW)
    assert speed(path) == 0.05


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("/**:\n  ros__parameters: {limits.tool_sped_mps: 0.05}\n", r"no node has .*available: .*tool_speed"),
        ("/cell/" + HEAD + SLOW, "cell/arm_node is in a namespace; expected --namespace cell"),
        ("arm_node: {limits: {tool_speed_mps: 0.05}}\n", "section arm_node/limits.*one key, ros__parameters"),
        ("arm_node:\n  ros__parameters: {}\n  limits: {}\n", "section arm_node; expected one key"),
        ("ros__parameters: {a: 1}\n", "section ros__parameters"),
    ],
)
def test_a_section_that_is_for_no_node_is_refused(path: Path, text: str, words: str) -> None:
    path.write_text(text)
    with pytest.raises(UsageError, match=words):
        resolve((path,))


@pytest.mark.parametrize("text", ["# nothing\n", "---\n", "~\n", "arm_node:\n  ros__parameters:\n"])
def test_a_file_may_set_nothing(path: Path, text: str) -> None:
    path.write_text(text)
    assert resolve((path,)) == resolve()


def test_of_several_files_the_later_ones_win(tmp_path: Path) -> None:
    first, second = tmp_path / "1.yaml", tmp_path / "2.yaml"
    first.write_text(HEAD + SLOW)
    second.write_text(HEAD + "limits: {tool_speed_mps: 0.1}\n")
    assert resolve((first, second)).arm_node.limits.tool_speed_mps == 0.1


def test_arguments_of_a_node_are_read_as_files_are(path: Path) -> None:
    path.write_text(HEAD + "a: yes\n")
    words = "-p b:=010 --param arm_node:c:=1e3 -p gate_node:d:=1 -- -p e:=1"
    arguments = ["node", "--params-file", "no.yaml", "--ros-args", "--params-file", str(path), *words.split()]
    assert list(settings_of("/arm_node", arguments)) == [
        (f"section /arm_node of {path}", {"a": "yes"}),
        ("-p b:=010", {"b": "010"}),
        ("--param arm_node:c:=1e3", {"c": 1000.0}),
    ]


@pytest.mark.parametrize("owner", ["arm_node", "/arm_node", "/*", "/**", "/**/arm_node"])
def test_an_argument_for_a_node_names_it_in_every_way_of_ros(owner: str) -> None:
    arguments = ["node", "--ros-args", "-p", f"{owner}:x:=010", "-p", "/gate_node:x:=1", "-p", "/cell/*:x:=1"]
    assert list(settings_of("/arm_node", arguments)) == [(f"-p {owner}:x:=010", {"x": "010"})]


def test_of_two_patterns_only_what_applies_to_the_node_counts(path: Path) -> None:
    path.write_text("/robot1/*:\n  ros__parameters: {a: 1}\n/robot2/*:\n  ros__parameters: {a: .nan}\n")
    assert settings(path, "/robot1/arm_node") == [{"a": 1}]
    with pytest.raises(InputError, match=r":4:24: a value is not a number"):
        settings(path, "/robot2/arm_node")


def test_a_pipe_is_refused_since_ros_would_find_it_empty(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe.yaml"
    os.mkfifo(pipe)
    with pytest.raises(InputError, match="cannot be read twice; expected a regular file"):
        read_sections(pipe)
