"""Parameter files of nodes: what ROS would take without a word is refused, and numbers are the same."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import rclpy
from rclpy.context import Context
from rclpy.node import Node
from rclpy.signals import SignalHandlerOptions

from embodied_iqa.arm.verdict import GateMode
from embodied_iqa.base.errors import InputError, UsageError
from embodied_iqa.base.user_files.yaml_files import parse_yaml
from embodied_iqa.live.ros.node import BaseNode
from embodied_iqa.runs.graph.parameters import GateParameters
from loaded_nodes import End, loaded_nodes

HEAD = "gate_node:\n  ros__parameters:\n    "
AGREED = "true True FALSE 0 12 -3 +5 -0 0x1F -0x10 1.5 .5 5. -.5 1e3 1E+3 5e-2 010.5 .inf -.INF +.inf"
TEXT = "1_000 1:30 2026-01-31 0o17 0b11 1e 1d3 e3 . + abc"
ONLY_ROS = "yes Yes no on Off y N 010 08 -010 00 nan inf -Infinity 0x1p3"
ONLY_HERE = "~ null"
REFUSED = ".nan 1e999 9223372036854775808"


@pytest.fixture(scope="module")
def end(ros_domain: int, tmp_path_factory: pytest.TempPathFactory) -> Iterator[End]:
    with loaded_nodes(tmp_path_factory.mktemp("ended"), ros_domain, "gate_node") as end:
        yield end


def read_by_ros(words: list[str], domain: int, path: Path) -> list[object]:
    lines = "\n".join(f"    p{index}: {word}" for index, word in enumerate(words))
    path.write_text(f"reader_node:\n  ros__parameters:\n{lines}\n")
    context = Context()
    rclpy.init(
        args=["reader", "--ros-args", "--params-file", str(path)],
        context=context,
        domain_id=domain,
        signal_handler_options=SignalHandlerOptions.NO,
    )
    try:
        node = Node("reader_node", context=context, automatically_declare_parameters_from_overrides=True)
        values = [node.get_parameter(f"p{index}").value for index in range(len(words))]
        node.destroy_node()
        return values
    finally:
        context.try_shutdown()


def test_scalars_are_those_of_ros_or_refused(ros_domain: int, tmp_path: Path) -> None:
    words = f"{AGREED} {TEXT} {ONLY_ROS} {ONLY_HERE} {REFUSED}".split()
    by_ros = dict(zip(words, read_by_ros(words, ros_domain, tmp_path / "p.yaml"), strict=True))
    for word in f"{AGREED} {TEXT}".split():
        ours = parse_yaml(word, "p")
        assert (type(ours), ours) == (type(by_ros[word]), by_ros[word]), word
    for word in ONLY_ROS.split():
        assert (parse_yaml(word, "p"), type(by_ros[word])) != (word, str), word
    for word in ONLY_HERE.split():
        assert (parse_yaml(word, "p"), by_ros[word]) == (None, word)
    for word in REFUSED.split():
        with pytest.raises(InputError):
            parse_yaml(word, "p")


@pytest.mark.parametrize(
    ("text", "code", "words"),
    [
        (
            f"{HEAD}judge: {{mode: on}}\n{HEAD}judge: {{reset_gap_ms: 100}}\n",
            1,
            "{path}:4:1: key gate_node is written twice, first in line 1, column 1",
        ),
        (f"{HEAD}judge: {{mode: on, mode: off}}\n", 1, "judge.mode is written twice"),
        (
            f"{HEAD}judge: {{mode: on}}\n/**:\n  ros__parameters: {{judge.mode: off}}\n",
            1,
            "set by section /**",
        ),
        (f"{HEAD}judge: {{mode: yes}}\n", 2, "judge.mode in section /gate_node of {path}; got 'yes'"),
        (f"{HEAD}judge: {{mode: true}}\n", 2, "judge.mode in section /gate_node of {path}; got True"),
        (f"{HEAD}judge: {{trip_frames: 010}}\n", 2, "judge.trip_frames in section /gate_node of {path}"),
        ("/**:\n  ros__parameters: {newest_only: on}\n", 2, "newest_only in section /** of {path}"),
    ],
)
def test_a_node_that_is_started_with_a_wrong_file_ends(
    end: End, tmp_path: Path, text: str, code: int, words: str
) -> None:
    path = tmp_path / "p.yaml"
    path.write_text(text)
    done = end("gate_node", ["--params-file", str(path)])
    assert done.returncode == code, done.stderr
    assert words.format(path=path) in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1, done.stderr


def test_an_argument_of_a_node_is_read_as_a_file_is(end: End) -> None:
    done = end("gate_node", ["-p", "judge.mode:=yes"])
    assert done.returncode == 2
    assert "judge.mode in -p judge.mode:=yes; got 'yes'; available: on, shadow, off" in done.stderr


def test_a_file_that_is_missing_is_named(end: End) -> None:
    done = end("gate_node", ["--params-file", "nowhere.yaml"])
    assert (done.returncode, done.stderr) == (
        1,
        "GateNode: cannot read nowhere.yaml: No such file or directory\n",
    )


@pytest.mark.parametrize(
    ("word", "mode"), [("on", GateMode.ON), ("off", GateMode.OFF), ("shadow", GateMode.SHADOW)]
)
def test_a_mode_needs_no_quotes_although_ros_reads_a_bool(ros_domain: int, word: str, mode: GateMode) -> None:
    rclpy.init(
        args=["gate", "--ros-args", "-p", f"judge.mode:={word}"],
        domain_id=ros_domain,
        signal_handler_options=SignalHandlerOptions.NO,
    )
    try:
        node = BaseNode("gate_node", GateParameters)
        assert node.config.judge.mode is mode
        node.destroy_node()
    finally:
        rclpy.try_shutdown()


def test_a_section_that_ros_would_leave_out_in_a_namespace_is_refused(
    ros_domain: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "p.yaml"
    words = ["node", "--ros-args", "-r", "__ns:=/cell1", "--params-file", str(file)]
    monkeypatch.setattr("sys.argv", words)
    gate = "{ros__parameters: {judge: {lease: {ttl_s: 0.2}}}}"
    for section in ("gate_node", "/**/gate_node", "/cell1/gate_node"):
        file.write_text(f"{section}: {gate}\n")
        rclpy.init(args=words, domain_id=ros_domain, signal_handler_options=SignalHandlerOptions.NO)
        try:
            if section == "gate_node":
                with pytest.raises(
                    UsageError, match=r"gate_node is not the node in /cell1; expected the sec"
                ):
                    BaseNode("gate_node", GateParameters)
                continue
            node = BaseNode("gate_node", GateParameters)
            assert node.config.judge.lease.ttl_s == 0.2
            node.destroy_node()
        finally:
            rclpy.try_shutdown()
