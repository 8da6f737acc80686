"""A parameter file is for nodes of the graph, in a namespace or not, and for nodes of others."""

from __future__ import annotations

from pathlib import Path

import pytest

from embodied_iqa.base.errors import InputError, UsageError
from embodied_iqa.imaging.images.frame import View
from embodied_iqa.runs.graph.graph_nodes import GRAPH, command_of
from embodied_iqa.runs.graph.namespaces import parse_namespace, ros_arguments_of
from embodied_iqa.runs.graph.node_sections import idle_sections
from embodied_iqa.runs.graph.node_table import nodes_with, resolve, write_parameters
from embodied_iqa.runs.graph.parameter_files import settings_of

SLOW = "ros__parameters: {limits.tool_speed_mps: 0.05}"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "parameters.yaml"


def speed(path: Path, text: str, namespace: str = "") -> float:
    path.write_text(text, encoding="utf-8")
    return resolve((path,), namespace=namespace).arm_node.limits.tool_speed_mps


@pytest.mark.parametrize(
    "section",
    ["arm_node", "/arm_node", "/cell1/arm_node", "/*/arm_node", "/**/arm_node", "/cell1/*", "/**"],
)
def test_in_a_namespace_a_section_names_node_or_namespace_or_a_pattern(path: Path, section: str):
    assert speed(path, f"{section}: {{{SLOW}}}\n", "/cell1") == 0.05


@pytest.mark.parametrize(
    "section", ["/*/*/arm_node", "/cell1/camera", "/cell2/*", "/cell2/camera", "/robot/state_publisher"]
)
def test_what_is_for_others_is_left_alone(path: Path, section: str):
    assert speed(path, f"{section}: {{{SLOW}}}\n", "/cell1") == resolve().arm_node.limits.tool_speed_mps


@pytest.mark.parametrize("section", ["/cell2/arm_node", "/cel1/arm_node", "/site/cell1/arm_node"])
def test_a_section_in_a_namespace_that_no_node_has_is_refused(path: Path, section: str):
    words = rf"{section[1:]} is not a node of the graph in /cell1; expected the section /cell1/arm_node, or "
    with pytest.raises(UsageError, match=words):
        speed(path, f"{section}: {{{SLOW}}}\n", "/cell1")


@pytest.mark.parametrize("other", ["/cell2", "/cell11", "/cella", "/left"])
def test_a_file_for_several_cells_is_read_by_each(path: Path, other: str):
    text = f"/cell1/gate_node: {{ros__parameters: {{}}}}\n{other}/arm_node: {{{SLOW}}}\n"
    assert speed(path, text, "/cell1") == resolve().arm_node.limits.tool_speed_mps


def test_a_slip_of_the_namespace_is_refused_beside_a_right_section(path: Path):
    text = f"/cell1/gate_node: {{ros__parameters: {{}}}}\n/cel1/arm_node: {{{SLOW}}}\n"
    with pytest.raises(UsageError, match=r"cel1/arm_node is not a node of the graph in /cell1"):
        speed(path, text, "/cell1")


def test_a_section_for_all_gives_each_node_what_it_knows(path: Path):
    path.write_text(
        "/**:\n  ros__parameters: {use_sim_time: true, views: [top, wrist], frame_rate_of_others: 30}\n"
        "usb_cam: {ros__parameters: {framerate: 30.0}}\n",
        encoding="utf-8",
    )
    graph = resolve((path,))
    assert graph.gate_node.views == graph.camera_node.views == graph.trial_node.views == ("top", "wrist")


def test_a_section_for_all_may_set_what_each_view_has(path: Path):
    pose = "1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0.5, 0, 0, 0, 1"
    path.write_text(
        '/**:\n  ros__parameters:\n    realsense.serial_top: "0123"\n'
        f"    hand_eye.T_flange_camera_wrist: [{pose}]\n",
        encoding="utf-8",
    )
    camera = resolve((path,)).camera_node
    assert camera.realsense.serial == {View.TOP: "0123"}
    assert camera.hand_eye.T_flange_camera == {View.WRIST: tuple(map(float, pose.split(",")))}


def test_what_each_view_has_is_a_parameter_of_its_node() -> None:
    assert nodes_with("hand_eye.T_base_camera_top") == ("camera_node",)
    assert nodes_with("hand_eye.of_others") == ()


def test_two_sections_of_one_node_conflict_also_in_a_namespace(path: Path):
    with pytest.raises(InputError, match=r"is set by section /cell1/arm_node and, in line 1, by section"):
        speed(path, f"arm_node: {{{SLOW}}}\n/cell1/arm_node: {{{SLOW}}}\n", "/cell1")


def test_a_node_takes_of_a_section_for_all_what_it_knows(path: Path):
    path.write_text("/**: {ros__parameters: {a: 1, b: 2}}\nx: {ros__parameters: {c: 3}}\n")
    arguments = ["x", "--ros-args", "--params-file", str(path)]
    found = [dict(values) for _, values in settings_of("/x", arguments, "a".__eq__)]
    assert found == [{"a": 1}, {"c": 3}]


def test_a_graph_in_a_namespace_reads_the_file_that_was_written_for_it(path: Path):
    graph = resolve((), {"arm_node.limits.tool_speed_mps": 0.07})
    write_parameters(graph, path, "/cell1")
    again = resolve((path,), namespace="/cell1")
    assert again.arm_node == graph.arm_node
    command = command_of(GRAPH[0], path, "/cell1")
    rules = ["__ns:=/cell1", "/clock:=clock", "/tf:=tf", "/tf_static:=tf_static"]
    assert command[-8:] == [word for rule in rules for word in ("-r", rule)]


def test_an_empty_file_is_refused(path: Path):
    path.touch()
    with pytest.raises(UsageError, match="is empty; expected a node with ros__parameters"):
        resolve((path,))


@pytest.mark.parametrize(
    ("text", "namespace"), [("", ""), ("/", ""), ("cell1", "/cell1"), ("/site/cell_1/", "/site/cell_1")]
)
def test_a_namespace_has_one_form(text: str, namespace: str):
    assert parse_namespace(text) == namespace
    assert bool(ros_arguments_of(namespace)) == bool(namespace)


@pytest.mark.parametrize("text", ["cell-1", "1cell", "a//b", "zelle ü", "a__b"])
def test_what_is_no_namespace_is_refused(text: str):
    with pytest.raises(UsageError, match="not a ROS namespace; expected letters"):
        parse_namespace(text)


@pytest.mark.parametrize(
    ("sections", "idle"),
    [
        (("gate",), ""),
        (("/**", "joy_node"), ""),
        (("gate_node",), "gate_node"),
        (("gate", "gate_node", "joy_node"), "gate_node"),
        (("joy_node", "cell2/gate"), "joy_node, cell2/gate"),
        ((), ""),
    ],
)
def test_sections_that_a_node_started_alone_does_not_take_are_named(
    path: Path, sections: tuple[str, ...], idle: str
) -> None:
    path.write_text("\n".join(f"{name}: {{ros__parameters: {{use_sim_time: true}}}}" for name in sections))
    said = idle_sections(path, "/gate", {"gate_node"})
    assert said == (
        idle
        and f"{path} sets nothing for the node gate by the section {idle}; expected the section gate, or /**"
    )
