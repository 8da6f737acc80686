"""The judge of a trial whose user sets none."""

from __future__ import annotations

from pathlib import Path

import pytest

from embodied_iqa.base.config import Scalar
from embodied_iqa.base.errors import UsageError
from embodied_iqa.base.resources import shared_file
from embodied_iqa.quality.gate.calibration_file import SHIPPED_CALIBRATION
from embodied_iqa.quality.gate.judgement import parse_judge
from embodied_iqa.runs.graph.node_table import resolve
from embodied_iqa.runs.graph.session_plan import check_graph
from real_arm import REAL_ARM

REAL = REAL_ARM | {"arm_node.model": "ur5", "camera_node.source": "realsense"}


def test_a_simulated_trial_has_the_learned_judge_that_is_shipped() -> None:
    gate = check_graph(resolve()).gate_node
    assert (str(gate.judge.kind), gate.judge_note) == ("learned", "")
    assert str(resolve((), {"gate_node.judge.kind": "statistics"}).gate_node.judge.kind) == "statistics"
    assert str(resolve(defaults={"gate_node.judge.kind": "statistics"}).gate_node.judge.kind) == "statistics"


def test_a_gate_for_simulated_cameras_moves_no_real_arm() -> None:
    graph = resolve(overrides=REAL)
    with pytest.raises(UsageError, match=r"for simulated cameras .*expected gate_node\.calibration"):
        check_graph(graph)
    off = check_graph(resolve(overrides=REAL | {"gate_node.judge.mode": "off"}))
    assert off.arm_node.robot.is_real
    own = str(shared_file(SHIPPED_CALIBRATION))
    assert check_graph(resolve(overrides=REAL | {"gate_node.calibration": own})).gate_node.calibration == own


@pytest.mark.parametrize(
    ("overrides", "got"),
    [
        ({"camera_node.source": "topic", "camera_node.views": ["top", "front"]}, "'front'; "),
        ({"camera_node.width_px": 848, "camera_node.height_px": 480}, "'top 848x480'; .* top 640x480"),
    ],
)
def test_a_real_arm_is_not_started_with_the_calibration_of_other_cameras(
    overrides: dict[str, Scalar], got: str
) -> None:
    real = REAL | overrides | {"gate_node.calibration": str(shared_file(SHIPPED_CALIBRATION))}
    with pytest.raises(UsageError, match=rf"not in the gate's calibration.*; got {got}"):
        check_graph(resolve(overrides=real))
    assert check_graph(resolve(overrides=real | {"gate_node.judge.mode": "shadow"}))
    topic = {"camera_node.source": "topic", "camera_node.views": ["top", "wrist"]}
    assert check_graph(resolve(overrides=real | topic)), "the size of its images is not known yet"


@pytest.mark.parametrize(
    ("overrides", "words"),
    [
        ({"vla_node.subject": "panel-vla-side"}, "panel-vla-side, top, wrist, side at 640x480, d455"),
        ({"camera_node.views": ["side", "wrist"]}, "side, wrist at 640x480, d455"),
        ({"camera_node.width_px": 1280, "camera_node.height_px": 720}, "top, wrist at 1280x720, d455"),
        ({"camera_node.model": "ideal"}, "640x480, ideal"),
        ({"vla_node.policy.acts": "always"}, "panel-vla-query (acts always), top, wrist at 640x480, d455"),
    ],
)
def test_where_its_promise_does_not_apply_statistics_judge_and_one_line_says_so(
    overrides: dict[str, Scalar], words: str
) -> None:
    gate = resolve((), overrides).gate_node
    assert gate.judge.kind == parse_judge("statistics")
    assert gate.judge_note.startswith(
        "the gate judges by statistics: the learned judge is for panel-vla-query, top at 640x480, "
        "camera model d455; this trial has "
    )
    assert gate.judge_note.endswith(words)
    assert "\n" not in gate.judge_note
    chosen = resolve((), overrides | {"gate_node.judge.kind": "learned"}).gate_node
    assert (str(chosen.judge.kind), chosen.judge_note) == ("learned", "")


@pytest.mark.parametrize("overrides", [REAL, {"gate_node.calibration": "mine.yaml"}])
def test_a_real_arm_and_an_own_calibration_keep_the_statistics(overrides: dict[str, Scalar]) -> None:
    gate = resolve((), overrides).gate_node
    assert (str(gate.judge.kind), gate.judge_note) == ("statistics", "")
    assert str(resolve((), REAL | {"gate_node.judge.kind": "learned"}).gate_node.judge.kind) == "learned"


def test_a_real_arm_keeps_the_judge_of_its_file(tmp_path: Path) -> None:
    file = tmp_path / "cell.yaml"
    file.write_text("gate_node: {ros__parameters: {judge: {kind: 'metric:piqe'}}}")
    assert str(resolve((file,), REAL).gate_node.judge.kind) == "metric:piqe"
