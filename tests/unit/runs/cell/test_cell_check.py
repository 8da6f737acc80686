"""Checks of a cell: each fails by its own fault alone, and what is not known never passes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from embodied_iqa.base.kinematics import home_q_rad
from embodied_iqa.base.kinematics.models import ArmModel
from embodied_iqa.imaging.images.frame import Intrinsics, View, pinhole_lens
from embodied_iqa.quality.gate.calibration import calibrate
from embodied_iqa.quality.gate.calibration_file import save_calibrations
from embodied_iqa.quality.gate.image_statistics import measure
from embodied_iqa.runs.cell.cell_check import (
    CellCheck,
    CheckResult,
    SeenArm,
    arm_checks,
    camera_checks,
    camera_pose,
    hand_eye_check,
    tool_pixel,
    tool_pose,
)
from embodied_iqa.runs.cell.seen_camera import SeenCamera
from embodied_iqa.runs.cell.tool_overlay import with_tool
from embodied_iqa.runs.graph.node_table import resolve
from embodied_iqa.runs.graph.parameters import GraphParameters
from manual_clock import ManualClock

MS = 1_000_000
RGB = np.full((48, 64, 3), 90, np.uint8)
Q = tuple(home_q_rad(ArmModel.UR5E.geometry))
OTHER_SIZE = pinhole_lens(Intrinsics(640, 480, 9.0, 9.0, 1.0, 1.0))
LOOKS_DOWN = [0.0, -1.0, 0.0, -0.4, -1.0, 0.0, 0.0, 0.0, 0.0, 0.0, -1.0, 1.35, 0.0, 0.0, 0.0, 1.0]
STAMPS = tuple((1_000 + 33 * number) * MS for number in range(30))
GOOD = SeenCamera(
    view=View.TOP,
    source="/top/image_raw",
    stamps_ns=STAMPS,
    arrivals_ns=tuple(stamp_ns + 5 * MS for stamp_ns in STAMPS),
    lost=0,
    encoding="bgr8",
    rgb=RGB,
    lens=pinhole_lens(Intrinsics(64, 48, 50.0, 50.0, 32.0, 24.0)),
)


def at(*stamps_ns: int) -> SeenCamera:
    return replace(GOOD, stamps_ns=stamps_ns, arrivals_ns=tuple(stamp_ns + 5 * MS for stamp_ns in stamps_ns))


def graph_of(tmp_path: Path, **overrides: object) -> GraphParameters:
    clean = [measure(RGB)] * 20
    save_calibrations([calibrate(View.TOP, clean, "test")], tmp_path / "gate.yaml")
    cell: dict[str, object] = {
        "camera_node.source": "topic",
        "camera_node.views": ["top"],
        "camera_node.hand_eye.T_base_camera_top": LOOKS_DOWN,
        "arm_node.robot": "ur5",
        "arm_node.model": "ur5e",
        "arm_node.ur.ip": "127.0.0.2",
        "arm_node.limits.workspace_min_m": [-0.75, -0.4, 0.02],
        "arm_node.limits.workspace_max_m": [-0.25, 0.4, 0.6],
        "gate_node.calibration": str(tmp_path / "gate.yaml"),
    }
    return resolve(
        (), cell | {name.replace("__", "."): value for name, value in overrides.items()}, only_reads=True
    )


def failed(checks: object) -> dict[str, str]:
    found: list[CellCheck] = list(checks)  # type: ignore[call-overload]
    return {check.name: check.measured for check in found if not check.is_ok}


def test_a_good_cell_fails_nothing(tmp_path: Path) -> None:
    graph = graph_of(tmp_path)
    assert failed(camera_checks(GOOD, graph, ManualClock())) == {}
    assert failed(arm_checks(SeenArm(Q, "0.1 mm"), graph.arm_node)) == {}
    pose = camera_pose(GOOD, graph, Q)
    assert hand_eye_check(GOOD, pose, tool_pose(Q, graph.arm_node)[:3, 3]).is_ok


@pytest.mark.parametrize(
    ("seen", "name", "said"),
    [
        (replace(GOOD, stamps_ns=(), arrivals_ns=()), "images", "no image of /top/image_raw"),
        (replace(GOOD, stamps_ns=STAMPS[::5], arrivals_ns=STAMPS[::5]), "rate", "6.1 Hz"),
        (at(*STAMPS[:-1], STAMPS[-1] + 90 * MS), "longest gap", "123 ms"),
        (replace(GOOD, arrivals_ns=tuple(s + 150 * MS for s in STAMPS)), "age of images", "150.0 ms"),
        (replace(GOOD, arrivals_ns=tuple(s - 30 * MS for s in STAMPS)), "age of images", "-30.0 ms"),
        (replace(GOOD, stamps_ns=(STAMPS[0], STAMPS[0], *STAMPS[2:])), "time stamps", "1 equal"),
        (replace(GOOD, stamps_ns=(STAMPS[0], STAMPS[0] - MS, *STAMPS[2:])), "time stamps", "1 backwards"),
        (replace(GOOD, stamps_ns=(0,) * len(STAMPS)), "time stamps", f"{len(STAMPS)} zero"),
        (replace(GOOD, rgb=None, encoding="", problem="bayer16 is unknown"), "encoding", "bayer16"),
        (
            at(*(number * 60 * MS for number in range(1, 20))),
            "lease",
            "125 ms: 120 to the next image but one",
        ),
        (replace(GOOD, lost=30), "transport", "start the camera's node with FASTRTPS_DEFAULT_PROFILES_FILE="),
        (
            replace(GOOD, lost=30, could_resend=True),
            "transport",
            "is reliable: set camera_node.qos_overrides./top/image_raw.subscription.reliability to ",
        ),
        (replace(GOOD, lens=None), "camera_info", "none"),
        (
            replace(GOOD, lens=OTHER_SIZE),
            "camera_info",
            "640x480",
        ),
        (replace(GOOD, view=View.SIDE), "gate", "top 64x48"),
    ],
)
def test_each_fault_of_a_camera_fails_its_check(
    seen: SeenCamera, name: str, said: str, tmp_path: Path
) -> None:
    found = failed(camera_checks(seen, graph_of(tmp_path), ManualClock()))
    assert said in found[f"{seen.view}: {name}"]
    others = set(found) - {f"{seen.view}: {name}"}
    gaps = {f"{seen.view}: longest gap", f"{seen.view}: lease"}
    assert others <= gaps, "a low rate also has long gaps and old images late leases"


def test_the_shipped_calibration_and_a_missing_one_are_none_of_this_cell(tmp_path: Path) -> None:
    graph = graph_of(tmp_path)
    for gate, said in (
        (resolve().gate_node.calibration, "for simulated cameras"),
        (str(tmp_path / "none.yaml"), "none.yaml"),
    ):
        other = replace(graph, gate_node=replace(graph.gate_node, calibration=gate))
        assert said in failed(camera_checks(GOOD, other))["top: gate"]


@pytest.mark.parametrize(
    ("seen", "overrides", "name", "said"),
    [
        (SeenArm(None, "", "no answer"), {}, "model", "no answer"),
        (SeenArm(None, "", "no answer"), {}, "posture", "not read"),
        (SeenArm((7.0, *Q[1:]), ""), {}, "joint limits", "joint 1 would turn to 7.000"),
        (
            SeenArm(Q, ""),
            {"arm_node__limits__workspace_max_m": [-0.5, 0.4, 0.6]},
            "tool in workspace",
            "at x from -0.400",
        ),
        (
            SeenArm(Q, ""),
            {
                "arm_node__limits__workspace_min_m": [-0.80, -0.45, 0.0],
                "arm_node__limits__workspace_max_m": [-0.20, 0.45, 0.70],
            },
            "workspace",
            "that of the simulated cell",
        ),
        (
            SeenArm(Q, ""),
            {
                "arm_node__limits__workspace_min_m": [2.0, 2.0, 2.0],
                "arm_node__limits__workspace_max_m": [2.4, 2.4, 2.4],
            },
            "workspace",
            "reaches no part of the workspace; expected a box within",
        ),
    ],
)
def test_each_fault_of_an_arm_fails_its_check(
    seen: SeenArm, overrides: dict[str, object], name: str, said: str, tmp_path: Path
) -> None:
    found = failed(arm_checks(seen, graph_of(tmp_path, **overrides).arm_node))
    assert said in found[f"arm: {name}"]


def test_the_tool_is_drawn_where_it_is_and_only_counts_in_the_image(tmp_path: Path) -> None:
    graph = graph_of(tmp_path)
    T_base_tool = tool_pose(Q, graph.arm_node)
    pose = camera_pose(GOOD, graph, Q)
    assert pose is not None
    pixel = tool_pixel(GOOD, pose, T_base_tool[:3, 3])
    assert pixel == pytest.approx([32.0, 24.0], abs=1.5), "the camera is 1 m above the home of the tool"
    drawn = with_tool(GOOD, pose, T_base_tool)
    assert drawn is not None
    changed = np.argwhere((drawn != RGB).any(axis=2))
    assert np.abs(changed.mean(axis=0) - pixel[::-1]).max() < 2.0
    assert np.array_equal(RGB, GOOD.rgb), "the image itself stays as it was"
    for point_m, said in (((-0.4, 0.9, 0.35), "px of"), ((-0.4, 0.0, 2.0), "behind")):
        check = hand_eye_check(GOOD, pose, np.array(point_m))
        assert not check.is_ok
        assert said in check.measured
    unknown = hand_eye_check(GOOD, None, T_base_tool[:3, 3])
    assert (unknown.measured, unknown.result) == ("no pose of this camera", "missing")
    assert not hand_eye_check(GOOD, pose, None).is_ok
    assert hand_eye_check(GOOD, pose, np.array((-0.4, 0.9, 0.35))).result == "failed", "a wrong pose"


def test_a_camera_without_a_calibration_lacks_it_and_one_of_another_size_fails(tmp_path: Path) -> None:
    graph = graph_of(tmp_path)
    for lens, result in ((None, "missing"), (OTHER_SIZE, "failed")):
        checks = {check.name: check for check in camera_checks(replace(GOOD, lens=lens), graph)}
        assert checks["top: camera_info"].result == result


def test_a_workspace_beyond_the_arm_limits_nothing_there(tmp_path: Path) -> None:
    box = {"arm_node__limits__workspace_max_m": [2.5, 2.5, 2.5]}
    config = graph_of(tmp_path, **box).arm_node
    (row,) = (check for check in arm_checks(SeenArm(Q, ""), config) if check.name == "arm: workspace")
    assert row.result is CheckResult.WARNING
    assert "m beyond the arm and limits nothing there" in row.measured


def test_a_workspace_below_the_table_limits_nothing_there(tmp_path: Path) -> None:
    config = graph_of(tmp_path, arm_node__limits__workspace_min_m=[-0.8, -0.45, -0.5]).arm_node
    (row,) = (check for check in arm_checks(SeenArm(Q, ""), config) if check.name == "arm: workspace")
    assert row.result is CheckResult.WARNING
    assert row.measured.endswith(
        "0.5 m below the table top and limits nothing there: table_z_m and tool_height_m do"
    )
