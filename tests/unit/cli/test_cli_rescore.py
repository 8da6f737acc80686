"""`embodied-iqa rescore` of a recording with a bad part: the rest is scored, and the exit code says so."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import trial_recording
from embodied_iqa.base.errors import InputError
from embodied_iqa.cli import rescore
from embodied_iqa.cli.main import main
from embodied_iqa.data.recording.trial_reading import read_trial
from embodied_iqa.data.recording.trial_record import ANSWERED
from embodied_iqa.imaging.distortions import DistortionSpec
from embodied_iqa.imaging.images.frame import View
from embodied_iqa.pages.reports.trial.trial_report import report_of_folder
from trial_recording import (
    PERIOD_NS,
    PixelVla,
    PixelVlm,
    Recorder,
    pixel_subjects,
    start_ns,
    write_trial,
)

__all__ = ["pixel_subjects"]


pytestmark = pytest.mark.usefixtures("pixel_subjects")


@pytest.mark.parametrize(("frame", "code"), [(0, 1), (1, 0)])
def test_an_invalid_pose_fails_only_what_needed_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], frame: int, code: int
) -> None:
    path = write_trial(tmp_path / "trial.mcap", poses={(1, frame, View.TOP): 0.0})
    assert main(["rescore", str(path), "--out", str(tmp_path / "out")]) == code
    written = json.loads((tmp_path / "out" / "scores.json").read_text(encoding="utf-8"))
    assert len(written["runs"]) == 2
    bad_ns = start_ns(1) + frame * PERIOD_NS
    said = capsys.readouterr().out.replace("\n", " ")
    assert f"note: top/pose at {bad_ns} ns: " in said
    assert (f"the decision at {bad_ns} ns is left out" in said) == bool(code)


@pytest.mark.parametrize("role", ["vlm", "vla"])
def test_a_subject_that_fails_once_leaves_the_rest_and_fails_the_command(
    role: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path, out = write_trial(tmp_path / "trial.mcap"), tmp_path / "out"
    kind, name = (PixelVlm, "answer") if role == "vlm" else (PixelVla, "act")
    before, asked = getattr(kind, name), list[object]()

    def fail(*of: Any) -> object:
        asked.append(of)
        if len(asked) == 1:
            raise RuntimeError("no memory")
        return before(*of)

    monkeypatch.setattr(kind, name, fail)
    assert main(["rescore", str(path), "--out", str(out)]) == 1
    assert (
        f"note: pixel-{role} failed at {start_ns(0)} ns: RuntimeError: no memory" in capsys.readouterr().out
    )
    assert (out / "scores.json").is_file()


@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("vlm_node.subject=panel-vlm-plain", "expected --vlm SUBJECT with --task TEXT and --distortion"),
        ("vla_node.subject=panel-vla-side", "expected --vla SUBJECT with --task TEXT and --distortion"),
        ("gate_node.judge.mode=off", "expected a parameter of gate_node.calibration, gate_node.judge, vlm_"),
        ("vla_node.policy.pairing_tolerance_s=0.1", "expected a parameter of"),
        ("arm_node.robot=ur5", "expected a parameter of"),
        ("camera_node.wide=5", "unknown parameter"),
    ],
)
def test_a_parameter_that_rescoring_does_not_use_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], word: str, said: str
) -> None:
    path = write_trial(tmp_path / "trial.mcap")
    assert main(["rescore", str(path), "--set", word]) == 2
    error = capsys.readouterr().err
    assert said in error
    assert ("rescoring does not use " + word.partition("=")[0] in error) == ("unknown" not in said)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--attach"], "--attach needs --playback"),
        (
            ["--playback", "--attach", "--set", "gate_node.judge.mode=off"],
            "--attach starts playback_node alone, gate_node.judge.mode is of another node",
        ),
    ],
)
def test_nodes_that_run_already_keep_their_parameters(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], words: list[str], said: str
) -> None:
    out = tmp_path / "out"
    assert main(["rescore", str(write_trial(tmp_path / "trial.mcap")), *words, "--out", str(out)]) == 2
    assert said in capsys.readouterr().err
    assert not out.exists()


def test_parameters_that_rescoring_uses_are_taken(tmp_path: Path) -> None:
    used = {
        "vlm_node.decoding.max_new_tokens": 9,
        "vla_node.policy.seed": 1,
        "gate_node.judge.trip_frames": 2,
        "arm_node.controller.lease.ttl_s": 0.3,
    }
    words = [word for name, value in used.items() for word in ("--set", f"{name}={value}")]
    assert main(["rescore", str(write_trial(tmp_path / "trial.mcap")), *words]) == 0


def test_the_subjects_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    recording, out = write_trial(tmp_path / "trial.mcap"), tmp_path / "out"
    assert main(["rescore", str(recording), "--out", str(out)]) == 0
    said = capsys.readouterr().out
    assert said.index("\nsubjects: VLM pixel-vlm, VLA pixel-vla\n") < said.index("cognition")
    tree = json.loads((out / "scores.json").read_text(encoding="utf-8"))
    assert tree["subjects"] == {"vlm": {"pixel-vlm": "1"}, "vla": {"pixel-vla": "1"}}
    assert main(["rescore", str(recording), "--without", "cognition", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["subjects"]["vlm"] == {}


class _CutRecorder(Recorder):
    """Records a trial that was killed in its second run."""

    def event(self, kind: int, run: int, stamp: int, spec: DistortionSpec | None, **fields: Any) -> None:
        if (kind, run) != (3, 1):
            super().event(kind, run, stamp, spec, **fields)


def test_a_run_that_was_cut_off_is_not_one_that_was_never_executed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(trial_recording, "Recorder", _CutRecorder)
    assert main(["rescore", str(write_trial(tmp_path / "trial.mcap"))]) == 0
    said = capsys.readouterr().out
    assert "cut off" in said
    assert "not executed" not in said


class _ArmlessRecorder(Recorder):
    """Records a trial without an arm, which ends as one does whose subjects have answered."""

    def event(self, kind: int, run: int, stamp: int, spec: DistortionSpec | None, **fields: Any) -> None:
        ending = {"outcome": 0, "reason": ANSWERED} if kind == 3 else {}
        super().event(kind, run, stamp, spec, **(fields | ending))


def test_a_trial_without_an_arm_is_not_executed_and_not_cut_off(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(trial_recording, "Recorder", _ArmlessRecorder)
    recording = write_trial(tmp_path / "trial.mcap")
    assert main(["rescore", str(recording)]) == 0
    said = capsys.readouterr().out
    assert "not executed" in said
    assert "cut off" not in said
    assert not read_trial(recording).was_executed


def test_only_what_is_written_has_a_report(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    recording, out = write_trial(tmp_path / "trial.mcap"), tmp_path / "out"
    assert main(["rescore", str(recording)]) == 0
    said = capsys.readouterr()
    assert "embodied-iqa report" not in said.out + said.err
    assert "--out DIR keeps them" in said.err
    assert main(["rescore", str(recording), "--out", str(out)]) == 0
    said = capsys.readouterr()
    assert f"embodied-iqa report {out}" in (said.out + said.err).replace("\n", " ")
    assert "--out DIR" not in said.err


def test_a_subject_that_is_not_there_may_be_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def down(*_: object) -> PixelVla:
        raise InputError("no policy server answers at 127.0.0.1:8000")

    monkeypatch.setattr(rescore, "make_vla", down)
    path, out = write_trial(tmp_path / "trial.mcap"), tmp_path / "out"
    assert main(["rescore", str(path), "--out", str(out)]) == 1
    assert "--without decision scores the rest" in capsys.readouterr().err
    assert not out.exists()
    words = ("--without", "decision", "--without", "cognition")
    assert main(["rescore", str(path), "--out", str(out), *words]) == 0
    tree = json.loads((out / "scores.json").read_text(encoding="utf-8"))
    assert "decision is not scored: --without decision" in tree["remarks"]
    assert "cognition is not scored: --without cognition" in tree["remarks"]
    for run in tree["runs"]:
        assert (run["cognition"], run["decision"], run["execution"]["outcome"]) == (None, None, "success")
    assert tree["without"] == ["decision", "cognition"]
    page = report_of_folder(out).read_text(encoding="utf-8")
    for part in ("decision", "cognition"):
        assert page.count(f"Left out: <code>rescore --without {part}</code> did not ask") == len(tree["runs"])
    assert "no constants" not in page
    assert main(["rescore", str(path), "--playback", "--out", str(tmp_path / "p"), *words]) == 2
    assert main(["rescore", str(path), "--task", "pick it", *words]) == 2


def test_subjects_are_closed_at_the_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    closed: list[str] = []

    class Vlm(PixelVlm):
        def close(self) -> None:
            closed.append("vlm")

    class Vla(PixelVla):
        def close(self) -> None:
            closed.append("vla")

    monkeypatch.setattr(rescore, "make_vlm", lambda *_: Vlm())
    monkeypatch.setattr(rescore, "make_vla", lambda *_: Vla())
    assert main(["rescore", str(write_trial(tmp_path / "trial.mcap"))]) == 0
    assert sorted(closed) == ["vla", "vlm"]
