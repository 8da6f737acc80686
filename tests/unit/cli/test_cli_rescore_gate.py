"""`embodied-iqa rescore` judges with the gate of the trial, or not at all."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from embodied_iqa.arm.verdict import GateMode
from embodied_iqa.base.config import values_of
from embodied_iqa.base.errors import UsageError
from embodied_iqa.base.files import sha256_of
from embodied_iqa.cli.main import main
from embodied_iqa.data.recording.trial_reading import read_trial
from embodied_iqa.quality.gate.bounds import Bounds
from embodied_iqa.quality.gate.calibration import GateCalibration
from embodied_iqa.quality.gate.calibration_file import load_calibrations, save_calibrations
from embodied_iqa.quality.gate.image_statistics import Statistic
from embodied_iqa.quality.gate.judge import GateOptions
from embodied_iqa.quality.gate.repair import RepairOptions
from embodied_iqa.quality.gate.statistics_judge import StatisticsJudge
from embodied_iqa.runs.graph.recorded_graph import calibration_identity, graph_of_recording, played_metadata
from embodied_iqa.runs.trial.scores import score_trial
from trial_recording import VIEWS, pixel_subjects, uncalibrated, write_trial

__all__ = ["pixel_subjects"]
pytestmark = pytest.mark.usefixtures("pixel_subjects")

CALIBRATION = "gate_node.calibration"
ANY = Bounds(-1e9, -1e9, 1e9, 1e9)
NONE = Bounds(1e9, 1e9, 2e9, 2e9)
RULES = GateOptions(trip_frames=1, window_frames=2, recover_frames=2)


def calibration(path: Path, bounds: Bounds = ANY) -> Path:
    cameras = [
        GateCalibration(view, 64, 48, dict.fromkeys(Statistic, bounds), 9, "by hand") for view in VIEWS
    ]
    save_calibrations(cameras, path)
    return path


def trial(
    folder: Path, gate: Path, *, rules: GateOptions = RULES, hashed: bool = True, **options: Any
) -> Path:
    """Write a trial that was judged with a calibration of its own."""
    metadata = {f"gate_node.judge.{name}": str(value) for name, value in values_of(rules).items()}
    metadata |= {CALIBRATION: str(gate)} | (calibration_identity(str(gate)) if hashed else {})
    judge = StatisticsJudge(load_calibrations(gate))
    return write_trial(folder / "trial.mcap", judge=judge, rules=rules, metadata=metadata, **options)


def rescored(path: Path, capsys: pytest.CaptureFixture[str], *options: str, code: int = 0) -> dict[str, Any]:
    assert main(["rescore", str(path), "--json", *options]) == code
    tree: dict[str, Any] = json.loads(capsys.readouterr().out)
    return tree


def verdicts(tree: dict[str, Any]) -> list[tuple[object, ...]]:
    return [tuple(run["gate"][name] for name in ("pass", "hold", "reject")) for run in tree["runs"]]


def notes(tree: dict[str, Any]) -> list[str]:
    return [remark for remark in tree["remarks"] if "the gate" in remark]


def test_a_frame_that_was_lost_live_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lost = [(1, 3, VIEWS[0]), (1, 3, VIEWS[1])]
    path = trial(tmp_path, calibration(tmp_path / "my_gate.yaml"), unjudged=lost)
    tree = rescored(path, capsys)
    assert verdicts(tree) == [(8, 0, 0), (8, 0, 0)]
    news = [remark for remark in tree["remarks"] if "lost live" in remark]
    assert news == ["run 1: 2 frames were lost live; their verdicts are new"]


def test_the_gate_judges_without_the_subjects(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = trial(tmp_path, calibration(tmp_path / "my_gate.yaml"))
    tree = rescored(path, capsys, "--without", "cognition", "--without", "decision")
    assert verdicts(tree) == [(8, 0, 0), (8, 0, 0)]
    assert [run["decision"] for run in tree["runs"]] == [None, None]
    assert not any("lost live" in remark for remark in tree["remarks"])


def test_motions_that_nobody_judged_again_are_unknown(tmp_path: Path) -> None:
    record = read_trial(trial(tmp_path, calibration(tmp_path / "my_gate.yaml")))
    unknown = replace(record, runs=tuple(replace(run, motions=None) for run in record.runs))
    counts = [
        [(run.gate.motions, run.gate.motions_held) for run in score_trial(one, uncalibrated)]
        for one in (record, unknown)
    ]
    assert counts == [[(0, 0)] * 2, [(None, None)] * 2]


@pytest.mark.parametrize("bounds", [ANY, NONE])
def test_a_trial_is_judged_again_with_its_own_calibration_and_rules(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], bounds: Bounds
) -> None:
    path = trial(tmp_path, calibration(tmp_path / "my_gate.yaml", bounds))
    live = [run.gate for run in score_trial(read_trial(path), uncalibrated)]
    tree = rescored(path, capsys)
    assert verdicts(tree) == [(gate.passed, gate.hold, gate.reject) for gate in live]
    assert verdicts(tree)[0] == ((8, 0, 0) if bounds is ANY else (0, 0, 8))
    assert not notes(tree)
    rules = graph_of_recording(path).graph.gate_node.judge
    assert rules == RULES


@pytest.mark.parametrize("change", ["gone", "changed"])
def test_without_its_calibration_nothing_is_judged_unless_one_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], change: str
) -> None:
    gate = calibration(tmp_path / "my_gate.yaml")
    path, other = trial(tmp_path, gate), calibration(tmp_path / "other.yaml", NONE)
    gate.unlink() if change == "gone" else calibration(gate, NONE)
    tree = rescored(path, capsys)
    assert verdicts(tree) == 2 * [(None, None, None)]
    assert [run["frames"]["lost"] for run in tree["runs"]] == [0, 0]
    (note,) = notes(tree)
    assert note.startswith("the gate judges nothing (--calibration FILE names one): ")
    assert str(gate) in note
    assert ("is not on this machine" in note) == (change == "gone")
    assert verdicts(rescored(path, capsys, "--calibration", str(other))) == 2 * [(0, 0, 8)]
    if change == "changed":
        config = tmp_path / "cell.yaml"
        config.write_text("gate_node: {ros__parameters: {calibration: my_gate.yaml}}")
        assert verdicts(rescored(path, capsys, "--config", str(config))) == 2 * [(0, 0, 8)]
    recorded = graph_of_recording(path)
    assert recorded.for_playback().gate_node.judge.mode is GateMode.OFF
    named = graph_of_recording(path, calibration=other).for_playback().gate_node
    assert (named.calibration, named.judge.mode) == (str(other), GateMode.ON)


def test_a_recording_without_a_hash_is_judged_and_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    gate = calibration(tmp_path / "my_gate.yaml")
    tree = rescored(trial(tmp_path, gate, hashed=False), capsys)
    assert verdicts(tree)[0] == (8, 0, 0)
    assert notes(tree) == [f"the gate judges with {gate}: whether it is as in the trial was not recorded"]


def test_a_recording_that_names_no_calibration_is_not_judged(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tree = rescored(write_trial(tmp_path / "trial.mcap"), capsys)
    assert verdicts(tree) == 2 * [(None, None, None)]
    assert "the recording does not name a calibration" in notes(tree)[0]


def test_decisions_on_repaired_images_are_left_out_where_they_cannot_be_repaired_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    gate = calibration(tmp_path / "my_gate.yaml")
    path = trial(tmp_path, gate, rules=GateOptions(repair=RepairOptions(enabled=True)))
    rescored(path, capsys)
    gate.unlink()
    tree = rescored(path, capsys, code=1)
    assert any("the gate repaired images, and its calibration is not known" in one for one in notes(tree))
    with pytest.raises(UsageError, match=r"repaired images, and the gate judges nothing .*my_gate\.yaml"):
        graph_of_recording(path).for_playback()


def test_a_playback_is_judged_again_with_the_calibration_that_judged_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = trial(tmp_path, calibration(tmp_path / "my_gate.yaml"))
    other = calibration(tmp_path / "other.yaml", NONE)
    gate = graph_of_recording(path, calibration=other).for_playback().gate_node
    recorded = read_trial(path).metadata | {"gate_node.judge.kind": "learned", "task": "any"}
    metadata = played_metadata(recorded, values_of(gate))
    assert (metadata["task"], metadata["gate_node.judge.kind"]) == ("any", "statistics")
    judge = StatisticsJudge(load_calibrations(other))
    played = write_trial(tmp_path / "again.mcap", judge=judge, rules=RULES, metadata=metadata)
    again = graph_of_recording(played)
    assert (again.graph.gate_node.calibration, again.remarks) == (str(other), ())
    assert verdicts(rescored(played, capsys))[0] == (0, 0, 8)


def test_the_identity_of_a_calibration_is_its_hash(tmp_path: Path) -> None:
    gate = calibration(tmp_path / "my_gate.yaml")
    assert calibration_identity(str(gate)) == {f"{CALIBRATION}.sha256": sha256_of(gate)}
    assert calibration_identity(str(tmp_path / "none.yaml")) == {}
    assert set(calibration_identity("config/gate/simulated.yaml")) == {f"{CALIBRATION}.sha256"}
