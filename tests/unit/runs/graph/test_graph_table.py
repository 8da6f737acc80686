"""The graph's table and its parameters: one declaration, unknown names refused."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest
import yaml

from embodied_iqa.arm.verdict import GateMode
from embodied_iqa.base.config import build, parameters_of
from embodied_iqa.base.errors import InputError, UsageError
from embodied_iqa.runs.graph.camera_parameters import CameraParameters
from embodied_iqa.runs.graph.graph_nodes import GRAPH, command_of
from embodied_iqa.runs.graph.node_table import nodes_of, resolve, write_parameters
from embodied_iqa.runs.graph.parameters import GateParameters


def write(path: Path, tree: object) -> Path:
    path.write_text(yaml.safe_dump(tree))
    return path


def test_every_node_of_the_table_has_a_module_and_a_resolved_configuration() -> None:
    graph = resolve()
    assert list(graph.values()) == [entry.name for entry in GRAPH]
    for entry in GRAPH:
        assert importlib.util.find_spec(f"embodied_iqa.live.nodes.{entry.name}") is not None


def test_every_parameter_is_described() -> None:
    for node in resolve().values():
        for parameter in parameters_of(type(getattr(resolve(), node))):
            assert parameter.description, f"{node}.{parameter.name}"


def test_later_files_win_and_overrides_win_over_files(tmp_path: Path) -> None:
    one = write(tmp_path / "1.yaml", {"camera_node": {"ros__parameters": {"width_px": 800, "rate_hz": 5.0}}})
    two = write(tmp_path / "2.yaml", {"camera_node": {"ros__parameters": {"width_px": 320}}})
    camera = resolve((one, two), {"camera_node.rate_hz": 7}).camera_node
    assert isinstance(camera, CameraParameters)
    assert (camera.width_px, camera.height_px, camera.rate_hz) == (320, 480, 7.0)


def test_nested_names_and_dotted_names_are_the_same(tmp_path: Path) -> None:
    nested = write(tmp_path / "n.yaml", {"gate_node": {"ros__parameters": {"judge": {"mode": "shadow"}}}})
    dotted = write(tmp_path / "d.yaml", {"gate_node": {"ros__parameters": {"judge.mode": "shadow"}}})
    for path in (nested, dotted):
        gate = resolve((path,)).gate_node
        assert isinstance(gate, GateParameters)
        assert gate.judge.mode is GateMode.SHADOW


def test_parameters_survive_their_file(tmp_path: Path) -> None:
    graph = resolve((), {"gate_node.judge.mode": "off", "camera_node.loop": True})
    path = tmp_path / "parameters.yaml"
    write_parameters(graph, path)
    tree = yaml.safe_load(path.read_text())
    assert tree.pop("/**") == {"ros__parameters": {"use_sim_time": True}}
    for entry in GRAPH:
        values = tree[entry.name]["ros__parameters"]
        resolved = getattr(graph, entry.name)
        assert build(type(resolved), values, "test") == resolved


def test_without_the_simulator_time_is_real(tmp_path: Path) -> None:
    graph = resolve((), {"arm_node.robot": "none", "camera_node.source": "files"})
    assert "sim_node" not in {entry.name for entry in nodes_of(graph)}
    write_parameters(graph, tmp_path / "p.yaml")
    tree = yaml.safe_load((tmp_path / "p.yaml").read_text())
    assert tree["/**"] == {"ros__parameters": {"use_sim_time": False}}


def test_a_node_is_started_with_its_parameters(tmp_path: Path) -> None:
    command = command_of(GRAPH[0], tmp_path / "p.yaml")
    assert command[3:5] == ["-m", "embodied_iqa.live.nodes.sim_node"]
    assert command[-2:] == ["--params-file", str(tmp_path / "p.yaml")]


@pytest.mark.parametrize(
    ("overrides", "words"),
    [
        ({"nobody.width_px": 1}, r"unknown node.*nobody.*available: sim_node"),
        ({"width_px": 1}, r"unknown node"),
        ({"camera_node.widht_px": 1}, r"unknown parameter.*widht_px.*available:.*width_px"),
        ({"camera_node.width_px": "wide"}, r"width_px.*expected a value of type int.*'wide'"),
        ({"camera_node.width_px": 5}, r"expected 64 to 3840.*got 5"),
        ({"camera_node.views": ["front"]}, r"'front'.*available: wrist, top, side"),
        ({"camera_node.views": "top"}, r"expected a list"),
        ({"gate_node.judge.mode": "maybe"}, r"'maybe'.*available: on, shadow, off"),
        ({"gate_node.judge.mode": ["on"]}, r"available: on, shadow, off"),
        ({"gate_node.judge.trip_frames": 9}, r"trip_frames cannot exceed"),
    ],
)
def test_a_wrong_override_is_told_with_what_there_is(overrides: dict[str, object], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        resolve((), overrides)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("tree", "words"),
    [
        ({"gate_nod": {"ros__parameters": {}}}, r"unknown node.*'gate_nod'.*available"),
        ({"camera_node": {"width_px": 640}}, r"section camera_node.*expected one key, ros__parameters"),
        ({"camera_node": {"ros__parameters": 5}}, r"ros__parameters of camera_node.*names and values"),
        ({"camera_node": {"ros__parameters": {"wide": 1}}}, r"unknown parameter.*'wide'"),
        ({"camera_node": {"ros__parameters": {"source": {"a": 1}}}}, r"unknown parameter.*source\.a"),
    ],
)
def test_a_wrong_file_is_told_with_what_there_is(tmp_path: Path, tree: object, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        resolve((write(tmp_path / "p.yaml", tree),))


def test_a_missing_file_is_told(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot read"):
        resolve((tmp_path / "nothing.yaml",))


def test_a_relative_calibration_is_relative_to_what_names_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "robot").mkdir()
    file = tmp_path / "robot" / "cell.yaml"
    file.write_text("gate_node: {ros__parameters: {calibration: gate/mine.yaml}}")
    other = tmp_path / "other.yaml"
    other.write_text("gate_node: {ros__parameters: {views: [top, wrist]}}")
    monkeypatch.chdir(tmp_path)
    of_file = resolve((Path("robot/cell.yaml"), other)).gate_node.calibration
    assert of_file == str(tmp_path / "robot" / "gate" / "mine.yaml")
    overrides = {"gate_node.calibration": "gate/yours.yaml"}
    assert resolve((file,), overrides).gate_node.calibration == str(tmp_path / "gate" / "yours.yaml")
    absolute = {"gate_node.calibration": "/somewhere/gate.yaml"}
    assert resolve((file,), absolute).gate_node.calibration == "/somewhere/gate.yaml"
    assert not Path(resolve((other,)).gate_node.calibration).is_absolute()
