"""A report from a run's folder alone, and `embodied-iqa report`."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import lxml.html
import pytest
import yaml
from report_pages import page_of, reported, words
from synthetic_trial import BLURRED, NOISY, REFERENCE, VERSION, Script, write_trial

import embodied_iqa
from embodied_iqa.base.errors import InputError, UsageError
from embodied_iqa.base.resources import source_checkout
from embodied_iqa.cli.main import main
from embodied_iqa.data.recording.trial_reading import read_trial
from embodied_iqa.data.recording.trial_record import TrialRecord
from embodied_iqa.pages.reports.trial.trial_report import report_of_folder
from embodied_iqa.runs.graph.session_results import score_session
from embodied_iqa.runs.offline.stored_run import load_run, load_scores
from embodied_iqa.runs.trial.scores import RECIPES, as_json
from live_process import COMPLETION_S

CONFIG = {
    "run": {
        "id": "2026-03-04_121530",
        "started": "2026-03-04T12:15:30+01:00",
        "command": "embodied-iqa trial",
        "git_hash": "0123abc",
    },
    "versions": {"embodied_iqa": "0.1.0"},
    "parameters": {"gate_node": {"judge.mode": "on"}},
}


@pytest.mark.parametrize(
    ("metadata", "arm"),
    [
        ({"arm_node.robot": "sim", "sim_node.arm_model": "ur5e"}, "simulated ur5e"),
        ({"arm_node.robot": "sim"}, ""),
        ({"arm_node.robot": "ur5", "arm_node.model": "ur10e", "sim_node.arm_model": "ur5"}, "ur10e"),
        ({"arm_node.robot": "none", "arm_node.model": "unset"}, "none"),
        ({}, ""),
    ],
)
def test_the_report_names_the_arm_that_was_recorded(
    tmp_path: Path, metadata: dict[str, str], arm: str
) -> None:
    recording = write_trial(tmp_path / "trial.mcap", (REFERENCE,), metadata=metadata)
    _, context = load_run(tmp_path)
    assert context.arm == arm
    page = lxml.html.fromstring(report_of_folder(recording.parent).read_text(encoding="utf-8"))
    (shown,) = page.xpath("//dl[@class='origin']//dt[text()='Arm']/following-sibling::dd")
    assert words(shown) == (arm or "not recorded")


def test_scores_and_report_say_that_a_trial_has_no_vlm(tmp_path: Path) -> None:
    recording = write_trial(tmp_path / "trial.mcap", metadata={"trial_node.has_vlm": "False"})
    record = read_trial(recording)
    silent = replace(record, runs=tuple(replace(run, answers=()) for run in record.runs))
    scores = score_session("x", silent)
    assert scores.remarks[0] == "the trial has no VLM: no run has a cognition score"
    assert {run["cognition"] for run in scores.tree()["runs"]} == {None}
    page = page_of([reported(recording, silent)], tmp_path / "report.html")
    texts = [words(element) for element in page.xpath("//*[contains(text(), 'The trial has no VLM.')]")]
    assert len(texts) == 2 * len(record.runs)
    assert read_trial(write_trial(tmp_path / "older.mcap", (REFERENCE,), metadata={})).has_vlm


def _write_scores(path: Path, *recordings: Path) -> None:
    runs = [as_json(scores) for recording in recordings for scores in reported(recording).scores]
    tree = {"schema": 1, "run": "x", "recipes": RECIPES, "versions": {"numpy": "2"}, "remarks": ["late"]}
    path.write_text(json.dumps(tree | {"runs": runs}), encoding="utf-8")


@pytest.fixture(scope="module")
def single(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("single")
    recording = write_trial(folder / "trial.mcap", (REFERENCE, BLURRED))
    _write_scores(folder / "scores.json", recording)
    (folder / "config.yaml").write_text(yaml.safe_dump(CONFIG), encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def several(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("several")
    recordings = []
    for task in ("push the green cylinder", "pick the red cube"):
        (folder / task[:4]).mkdir()
        recordings.append(write_trial(folder / task[:4] / "trial.mcap", (REFERENCE, NOISY), task=task))
    _write_scores(folder / "scores.json", *recordings)
    return folder


@pytest.fixture
def copy(single: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(single, tmp_path / "copy"))


def test_scores_survive_the_file(single: Path) -> None:
    stored = load_scores(single / "scores.json")
    assert stored.runs == reported(single / "trial.mcap").scores
    assert stored.versions == {"numpy": "2"}
    assert stored.remarks == ("late",)


def test_scores_of_an_older_file_have_unknown_refusals(copy: Path) -> None:
    file = copy / "scores.json"
    tree = json.loads(file.read_text("utf-8"))
    for run in tree["runs"]:
        if run["decision"] is not None:
            del run["decision"]["refused"]
    file.write_text(json.dumps(tree), "utf-8")
    decisions = [run.decision for run in load_scores(file).runs if run.decision is not None]
    assert decisions
    assert all(decision.refused is None for decision in decisions)


def test_a_folder_with_one_task(single: Path) -> None:
    (task,), context = load_run(single)
    assert isinstance(task.record, TrialRecord)
    assert task.recording == single / "trial.mcap"
    assert context.run_id == "2026-03-04_121530"
    assert context.date is not None
    assert context.date.isoformat() == "2026-03-04T12:15:30+01:00"
    assert context.git_hash == "0123abc"
    assert context.versions == {"embodied_iqa": "0.1.0", "classical-vlm": VERSION, "classical-vla": VERSION}
    assert context.seeds == {"scene of 'Pick up the red cube.'": 7, "distortion 02:5": 3}
    assert yaml.safe_load(context.config_text) == CONFIG
    assert context.remarks == ("late",)


def test_the_report_of_a_run_is_followed_by_the_studio(
    copy: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["report", str(copy)]) == 0
    assert f"next: embodied-iqa studio {copy}" in capsys.readouterr().err


def test_a_folder_with_several_tasks_keeps_their_order(several: Path) -> None:
    tasks, context = load_run(several)
    assert [task.record.task for task in tasks] == ["push the green cylinder", "pick the red cube"]
    assert context.run_id == several.name
    assert context.config_text == ""


def test_scores_beside_each_recording_are_enough(several: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(several, tmp_path / "own"))
    (folder / "scores.json").unlink()
    for recording in folder.glob("*/trial.mcap"):
        _write_scores(recording.parent / "scores.json", recording)
    tasks, _ = load_run(folder)
    assert len(tasks) == 2


def test_the_command_writes_the_page(copy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", str(copy)]) == 0
    assert "report.html" in capsys.readouterr().out
    page = lxml.html.document_fromstring((copy / "report.html").read_text(encoding="utf-8"))
    assert "2026-03-04_121530" in words(page)
    assert len(page.xpath("//article")) == 2


def test_the_page_can_be_written_elsewhere(copy: Path, tmp_path: Path) -> None:
    out = tmp_path / "pages" / "mine.html"
    assert report_of_folder(copy, out) == out
    assert out.is_file()
    assert not (copy / "report.html").exists()


def test_what_is_needed(copy: Path) -> None:
    (copy / "trial.mcap").unlink()
    with pytest.raises(InputError, match="no recording in"):
        report_of_folder(copy)
    assert not (copy / "report.html").exists()


@pytest.fixture
def interrupted(several: Path, tmp_path: Path) -> Path:
    """As an interrupted session leaves it: no scores, and nothing of the last task."""
    folder = Path(shutil.copytree(several, tmp_path / "interrupted"))
    (folder / "scores.json").unlink()
    (folder / "pick" / "trial.mcap").unlink()
    Script(folder / "pick" / "trial.mcap").close()
    plan = {"tasks": ["push the green cylinder", "pick the red cube"], "distortions": [{"id": "10"}]}
    (folder / "config.yaml").write_text(yaml.safe_dump(plan), encoding="utf-8")
    return folder


def test_an_interrupted_session_is_reported_as_far_as_it_was_recorded(
    interrupted: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["report", str(interrupted)]) == 0
    assert "report.html" in capsys.readouterr().out
    page = lxml.html.document_fromstring((interrupted / "report.html").read_text(encoding="utf-8"))
    assert len(page.xpath("//article")) == 2
    assert "pick: trial.mcap holds no run of a trial" in words(page)
    assert "The session did not finish: 2 of 4 runs were recorded to their end." in words(page)
    (run,) = embodied_iqa.open_run(interrupted).tasks
    assert run.scores == reported(interrupted / "push" / "trial.mcap").scores
    (interrupted / "push" / "trial.mcap").unlink()
    assert main(["report", str(interrupted)]) == 1
    assert "holds no run of a trial" in capsys.readouterr().err


def test_a_killed_recorder_is_recovered_by_the_report(
    interrupted: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    recording = interrupted / "push" / "trial.mcap"
    size = recording.stat().st_size
    with recording.open("r+b") as file:
        file.truncate(size // 2)
    (interrupted / "pick" / "trial.mcap").write_bytes(recording.read_bytes()[:20])
    assert main(["report", str(interrupted)]) == 0
    said = capsys.readouterr().out
    assert re.search(r"push/trial.mcap was cut short; recovered \d+ messages: .*trial.recovered", said)
    page = lxml.html.document_fromstring((interrupted / "report.html").read_text(encoding="utf-8"))
    assert "pick: 'trial.mcap' is cut short" in words(page)
    assert "No end recorded" in words(page)
    assert "of 4 runs were recorded to their end" in words(page)
    assert page.xpath("//img"), "images come from the recovered recording"
    assert recording.stat().st_size == size // 2, "the original stays as it is"
    page = {"report": str(interrupted / "report.html"), "kind": "run"}
    assert main(["report", str(interrupted), "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == page | {"recovered": []}, "recovered once"
    copy = recording.with_name("trial.recovered.mcap")
    copy.unlink()
    assert main(["report", str(interrupted), "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == page | {"recovered": [str(copy)]}


def test_a_rescored_run_has_a_report(interrupted: Path, tmp_path: Path) -> None:
    again = tmp_path / "again"
    assert main(["rescore", str(interrupted / "push" / "trial.mcap"), "--out", str(again)]) == 0
    assert main(["report", str(again)]) == 0
    page = lxml.html.document_fromstring((again / "report.html").read_text(encoding="utf-8"))
    assert len(page.xpath("//article")) == 2
    assert page.xpath("//img")


def test_no_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", str(tmp_path / "none")]) == 1
    assert "none is not a folder" in capsys.readouterr().err


def test_a_cut_recording_says_how_to_repair_it(copy: Path) -> None:
    with (copy / "trial.mcap").open("r+b") as file:
        file.truncate(50_000)
    with pytest.raises(InputError, match="embodied-iqa recover"):
        report_of_folder(copy)


def _changed(tree: Any, path: tuple[str | int, ...], value: Any) -> None:
    for key in path[:-1]:
        tree = tree[key]
    if value is None:
        del tree[path[-1]]
    else:
        tree[path[-1]] = value


@pytest.mark.parametrize(
    ("path", "value", "said"),
    [
        (("runs", 0, "gate", "pass"), "many", r"a whole number, got 'many' at runs\[0\].gate.passed$"),
        (("runs", 1, "decision", "later"), 3, r"expected a list at runs\[1\].decision.later$"),
        (("runs", 1, "frames", "lost"), True, r"a whole number, got True at runs\[1\].frames.lost$"),
        (("runs", 1, "cognition", "bleu"), None, r"missing bleu at runs\[1\].cognition"),
        (("runs", 1, "distortion", "level"), 9, "unknown distortion level"),
        (("runs", 1, "distortion", "seed"), 4, "belong to other runs"),
        (("runs", 1, "extra"), 1, r"unknown keys extra at runs\[1\]$"),
        (("runs", 1, "scene_seed"), 8, "belong to other runs; expected 2 runs"),
        (("runs", 0), "x", r"expected a mapping at runs\[0\]$"),
        (("runs",), "x", "contains no scores"),
    ],
)
def test_wrong_scores_are_refused(copy: Path, path: tuple[str | int, ...], value: Any, said: str) -> None:
    tree = json.loads((copy / "scores.json").read_text(encoding="utf-8"))
    _changed(tree, path, value)
    (copy / "scores.json").write_text(json.dumps(tree), encoding="utf-8")
    with pytest.raises(InputError, match=said):
        load_run(copy)


@pytest.mark.parametrize("text", ["", "{", "[]", "\x00"])
def test_no_json(copy: Path, text: str) -> None:
    (copy / "scores.json").write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=r"scores\.json"):
        load_run(copy)


@pytest.mark.parametrize(
    ("text", "run_id"), [("", "copy"), ("- 1", "copy"), ("run: 3", "copy"), ("run: {id: 5, started: x}", "5")]
)
def test_a_poor_configuration_is_shown_as_it_is(copy: Path, text: str, run_id: str) -> None:
    (copy / "config.yaml").write_text(text, encoding="utf-8")
    _, context = load_run(copy)
    assert context.run_id == run_id
    assert context.config_text == text
    assert context.date is None
    assert context.versions["numpy"] == "2"


def test_a_broken_configuration_is_an_error(copy: Path) -> None:
    (copy / "config.yaml").write_text("a: [", encoding="utf-8")
    with pytest.raises(InputError, match=r"the configuration .*config.yaml:2:1: not YAML"):
        load_run(copy)


def test_the_python_interface_opens_a_run(single: Path) -> None:
    run = embodied_iqa.open_run(single)
    assert run.scores == reported(single / "trial.mcap").scores
    assert run.context.git_hash == "0123abc"
    first = next(run.images(view="top"))
    assert first.topic == "/camera/top/image_raw"
    assert first.image.rgb.shape[2] == 3
    with pytest.raises(UsageError, match="no such task; got 1"):
        next(run.images(task=1))
    script = source_checkout() / "examples" / "open_a_run.py"  # type: ignore[operator]
    done = subprocess.run(
        [sys.executable, str(script), str(single)],
        capture_output=True,
        text=True,
        check=False,
        timeout=COMPLETION_S,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("execution") == len(run.scores)
