"""The file of `cell init` is a parameter file: each value once, with where it came from."""

from __future__ import annotations

from pathlib import Path

import yaml

from embodied_iqa.runs.cell.cell_file import CellFile
from embodied_iqa.runs.graph.node_table import resolve


def test_every_value_is_read_back_and_has_its_origin_in_its_line(tmp_path: Path) -> None:
    file = CellFile(remarks=["A cell."], left_out=["the hand-eye calibration"])
    file.set("camera_node.source", "topic", "from other nodes")
    file.set("arm_node.robot", "ur5", "it answers")
    file.set("arm_node.model", "ur5e", "software 5.15")
    file.set("arm_node.ur.ip", "192.168.1.10", "as given")
    file.set("arm_node.limits.workspace_min_m", [-0.7, -0.4, 0.02], "as given")
    file.set("camera_node.views", ["top", "left_wrist"], "as given")
    file.set("camera_node.topic.image", "/a/image_raw, /b/image_raw", "bgr8: 30 Hz # fast")
    path = tmp_path / "cell.yaml"
    path.write_text(file.text())
    graph = resolve((path,), only_reads=True)
    known = graph.values()
    for name, value in file.values().items():
        node, _, parameter = name.partition(".")
        assert known[node][parameter] == value
    lines = file.text().splitlines()
    assert lines[0] == "# A cell."
    for setting in file.settings:
        assert sum(line.endswith(f"  # {setting.origin}") for line in lines) >= 1
    assert lines[-1] == "# - the hand-eye calibration"


def test_a_line_break_in_what_a_camera_says_is_no_parameter(tmp_path: Path) -> None:
    file = CellFile(remarks=["A cell.\nrobot: sim"], left_out=["a model\n\x1b[31m (why)"])
    file.set("arm_node.robot", "none", "plumb_bob\n    tool_length_m: 0.9\n")
    path = tmp_path / "cell.yaml"
    path.write_text(file.text())
    tree = yaml.safe_load(path.read_text())
    assert tree == {"arm_node": {"ros__parameters": {"robot": "none"}}}
