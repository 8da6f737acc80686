"""The test decision of a cell's check: what the policy is shown, what its row says, and what fails."""

from __future__ import annotations

import importlib
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from embodied_iqa.base.kinematics import home_q_rad
from embodied_iqa.base.kinematics.models import ArmModel
from embodied_iqa.imaging.images.frame import Intrinsics, View, pinhole_lens
from embodied_iqa.runs.cell.cell_check import CellCheck, CheckResult, tool_pose
from embodied_iqa.runs.cell.seen_camera import SeenCamera
from embodied_iqa.runs.cell.trial_decision import NAME, decision_checks
from embodied_iqa.runs.graph.node_table import resolve
from embodied_iqa.runs.graph.parameters import GraphParameters
from embodied_iqa.world.protocols import VlaObservation
from manual_clock import ManualClock
from wire_servers import reference_server

MS = 1_000_000
TASK = "put the cup on the shelf"
APART = "images of front and wrist at most 0.05 s apart (vla_node.policy.pairing_tolerance_s)"
MINE = "python:trial_decision_of_mine:make"
Q = tuple(home_q_rad(ArmModel.UR5E.geometry))
LENS = pinhole_lens(Intrinsics(64, 48, 50.0, 50.0, 32.0, 24.0), d=(0.2, 0.0, 0.0, 0.0, 0.0))
ARM = {"robot": "ur5", "model": "ur5e", "ur.ip": "127.0.0.2"}
BOX = {"limits.workspace_min_m": [-0.75, -0.4, 0.02], "limits.workspace_max_m": [-0.25, 0.4, 0.6]}

SOURCE = """
import numpy as np
from embodied_iqa import ActionChunk, ChunkStatus, SubjectInfo, View, Vla

seen, closed = [], []
step_m, steps, clock, late_s = 0.005, 10, None, 0.0

class Mine:
    info = SubjectInfo("mine", "1", "Down.", (View("front"), View("wrist")))
    def act(self, observation):
        seen.append(observation)
        if late_s:
            clock.advance(late_s)
        if step_m is None:
            raise RuntimeError("no weights\\nand a traceback")
        increments = np.zeros((steps, 7))
        increments[:, 2] = step_m
        return ActionChunk(ChunkStatus.ACT if steps else ChunkStatus.DONE, increments, "looks done")
    def close(self):
        closed.append(self)

def make() -> Vla:
    return Mine()

class Other(Mine):
    info = SubjectInfo("other", "1", "Down.", (View("wrist"),))

def other() -> Vla:
    return Other()

class First(Mine):
    info = SubjectInfo("first", "1", "Down.", (View("front"),))

def first() -> Vla:
    return First()

def broken() -> Vla:
    raise RuntimeError("no GPU")
"""


def camera(name: str, first_ms: float, level: int = 90) -> SeenCamera:
    stamps_ns = tuple(round((first_ms + 66 * number) * MS) for number in range(20))
    return SeenCamera(View(name), f"/{name}", stamps_ns, stamps_ns, rgb=np.full((48, 64, 3), level, np.uint8))


FREE = (camera("front", 1000), camera("wrist", 1030, 40))
"""Two cameras that run freely: no two stamps are equal."""


@pytest.fixture
def mine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A policy of the user's own, as a module."""
    (tmp_path / "trial_decision_of_mine.py").write_text(SOURCE)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "trial_decision_of_mine", raising=False)
    return importlib.import_module("trial_decision_of_mine")


def graph(subject: str = MINE, **values: object) -> GraphParameters:
    cell = {
        "arm_node.robot": "none",
        "camera_node.source": "topic",
        "camera_node.views": ["front", "wrist"],
        "vla_node.subject": subject,
    }
    return resolve((), cell | {name.replace("__", "."): value for name, value in values.items()})


def real(**values: object) -> GraphParameters:
    return graph(**{f"arm_node__{name}": value for name, value in (ARM | BOX).items()}, **values)


def decided(
    cell: GraphParameters, cameras: tuple[SeenCamera, ...] = FREE, task: str = TASK, **options: object
) -> CellCheck:
    given: dict[str, object] = {"q_rad": Q if cell.arm_node.robot.is_real else None, "clock": ManualClock()}
    (row,) = decision_checks(cell, cameras, task=task, **(given | options))  # type: ignore[arg-type]
    return row


def test_the_newest_images_get_a_decision_which_is_described(mine: Any) -> None:
    row = decided(real())
    assert row == CellCheck(
        NAME,
        "10 steps: the first 5.0 mm, all together 50.0 mm, after 0 ms",
        "an answer that the arm accepts within 60 s",
        is_ok=True,
    )
    (shown,) = mine.seen
    assert isinstance(shown, VlaObservation)
    assert [int(frame.rgb[0, 0, 0]) for frame in shown.frames.values()] == [90, 40]
    assert [frame.stamp_ns for frame in shown.frames.values()] == [one.stamps_ns[-1] for one in FREE]
    assert np.array_equal(shown.T_base_tool, tool_pose(Q, real().arm_node))
    assert (shown.instruction, shown.step, shown.q_rad) == (TASK, 0, None)
    assert len(mine.closed) == 1


def test_a_policy_may_decide_not_to_move(mine: Any) -> None:
    mine.steps = 0
    row = decided(graph())
    assert (row.measured, row.is_ok) == ("no steps, done: looks done, after 0 ms", True)


@pytest.mark.parametrize(
    ("step_m", "said"),
    [
        (None, f"{MINE} failed: RuntimeError: no weights"),
        (float("nan"), "the arm would refuse it: an increment is not finite, after 0 ms"),
        (0.4, "the arm would refuse it: an increment of 0.4 m, at most 0.1 m, after 0 ms"),
    ],
)
def test_an_answer_that_a_trial_cannot_use_fails(mine: Any, step_m: float | None, said: str) -> None:
    mine.step_m = step_m
    row = decided(real(arm_node__limits__increment_m=0.1))
    assert (row.measured, row.is_ok) == (said, False)


def test_increments_are_limited_by_an_arm_alone(mine: Any) -> None:
    mine.step_m = 0.9
    assert decided(graph()).is_ok
    mine.step_m = float("nan")
    assert not decided(graph()).is_ok


def test_an_answer_after_the_deadline_fails(mine: Any) -> None:
    mine.clock, mine.late_s = ManualClock(), 61.0
    row = decided(graph(), clock=mine.clock)
    assert (row.measured, row.is_ok) == (f"{MINE} failed: no answer in 61.0 s", False)


@pytest.mark.parametrize(("late_s", "result"), [(1.4, CheckResult.OK), (7.0, CheckResult.WARNING)])
def test_a_decision_whose_image_is_too_old_for_the_arm_is_warned_of(
    mine: Any, late_s: float, result: CheckResult
) -> None:
    mine.clock, mine.late_s = ManualClock(), late_s
    row = decided(real(), clock=mine.clock)
    assert row.result is result
    late = ": too late, the arm refuses decisions on images older than 1500 ms (arm_node.controller."
    assert (f"after {1e3 * late_s:.0f} ms{late}" in row.measured) is (result is CheckResult.WARNING)
    assert decided(graph(), clock=mine.clock).is_ok, "without an arm nobody refuses it"


@pytest.mark.parametrize(
    ("cameras", "said"),
    [
        ((), "not asked: no camera gave an image"),
        (FREE[:1], "not asked: no image of the wrist camera"),
        ((FREE[0], replace(FREE[1], rgb=None)), "not asked: no image of the wrist camera"),
        (
            (FREE[0], camera("wrist", 90_000)),
            f"not asked: the policy waits for {APART}; the nearest are 87.7 s apart",
        ),
    ],
)
def test_without_images_it_is_not_asked(mine: Any, cameras: tuple[SeenCamera, ...], said: str) -> None:
    row = decided(graph(), cameras)
    assert (row.measured, row.is_ok, mine.seen) == (said, False, [])


def test_what_a_trial_refuses_is_not_asked(mine: Any) -> None:
    assert decided(real(), q_rad=None).measured == "not asked: the joint angles of the arm were not read"
    assert "no GPU" in decided(graph("python:trial_decision_of_mine:broken")).measured
    assert "cannot parse 'put the cup on the shelf'" in decided(graph("panel-vla-side")).measured
    assert mine.seen == []


def test_images_are_rectified_as_in_a_trial(mine: Any) -> None:
    cell = graph(camera_node__topic__rectify=True)
    assert "cannot be rectified; expected camera_info" in decided(cell).measured
    assert decided(cell, tuple(replace(one, lens=LENS) for one in FREE)).is_ok
    assert all(frame.lens.d == (0.0,) * 5 for frame in mine.seen[0].frames.values())


def test_each_of_several_policies_that_take_turns_decides(mine: Any) -> None:
    first, other = (MINE.replace(":make", name) for name in (":first", ":other"))
    rows = list(decision_checks(graph(f"{first} or {other}"), FREE, None, TASK, clock=ManualClock()))
    assert [(row.name, row.is_ok) for row in rows] == [(f"{NAME} of {one}", True) for one in (first, other)]
    assert [list(shown.frames) for shown in mine.seen] == [["front"], ["wrist"]]


def test_a_server_with_another_protocol_fails_in_one_line() -> None:
    options = {"vla_node__policy__convention": "pi0-libero", "vla_node__policy__views": "front,wrist"}

    def said(answer: dict[str, object]) -> CellCheck:
        with reference_server({}, lambda _observation: answer) as port:
            return decided(graph(f"openpi://127.0.0.1:{port}", **options))

    assert said({"actions": np.zeros((50, 7), np.float32)}).measured.startswith("50 steps: the first 0.0 mm")
    wrong = said({"action": np.zeros((50, 7), np.float32)})
    assert not wrong.is_ok
    assert "actions" in wrong.measured
    assert "\n" not in wrong.measured
