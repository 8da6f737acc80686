"""A trained metric of machine vision as the judge of the gate: fitted, judging, and failing closed."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from embodied_iqa import metric
from embodied_iqa.api.gate import Gate
from embodied_iqa.arm.verdict import Verdict
from embodied_iqa.base.errors import InputError
from embodied_iqa.base.files import sha256_of
from embodied_iqa.cli.main import main
from embodied_iqa.imaging.images.frame import View
from embodied_iqa.quality.gate.calibration_file import load_gate_file, save_calibrations
from embodied_iqa.quality.gate.gatekeeper import Gatekeeper
from embodied_iqa.quality.gate.judge import GateOptions
from embodied_iqa.quality.gate.judgement import parse_judge
from embodied_iqa.quality.gate.judges import load_judge
from embodied_iqa.quality.metrics.learned.training_range import RANGE_FILE
from gate_files import HEIGHT_PX, WIDTH_PX, calibration, write_gate, write_metric_gate, write_network
from scene_bags import allow_few_scenes, scene, scene_bags

pytest.importorskip("torch")

JUDGE = parse_judge("metric:trained:M")
POLICY = "python:gate_policy:make"
GOOD = np.full((HEIGHT_PX, WIDTH_PX, 3), 128, np.uint8)
GOOD[::2] += 8


def test_a_gate_is_fitted_to_a_model_of_machine_vision_and_keeps_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from tiny_miqa import train_tiny

    allow_few_scenes(monkeypatch)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    model, judge, out = train_tiny(tmp_path), "metric:trained:model", tmp_path / "gate.yaml"
    score = metric("trained:model").measure(scene(99))
    usual = replace(calibration(), width_px=scene(99).shape[1], height_px=scene(99).shape[0])
    save_calibrations([usual], tmp_path / "usual.yaml")
    words = ["--view", "top", "--vla", POLICY, "--statistics", str(tmp_path / "usual.yaml")]
    words += ["--risk", "0.25", "--json", "--judge", judge]
    assert main(["gate", "fit", str(scene_bags(tmp_path / "bags")), *words, "--out", "gate.yaml"]) == 0
    printed = json.loads(capsys.readouterr().out)
    (fitted,) = load_gate_file(out).fitted
    assert printed["judge"] == fitted.judge == judge
    assert (fitted.networks, fitted.second) == (None, None)
    assert fitted.model is not None
    copy = out.parent / fitted.model.folder
    assert sha256_of(copy / "card.json") == sha256_of(model / "card.json") == fitted.model.card_sha256
    assert {file.name for file in copy.iterdir()} >= {"card.json", "network.onnx", RANGE_FILE}

    model.rename(tmp_path / "elsewhere")  # a robot has the gate's file and the folder beside it
    monkeypatch.chdir("/")
    found = Gate(out, judge=judge).judge(scene(99), "top", 1)
    assert found.prediction is not None
    assert fitted.ordinary is not None
    assert found.prediction.value == min(round(-score, 6), fitted.ordinary.value)
    held = found.prediction.value > fitted.threshold
    assert found.frame_verdict is (Verdict.HOLD if held else Verdict.PASS)

    write_network(tmp_path / "broken" / "model", 1.0, nan=True, square=True)
    database = str(tmp_path / "gate" / "database")
    words[-1] = f"metric:trained:{tmp_path}/broken/model"
    assert main(["gate", "fit", database, *words, "--out", str(tmp_path / "nan.yaml")]) == 1
    assert "gives no finite number for" in capsys.readouterr().err
    more = ["--set", "vla_node.policy.acts=always", "--out", str(tmp_path / "nan.yaml")]
    assert main(["gate", "fit", database, *words, *more]) == 2
    assert "--set is for recordings" in capsys.readouterr().err
    assert not (tmp_path / "nan.yaml").exists()


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["--judge", "metric:trained:nothing"], "card of the metric"),
        (["--judge", "metric:trained"], "unknown metric"),
        (["--judge", "metric:psnr"], "an undistorted image"),
    ],
)
def test_a_model_that_is_missing_is_one_line(
    words: list[str], line: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["gate", "fit", str(tmp_path), "--view", "top", "--vla", POLICY, "--risk", "0.25"]
    assert main([*arguments, *words, "--out", str(tmp_path / "gate.yaml")]) != 0
    error = capsys.readouterr().err
    assert line in error
    assert not (tmp_path / "gate.yaml").exists()
    assert not (tmp_path / "gate").exists(), "refused before the work"


# --- fails closed -------------------------------------------------------------------------------------------


def test_the_other_head_is_limited_to_labels_of_the_training(tmp_path: Path) -> None:
    file = write_metric_gate(tmp_path, f"{JUDGE}#calibrated")
    found = Gate(file, judge=f"{JUDGE}#calibrated").judge(GOOD, "top", 1)
    assert found.prediction is not None
    assert found.prediction.value == pytest.approx(1 - GOOD.mean() / 255, abs=0.01)
    assert found.frame_verdict is Verdict.PASS


def test_a_number_that_is_none_is_rejected(tmp_path: Path) -> None:
    judge = load_judge(JUDGE, write_metric_gate(tmp_path, nan=True))
    found = Gatekeeper(judge, GateOptions()).judge_alone(View.TOP, GOOD)
    assert (found.verdict, found.reason) == (Verdict.REJECT, "the prediction is not a number")


def _without(name: str) -> Callable[[Path], object]:
    return lambda model: (model / name).unlink()


def _shortened(model: Path) -> None:
    file = model / "network.onnx"
    file.write_bytes(file.read_bytes()[:-1])


def _of_another_version(model: Path) -> None:
    card = json.loads((model / "card.json").read_text())
    (model / "card.json").write_text(json.dumps(card | {"input_version": "square 0 32x32"}))


@pytest.mark.parametrize(
    ("damage", "line"),
    [
        (shutil.rmtree, "cannot read the card"),
        (_without("card.json"), "cannot read the card"),
        (_without("network.onnx"), "cannot read the network"),
        (_shortened, "not the one of its card"),
        (_of_another_version, "measured otherwise"),
        (lambda model: write_network(model, 0.5, square=True), "not the network of the fit"),
    ],
)
def test_without_the_model_of_its_fit_there_is_no_judge(
    damage: Callable[[Path], object], line: str, tmp_path: Path
) -> None:
    file = write_metric_gate(tmp_path)
    load_judge(JUDGE, file)
    damage(tmp_path / "gate" / "model")
    with pytest.raises(InputError, match=line):
        load_judge(JUDGE, file)


def test_a_fit_without_a_copy_of_its_model_is_refused(tmp_path: Path) -> None:
    file = write_gate(tmp_path, judge=str(JUDGE), networks=None)
    with pytest.raises(InputError, match="no copy of its model; expected run `embodied-iqa gate fit` again"):
        load_judge(JUDGE, file)
