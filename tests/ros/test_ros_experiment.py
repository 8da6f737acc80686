"""An experiment on the ROS graph gives the table of one without ROS, and bit-identical decisions."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pytest

from embodied_iqa.base.errors import UsageError
from embodied_iqa.data.recording.trial_reading import read_trial
from embodied_iqa.data.recording.trial_record import RunRecord
from embodied_iqa.imaging.distortions import DistortionSpec
from embodied_iqa.imaging.images.assembler import Source
from embodied_iqa.models.subjects.reference import parse_vla
from embodied_iqa.runs.experiment.experiment_plan import ExperimentPlan, ExperimentTask, RunKey
from embodied_iqa.runs.experiment.headless_runs import HeadlessRunner
from embodied_iqa.runs.graph.node_table import resolve
from embodied_iqa.runs.offline.headless.options import HeadlessOptions
from live_process import TRIAL_S, completed
from live_trial import FEW_IMAGES

TASK = ExperimentTask("pick the red cube", 7)
CELL = {
    "camera_node.width_px": 320,
    "camera_node.height_px": 240,
    "camera_node.views": ["top"],
    "vla_node.max_chunks": 2,
    "trial_node.no_motion_limit_s": 1.0,
    **FEW_IMAGES,
}
"""Enough for this policy; larger images, more of them, and more looks for what it cannot see take longer."""


@pytest.fixture(scope="module")
def live(
    tmp_path_factory: pytest.TempPathFactory, ros_domain: int
) -> tuple[dict[str, object], tuple[RunRecord, ...]]:
    """The table and the records of one task, clean and with colours that the policy cannot use."""
    out = tmp_path_factory.mktemp("experiment") / "out"
    words = [
        "--vla",
        "classical-vla",
        "--task",
        TASK.task,
        "--distortions",
        "04",
        "--out",
        str(out),
        "--ros",
        "--json",
        *(word for name, value in CELL.items() for word in ("--set", f"{name}={json.dumps(value)}")),
    ]
    command = [sys.executable, "-m", "embodied_iqa.cli.main", "experiment", *words]
    done = completed(command, out.parent, TRIAL_S, {"ROS_DOMAIN_ID": str(ros_domain)})
    (recording,) = (out / "recordings").glob("*/trial.mcap")
    return json.loads(done.stdout), read_trial(recording).runs


@pytest.fixture(scope="module")
def headless() -> tuple[RunRecord, ...]:
    specs = (None, DistortionSpec("04", 5))
    with HeadlessRunner(HeadlessOptions(resolve((), {"gate_node.judge.mode": "off", **CELL}))) as runner:
        return tuple(runner.record(RunKey(parse_vla("classical-vla"), TASK, spec)) for spec in specs)


def test_the_first_decision_is_the_same_bit_for_bit(
    live: tuple[dict[str, object], tuple[RunRecord, ...]], headless: tuple[RunRecord, ...]
) -> None:
    for ours, theirs in zip(headless, live[1], strict=True):
        assert ours.start_ns == theirs.start_ns
        for source in Source:
            mine = next(chunk for chunk in ours.chunks if chunk.source is source)
            other = next(chunk for chunk in theirs.chunks if chunk.source is source)
            assert np.array_equal(mine.increments, other.increments)
            assert np.array_equal(mine.T_base_tool, other.T_base_tool)
            for name in ("stamp_ns", "view", "status", "reason", "target_px", "seen", "gripper", "step"):
                assert getattr(mine, name) == getattr(other, name), name


def test_outcomes_places_and_scores_are_the_same(
    live: tuple[dict[str, object], tuple[RunRecord, ...]], headless: tuple[RunRecord, ...]
) -> None:
    for ours, theirs in zip(headless, live[1], strict=True):
        assert ours.outcome is theirs.outcome
        assert ours.reason == theirs.reason
        assert np.allclose(ours.T_base_tool, theirs.T_base_tool, atol=0.002)
    apart_cm = 100 * np.linalg.norm(headless[0].T_base_tool[:3, 3] - headless[1].T_base_tool[:3, 3])
    assert live[0]["all"]["score"] == pytest.approx(100 - apart_cm, abs=0.3)


def test_an_experiment_without_an_arm_is_an_error(tmp_path: Path) -> None:
    from embodied_iqa.live.ros.experiment_session import run_on_graph

    plan = ExperimentPlan((parse_vla("classical-vla"),), (TASK,), ())
    graph = resolve((), {"arm_node.robot": "none", "camera_node.source": "files"})
    with pytest.raises(UsageError, match="needs an arm"):
        next(run_on_graph(plan, plan.runs(), graph, tmp_path, attach=False))


def test_a_graph_in_a_namespace_is_the_one_that_is_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from embodied_iqa.cli.main import main
    from embodied_iqa.live.ros import experiment_session
    from embodied_iqa.runs.graph.session_plan import SessionPlan

    sessions: list[SessionPlan] = []

    def fail(session: SessionPlan, *_: object, **_named: object) -> None:
        sessions.append(session)
        raise UsageError("no graph in this test")

    monkeypatch.setattr(experiment_session, "run_session", fail)
    cell = tmp_path / "cell.yaml"
    cell.write_text("/cell1/vla_node: {ros__parameters: {max_chunks: 3}}\n")
    words = ["--vla", "classical-vla", "--task", TASK.task, "--config", str(cell)]
    words += ["--ros", "--attach", "--namespace", "cell1", "--out", str(tmp_path / "out")]
    assert main(["experiment", *words]) == 2
    assert [(one.namespace, one.attach, one.graph.vla_node.max_chunks) for one in sessions] == [
        ("/cell1", True, 3)
    ]


@pytest.mark.parametrize("words", [[], ["--first-tasks", "3"], ["--bench", "bench"]])
def test_no_task_is_made_up_for_a_real_arm(
    words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from embodied_iqa.cli.main import main

    arm = ["arm_node.model=ur5e", "arm_node.limits.workspace_min_m=[-0.7, -0.4, 0.0]"]
    arm += ["arm_node.limits.workspace_max_m=[-0.2, 0.45, 0.71]"]
    words = [*words, "--vla", "classical-vla", "--ros", "--gate", "off", "--out", str(tmp_path / "out")]
    words += ["--robot", "ur5", "--robot-ip", "192.0.2.1", "--camera", "topic"]
    assert main(["experiment", *words, *(word for value in arm for word in ("--set", value))]) == 2
    assert "no task for robot ur5; expected --task TEXT, any sentence" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_an_earlier_recording_of_a_task_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from embodied_iqa.live.ros import experiment_session

    earlier = tmp_path / "recordings" / "classical-vla.pick-the-red-cube.7"
    for folder in (earlier, Path(f"{earlier}.1")):
        folder.mkdir(parents=True)
        (folder / "trial.mcap").write_text(folder.name)

    def fail(*_: object, **_named: object) -> None:
        raise UsageError("no graph in this test")

    monkeypatch.setattr(experiment_session, "run_session", fail)
    plan = ExperimentPlan((parse_vla("classical-vla"),), (ExperimentTask("pick the red cube", 7),), ())
    with pytest.raises(UsageError, match="no graph"):
        next(experiment_session.run_on_graph(plan, plan.runs(), resolve(()), tmp_path, attach=False))
    assert not any(earlier.iterdir())
    assert [Path(f"{earlier}.{n}/trial.mcap").read_text() for n in (1, 2)] == [
        f"{earlier.name}.1",
        earlier.name,
    ]
