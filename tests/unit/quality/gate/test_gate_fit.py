"""`embodied-iqa gate fit`: from recordings of clean images to a gate with a promise, and its parts."""

from __future__ import annotations

import argparse
import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pytest
from numpy.typing import NDArray

from embodied_iqa.arm.verdict import Verdict
from embodied_iqa.base.errors import InputError, UsageError
from embodied_iqa.cli import training_checks
from embodied_iqa.cli.gate import fitting
from embodied_iqa.cli.main import main
from embodied_iqa.data.analysis.correlation import area_under_curve
from embodied_iqa.data.database.store import DatabaseStore
from embodied_iqa.imaging.distortions import catalogue
from embodied_iqa.imaging.images.frame import View
from embodied_iqa.models.subjects.subject_options import Acts
from embodied_iqa.quality.gate.bounds import Bounds
from embodied_iqa.quality.gate.calibration_file import load_gate_file, save_calibrations
from embodied_iqa.quality.gate.fitted import FittedGate, LossKind
from embodied_iqa.quality.gate.fitting.check import (
    JudgedFrames,
    advice_of,
    check_threshold,
    expected_of,
)
from embodied_iqa.quality.gate.fitting.frames import GateFrames
from embodied_iqa.quality.gate.fitting.recordings import RecordingsSource, recording_files
from embodied_iqa.quality.gate.fitting.split import fewest_scenes, split_scenes
from embodied_iqa.quality.gate.gatekeeper import Gatekeeper
from embodied_iqa.quality.gate.judge import GateOptions
from embodied_iqa.quality.gate.judgement import parse_judge
from embodied_iqa.quality.gate.judges import load_judge
from embodied_iqa.quality.gate.risk_control import Promise, Threshold, control_risk
from embodied_iqa.quality.metrics.trainable import TrainingSet
from embodied_iqa.quality.metrics.training.measuring import MeasuredInputs
from embodied_iqa.quality.metrics.training.metric_training import RecipeTraining
from embodied_iqa.quality.metrics.training.recipes import recipe_by_name
from gate_files import calibration
from lerobot_samples import pixels, png, write_video
from scene_bags import HEIGHT_PX, WIDTH_PX, allow_few_scenes, scene, scene_bags

POLICY = "python:gate_policy:make"


@pytest.fixture(scope="module")
def bags(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return scene_bags(tmp_path_factory.mktemp("bags"))


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Fewer scenes and epochs than a real fit needs, and a cache of its own."""
    monkeypatch.setattr(
        "embodied_iqa.quality.gate.fitting.networks.recipe_by_name",
        lambda name: replace(recipe_by_name(name), epochs=12),
    )
    allow_few_scenes(monkeypatch)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


class Watched(RecipeTraining):
    """Trainings that are cut short before one of them; notes which types each one learns from."""

    learned: ClassVar[list[set[str]]] = []
    cut_at: ClassVar[int] = 5

    def predicted(
        self, samples: TrainingSet, others: MeasuredInputs, out: Path, seed: int
    ) -> NDArray[np.float64]:
        self.learned.append({kind.partition(":")[0] for kind in samples.kinds} - {""})
        if len(self.learned) == self.cut_at:
            raise InputError("cut short")
        return super().predicted(samples, others, out, seed)


@pytest.mark.usefixtures("few")
def test_a_gate_is_fitted_from_clean_recordings_alone(
    bags: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("embodied_iqa.quality.gate.fitting.networks.RecipeTraining", Watched)
    monkeypatch.setattr(Watched, "learned", [])
    out, usual = tmp_path / "gate.yaml", tmp_path / "usual.yaml"
    narrow = calibration(sharpness=Bounds(0.0, 1e6, 1e7, 1e8))
    save_calibrations([replace(narrow, width_px=WIDTH_PX, height_px=HEIGHT_PX)], usual)
    arguments = [
        "gate", "fit", str(bags), "--view", "top", "--vla", POLICY, "--risk", "0.25",
        "--statistics", str(usual), "--out", str(out), "--json",
    ]  # fmt: skip
    assert main(arguments) == 1
    assert "cut short" in capsys.readouterr().err
    assert not out.exists()
    (states,) = (tmp_path / "gate").glob("*-unseen")
    monkeypatch.setattr(Watched, "cut_at", 0)
    monkeypatch.setattr(Watched, "learned", [])
    assert main(arguments) == 0
    assert not states.exists()
    printed = json.loads(capsys.readouterr().out)
    (fitted,) = load_gate_file(out).fitted
    assert printed["threshold"] == fitted.threshold
    assert (fitted.policy, fitted.width_px, fitted.height_px) == (POLICY, WIDTH_PX, HEIGHT_PX)
    assert fitted.calibration["scenes"] == 4
    assert fitted.check["scenes"] == 3
    assert fitted.check["frames"] == 90
    assert "Nothing is promised for a single scene" in fitted.promise
    assert "30 distortions, one random level each" in fitted.promise
    assert "14 recordings" in fitted.promise
    assert fitted.check["auc_harmful"] is None or fitted.check["auc_harmful"] > 0.7

    _assert_unseen(fitted)
    assert printed["unseen"] == fitted.unseen

    assert fitted.ordinary is not None
    assert fitted.ordinary.value < fitted.threshold
    assert fitted.ordinary.wrong_motion is not None

    second = fitted.second
    assert second is not None
    assert second.screen >= fitted.threshold
    assert 0 < second.check["motions"] <= 90 * 5
    assert "the motions that pass" in second.promise

    judge = load_judge(parse_judge("learned"), out)
    clean = Gatekeeper(judge, GateOptions()).judge_alone(View.TOP, scene(99))
    assert clean.verdict is Verdict.PASS
    assert clean.prediction is not None

    before = out.read_bytes()
    assert main([*arguments, "--keep"]) == 0  # finished networks and the database are used again
    assert out.read_bytes() == before
    assert len(Watched.learned) == 10, "nor are the trainings without some types repeated"
    capsys.readouterr()

    database, metric = tmp_path / "gate" / "database", tmp_path / "metric.yaml"
    _let_the_policy_always_act(DatabaseStore(database))
    other = {str(bags): str(database), str(out): str(metric)}
    again = [other.get(word, word) for word in arguments]
    assert main([*again, "--judge", "metric:piqe", "--loss", "wrong-motion"]) == 0
    _assert_fitted_metric(metric)


def _assert_unseen(fitted: FittedGate) -> None:
    """Every type was left out of one group's trainings, of the loss and of wrong motions."""
    every = {entry.id for entry in catalogue()}
    assert Watched.learned[::2] == Watched.learned[1::2], "loss and wrong motion"
    assert sorted(name for kinds in Watched.learned[::2] for name in every - kinds) == sorted(every)
    assert (fitted.unseen["types"], fitted.unseen["scenes"], fitted.unseen["frames"]) == (30, 3, 90)
    assert fitted.unseen["risk_low"] is None, "three scenes have no interval"
    assert fitted.unseen_in_words.startswith("types that training has not seen: risk 0.")


def _let_the_policy_always_act(store: DatabaseStore) -> None:
    record = store.record()
    always = tuple(replace(one, version=f"{one.version}-always") for one in record.subjects)
    store.write_record(replace(record, subjects=always))


def _assert_fitted_metric(metric: Path) -> None:
    (fitted,) = load_gate_file(metric).fitted
    assert (fitted.judge, fitted.loss, fitted.networks) == ("metric:piqe", LossKind.WRONG_MOTION, None)
    assert fitted.policy == f"{POLICY} (acts always)"
    assert f"Policy: {fitted.policy};" in fitted.promise
    assert fitted.ordinary is not None
    assert fitted.ordinary.wrong_motion is None, "a metric predicts none"
    assert fitted.unseen["frames"] == 90
    load_judge(parse_judge("metric:piqe"), metric)


@pytest.mark.parametrize(
    ("task", "source", "command"),
    [
        ("", "recording", "trial"),
        ("open it", "recording", "gate check"),
        ("", "dataset", "gate check"),
    ],
)
def test_the_next_command_is_for_the_images_of_the_fit(task: str, source: str, command: str) -> None:
    rows = pa.table({"source": [source], "origin": ["a"]})
    store: Any = SimpleNamespace(path="db", references=lambda _columns: rows)
    plan: Any = SimpleNamespace(judge="learned", acts=Acts.WHEN_SEEN)
    given = argparse.Namespace(task=task, tasks=None, view="top", vla=POLICY, out="gate.yaml")
    words = " ".join(map(str, fitting._next(given, store, plan)))
    assert words.startswith(command), "a trial in the simulated cell is for images of trials"


def test_too_few_recordings_are_refused_before_any_work(
    bags: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["gate", "fit", str(bags), "--view", "top", "--vla", POLICY]
    assert main([*arguments, "--risk", "0.03", "--out", str(tmp_path / "gate.yaml")]) == 1
    error = capsys.readouterr().err
    assert "expected 66 scenes: 33 to calibrate" in error
    assert "got 14" in error
    assert not list(tmp_path.iterdir())


def test_statistics_cannot_be_fitted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["gate", "fit", str(tmp_path), "--view", "top", "--vla", POLICY]
    assert main([*arguments, "--judge", "statistics", "--out", str(tmp_path / "gate.yaml")]) == 2
    assert "gate calibrate" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["clip.mp4", "photos"])
def test_images_without_a_state_of_the_robot_are_refused_by_that_reason(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    # nobody installs torch for these in vain
    monkeypatch.setattr(training_checks, "has_module", lambda _name: False)
    source = tmp_path / name
    if source.suffix:
        write_video(source, [pixels(0, step) for step in range(2)], "libx264")
    else:
        source.mkdir()
        (source / "a.png").write_bytes(png(pixels(0, 0)))
    out = tmp_path / "gate.yaml"
    assert main(["gate", "fit", str(source), "--view", "top", "--vla", POLICY, "--out", str(out)]) == 2
    error = capsys.readouterr().err
    assert f"{POLICY} needs the pose of the tool and the gripper with each image, which {source}" in error
    assert "expected recordings" in error
    assert not out.exists()
    (tmp_path / "mine.yaml").touch()
    fit = ["gate", "fit", str(tmp_path / "mine.yaml"), "--view", "top", "--vla", POLICY, "--out", str(out)]
    assert main(fit) == 2
    assert "no recording" in capsys.readouterr().err


def test_a_damaged_recording_is_left_out(bags: Path, tmp_path: Path) -> None:
    good, bad = min(bags.rglob("*.mcap")), tmp_path / "bad.mcap"
    bad.write_bytes(good.read_bytes()[:-400])
    source = RecordingsSource((bad, good), View.TOP)
    assert [recording.path for recording in source.recordings] == [good]
    assert f"{good.name} " in source.read(0).origin
    assert source.name_of(0).startswith(f"{good.name} ")
    assert source.description.startswith("1 recordings")
    (reason,) = source.left_out
    assert "bad.mcap" in reason
    with pytest.raises(InputError, match=r"no recording can be used; got .*bad\.mcap"):
        RecordingsSource((bad,), View.TOP)


def test_only_recordings_are_read(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    with pytest.raises(UsageError, match=f"no recording; .*; got {str(tmp_path / 'a')!r}"):
        recording_files([tmp_path / "a"])
    with pytest.raises(UsageError, match="no recording"):
        recording_files([tmp_path / "b.mcap"])
    for name in ("b", "a/c"):
        (tmp_path / f"{name}.mcap").touch()
    files = recording_files([tmp_path / "b.mcap", tmp_path])
    assert [file.name for file in files] == ["b.mcap", "c.mcap"]


# --- the parts ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("risk", "confidence"), [(0.1, None), (0.03, None), (0.02, 0.9), (0.05, 0.95)])
def test_the_number_of_scenes_that_is_asked_for_is_enough_and_one_less_is_not(
    risk: float, confidence: float | None
) -> None:
    promise = Promise(risk, confidence)
    enough = fewest_scenes(promise)
    names = [f"scene {number}" for number in range(enough)]
    parts = split_scenes(names, promise, 0)
    assert len(parts.calibrate) >= promise.fewest_scenes
    assert sorted((*parts.train, *parts.calibrate, *parts.check)) == sorted(names)
    with pytest.raises(InputError, match=f"expected {enough} scenes"):
        split_scenes(names[1:], promise, 0)


def test_the_split_depends_on_the_scenes_and_the_seed_alone() -> None:
    names, promise = [f"scene {number}" for number in range(100)], Promise(0.05)
    assert split_scenes(names, promise, 1) == split_scenes([*names[::-1], *names], promise, 1)
    assert split_scenes(names, promise, 1) != split_scenes(names, promise, 2)


def frames(loss: list[float], scenes: list[str], clean: list[bool] | None = None) -> GateFrames:
    values = np.array(loss)
    ids = np.array([f"p{k}" for k in range(len(loss))])
    is_clean = np.array(clean if clean is not None else [False] * len(loss))
    return GateFrames(
        ids, np.array(scenes), np.where(is_clean, "", "12:3"), is_clean, values, values / 2, values > 0.2
    )


def test_results_are_those_of_the_frames_that_pass() -> None:
    made = frames([0.0, 0.0, 0.4, 0.01, 0.3], ["a", "a", "a", "b", "b"], [True, False, False, False, False])
    value, rejected = np.array([0.9, 0.1, 0.5, 0.6, 0.2]), np.array([False] * 5)
    found = check_threshold(JudgedFrames(made, value, value, rejected), 0.3, LossKind.DECISION)
    assert found["scenes"] == 2
    assert found["frames"] == 4
    assert found["risk"] == pytest.approx((0.0 + 0.15) / 2)
    assert found["risk_without_gate"] == pytest.approx((0.2 + 0.155) / 2, abs=1e-4)
    assert found["passed"] == 0.5
    assert found["harmless_held"] == 0.5
    assert found["harmful_stopped"] == 0.5
    assert found["clean_held"] == 1.0
    assert found["auc_harmful"] == 0.5
    rejecting = JudgedFrames(made, value, value, np.array([False, False, False, False, True]))
    assert check_threshold(rejecting, 0.3, LossKind.DECISION)["risk"] == 0.0
    halved = check_threshold(JudgedFrames(made, value, value, rejected), 0.3, LossKind.WRONG_MOTION)
    assert halved["risk"] == pytest.approx(0.0375, abs=1e-4)


def test_what_is_expected_is_the_mean_over_scenes_of_distorted_frames() -> None:
    made = frames([0.0] * 4, ["a", "a", "b", "b"], [True, False, False, False])
    judged = JudgedFrames(made, np.array([9.0, 0.1, 0.2, 0.4]), np.zeros(4), np.zeros(4, np.bool_))
    expected = expected_of(judged, 0.3)
    assert (expected.prediction, expected.deviation) == pytest.approx((0.2, 0.1))
    assert (expected.held, expected.held_deviation) == pytest.approx((0.25, 0.25))


@pytest.mark.parametrize(
    ("clean", "loss", "risk", "confidence", "words"),
    [
        (0.1, 0.05, 0.1, None, ""),
        (0.3, 0.05, 0.1, None, "100% of the clean frames of the calibration are held: raise --risk"),
        (0.3, 0.05, 0.1, None, "calibrate with about 18 scenes instead of 2"),
        (0.3, 0.2, 0.1, None, "at one in a hundred the risk is 0.200; raise --risk, or train on more scenes"),
        (0.3, 0.05, 0.1, 0.9, "more than these 2 scenes"),
    ],
)  # fmt: skip
def test_a_gate_that_holds_clean_frames_names_what_would_help(
    clean: float, loss: float, risk: float, confidence: float | None, words: str
) -> None:
    made = frames([0.0, loss, 0.0, loss], ["a", "a", "b", "b"], [True, False] * 2)
    judged = JudgedFrames(made, np.array([clean, 0.25] * 2), np.zeros(4), np.zeros(4, np.bool_))
    threshold = Threshold(0.2, Promise(risk, confidence), 2, 0.0, 0.0)
    advice = advice_of(judged, threshold, LossKind.DECISION)
    assert bool(advice) == bool(words)
    assert words in advice


def test_a_judge_that_ranks_worse_than_a_coin_is_named() -> None:
    made = frames([0.0, 0.5, 0.0, 0.5], ["a", "a", "b", "b"], [True, False] * 2)
    judged = JudgedFrames(made, np.array([0.9, 0.1] * 2), np.zeros(4), np.zeros(4, np.bool_))
    advice = advice_of(judged, Threshold(1.0, Promise(0.1, None), 2, 0.0, 0.0), LossKind.DECISION)
    assert "worse than a coin (AUC 0.00): no threshold helps" in advice


def test_a_threshold_that_holds_nothing_is_named() -> None:
    """The policy loses less without a gate than what may pass."""
    made = frames([0.0, 0.03, 0.0, 0.01], ["a", "a", "b", "b"], [True, False] * 2)
    judged = JudgedFrames(made, np.array([0.1, 0.4] * 2), np.zeros(4), np.zeros(4, np.bool_))
    scenes = 9 * judged.by_scene(LossKind.DECISION)
    nothing = control_risk(scenes, Promise(0.1))
    assert nothing.passed == 1.0
    assert advice_of(judged, nothing, LossKind.DECISION) == (
        "this threshold holds no image like those of the calibration: "
        "without a gate the loss is already 0.02, below the risk 0.1; "
        "a lower --risk, or the judge statistics (gate calibrate), holds more"
    )
    assert not advice_of(judged, replace(nothing, passed=0.9), LossKind.DECISION)


def test_area_under_the_curve_is_the_share_of_ordered_pairs() -> None:
    values, positive = np.array([0.1, 0.4, 0.4, 0.9]), np.array([False, True, False, True])
    assert area_under_curve(values, positive) == pytest.approx(3.5 / 4)
    assert np.isnan(area_under_curve(values, np.zeros(4, np.bool_)))
