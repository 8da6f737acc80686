"""Incomplete and hostile recordings: the page says what is missing and stays complete."""

from __future__ import annotations

import dataclasses
import shutil
from pathlib import Path

import lxml.html
import numpy as np
import pytest
from report_pages import CONTEXT, article, page_of, reported, with_run, words
from synthetic_trial import (
    BLURRED,
    PERIOD_NS,
    REFERENCE,
    SECOND_NS,
    T_START,
    RunPlan,
    Script,
    chunk,
    write_trial,
)

from embodied_iqa.arm.verdict import Verdict
from embodied_iqa.data.recording.trial_reading import read_trial
from embodied_iqa.data.recording.trial_record import TrialRecord
from embodied_iqa.imaging.distortions import DistortionSpec
from embodied_iqa.imaging.images.assembler import Source
from embodied_iqa.imaging.images.frame import View
from embodied_iqa.models.scoring.execution_score import Outcome
from embodied_iqa.pages.reports.trial.run_images import moment_of
from embodied_iqa.runs.offline.stored_run import RunContext

HOSTILE = "</style><script>alert(1)</script><img src=x onerror=alert(2)>\"'&{{ 7*7 }}\u202egnp.exe"
START_NS = 100 * SECOND_NS


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_trial(tmp_path_factory.mktemp("run") / "trial.mcap", (REFERENCE, BLURRED))


@pytest.fixture(scope="module")
def record(recording: Path) -> TrialRecord:
    return read_trial(recording)


def _page(recording: Path, record: TrialRecord, folder: Path) -> lxml.html.HtmlElement:
    return page_of([reported(recording, record)], folder)


def test_no_task_at_all(tmp_path: Path) -> None:
    page = page_of([], tmp_path, RunContext("empty"))
    assert words(page.find(".//h1")) == "No run was recorded."
    assert "Date not recorded" in words(page)
    assert "The configuration was not recorded." in words(page)


def test_only_a_start(tmp_path: Path) -> None:
    script = Script(tmp_path / "trial.mcap")
    script.run_start(0, START_NS, None)
    page = page_of([reported(script.close())], tmp_path)
    text = words(article(page, 0))
    for sentence in (
        "No end recorded",
        "The recording has no end of this run",
        "No image of the start was recorded.",
        "The gate judged no frame in this run.",
        "No answer was recorded.",
        "No decision was recorded.",
        "No tool poses were recorded.",
        "No verdict was recorded.",
    ):
        assert sentence in text
    assert words(page.find(".//h1")) == "On undistorted images 1 task has no recorded end."
    assert not page.xpath("//img")


@pytest.mark.parametrize("gone", ["answers", "chunks", "verdicts"])
def test_one_kind_of_message_is_missing(
    recording: Path, record: TrialRecord, tmp_path: Path, gone: str
) -> None:
    changed = with_run(record, 1, **{gone: ()})
    text = words(article(_page(recording, changed, tmp_path), 1))
    sentences = {
        "answers": "There is no pair of answers about the same frame.",
        "chunks": "There is no pair of decisions on the same frame.",
        "verdicts": "The gate judged no frame in this run.",
    }
    for name, sentence in sentences.items():
        assert (sentence in text) == (name == gone)


def test_what_was_said_and_has_no_constants_names_the_command_that_measures_them(
    recording: Path, record: TrialRecord, tmp_path: Path
) -> None:
    task = reported(recording, record)
    scores = tuple(dataclasses.replace(run, cognition=None, decision=None) for run in task.scores)
    page = page_of([dataclasses.replace(task, scores=scores)], tmp_path)
    text = words(article(page, 1))
    run = record.runs[1]
    for what, name in (("answers", run.answers[0].subject), ("decisions", run.chunks[0].subject)):
        assert f"There are {what} to compare, and no constants of their model and version:" in text
        assert f"subjects calibrate {name}" in text
    assert "There is no pair" not in text


@pytest.mark.parametrize("source", list(Source))
def test_one_of_the_two_images_got_no_answer(
    recording: Path, record: TrialRecord, tmp_path: Path, source: Source
) -> None:
    answers = tuple(a for a in record.runs[1].answers if a.source is not source)
    part = article(_page(recording, with_run(record, 1, answers=answers), tmp_path), 1)
    assert words(part).count("No answer was recorded.") == 1
    assert not part.xpath(".//mark")


def test_a_model_that_says_nothing(recording: Path, record: TrialRecord, tmp_path: Path) -> None:
    answers = tuple(dataclasses.replace(a, answer=" ") for a in record.runs[1].answers)
    part = article(_page(recording, with_run(record, 1, answers=answers), tmp_path), 1)
    assert words(part).count("The model had nothing to say.") == 2


def test_no_end_of_a_run(recording: Path, record: TrialRecord, tmp_path: Path) -> None:
    page = _page(recording, with_run(record, 0, outcome=None), tmp_path)
    assert "Needs the end of this run and of the reference run." in words(article(page, 1))
    assert "No end recorded" in words(article(page, 0))


def test_a_failure_beside_a_failed_reference_run_has_no_score(
    recording: Path, record: TrialRecord, tmp_path: Path
) -> None:
    failed = with_run(record, 0, outcome=Outcome.FAILURE)
    page = _page(recording, failed, tmp_path)
    assert "The reference run itself failed" in words(article(page, 0))
    assert "the distance between two failures says nothing" in words(article(page, 1))
    assert [words(cell) for cell in page.xpath("//td[@data-label='Execution']")] == ["\N{EM DASH}"] * 2
    (tile,) = page.xpath("//ul[@class='tiles']/li[contains(., 'Execution')]")
    assert "mean of 0 distorted runs" in words(tile)


def test_a_run_that_the_gate_held_is_named(recording: Path, record: TrialRecord, tmp_path: Path) -> None:
    held = with_run(record, 1, outcome=Outcome.HELD_BY_GATE, reason="held by the gate: too dark")
    page = _page(recording, held, tmp_path)
    assert "1 was held by the gate" in words(page.find(".//h1"))
    camera = "camera_node: no image of top on /lab/image_raw for 2 s (none since 10:00:00 UTC)"
    blind = dataclasses.replace(held.runs[1], reason=f"held by the gate: no lease; {camera}; judged: done")
    dead = dataclasses.replace(held, runs=(held.runs[0], blind))
    assert f"a camera was silent ({camera})" in words(_page(recording, dead, tmp_path).find(".//h1"))
    text = words(article(page, 1))
    assert "Held by the gate" in text
    assert "The gate kept the arm from moving: this says nothing about the policy." in text
    reference = with_run(record, 0, outcome=Outcome.HELD_BY_GATE)
    failed = dataclasses.replace(reference.runs[1], outcome=Outcome.FAILURE)
    both = dataclasses.replace(reference, runs=(reference.runs[0], failed))
    assert "The reference run was held by the gate" in words(article(_page(recording, both, tmp_path), 1))


def test_no_reference_run(recording: Path, record: TrialRecord, tmp_path: Path) -> None:
    alone = dataclasses.replace(record, runs=record.runs[1:])
    page = _page(recording, alone, tmp_path)
    assert "The recording has no reference run" in words(page)
    assert words(page.find(".//h1")) == "Under 1 distortion 0 of 1 run succeeded."


@pytest.mark.parametrize("broken", ["increments", "T_base_tool", "latency_ms"])
def test_numbers_that_are_not_finite(
    recording: Path, record: TrialRecord, tmp_path: Path, broken: str
) -> None:
    run = record.runs[1]
    value = {
        "increments": np.full((3, 7), np.nan),
        "T_base_tool": np.full((4, 4), np.inf),
        "latency_ms": float("nan"),
    }
    chunks = tuple(dataclasses.replace(c, **{broken: value[broken]}) for c in run.chunks)
    changed = with_run(record, 1, chunks=chunks)
    task = dataclasses.replace(reported(recording, record), record=changed)
    page = page_of([task], tmp_path)
    assert "not a number" in words(article(page, 1))
    text = lxml.html.tostring(page, encoding="unicode")
    assert "nan" not in text.replace("finance", "").split("data:image")[0]
    for points in page.xpath("//@points"):
        assert "nan" not in points
        assert "inf" not in points


def test_a_tool_path_with_holes(recording: Path, record: TrialRecord, tmp_path: Path) -> None:
    path = record.runs[1].tool_path.copy()
    path[1] = np.nan
    page = _page(recording, with_run(record, 1, tool_path=path), tmp_path)
    assert len(article(page, 1).xpath(".//*[@class='plot']")) == 2
    assert not [points for points in page.xpath("//@points") if "nan" in points]


def test_a_distortion_that_is_not_known(recording: Path, record: TrialRecord, tmp_path: Path) -> None:
    page = _page(recording, with_run(record, 1, distortion=DistortionSpec("77", 2)), tmp_path)
    part = article(page, 1)
    assert "Distortion 77" in words(part)
    assert "cannot be recomputed: unknown distortion" in words(part)
    assert len(part.xpath(".//img")) == 2


def test_recording_is_gone_or_cut_short(recording: Path, record: TrialRecord, tmp_path: Path) -> None:
    page = _page(tmp_path / "gone.mcap", record, tmp_path)
    assert "Images cannot be read: " in words(page)
    assert "Images cannot be read: 'gone.mcap' cannot be read" in words(page)
    assert str(tmp_path) not in words(page)
    cut = tmp_path / "cut.mcap"
    shutil.copy(recording, cut)
    with cut.open("r+b") as file:
        file.truncate(cut.stat().st_size // 2)
    page = _page(cut, record, tmp_path)
    assert "is cut short" in words(page)
    assert len(page.xpath("//article")) == 2


def test_one_camera_without_model_and_pose(tmp_path: Path) -> None:
    script = Script(tmp_path / "trial.mcap")
    script.run_start(0, START_NS, None)
    script.images_only(START_NS)
    script.decision(START_NS, Source.RAW, chunk())
    script.decision(START_NS, Source.DISTORTED, chunk())
    script.run_end(0, START_NS + SECOND_NS, REFERENCE, T_START, 2)
    part = article(page_of([reported(script.close())], tmp_path), 0)
    assert words(part).count("No camera model and no pose of the camera was recorded") == 2
    assert len(part.xpath(".//img")) == 2
    assert len(part.xpath(".//*[@class='overlay']")) == 1, "the target needs no camera model"


def test_cameras_that_are_not_triggered_together(tmp_path: Path) -> None:
    script = Script(tmp_path / "trial.mcap")
    script.run_start(0, START_NS, None)
    for view, offset_ns in ((View.TOP, 0), (View.WRIST, 30_000_000), (View.SIDE, 400_000_000)):
        script.views = (view,)
        script.images(START_NS + SECOND_NS + offset_ns)
        script.verdict(START_NS + SECOND_NS, view, Verdict.PASS)
    script.decision(START_NS + SECOND_NS, Source.RAW, chunk())
    script.decision(START_NS + SECOND_NS, Source.DISTORTED, chunk())
    script.run_end(0, START_NS + 2 * SECOND_NS, REFERENCE, T_START, 3)
    part = article(page_of([reported(script.close())], tmp_path), 0)
    assert len(part.xpath(".//img")) == 2
    assert words(part).count("after the moment shown") == 1
    assert "Taken 0.030 s after the moment shown." in words(part).replace("\xa0", " ")
    assert "No image of this moment was recorded by: side." in words(part)


def test_late_messages_are_found(tmp_path: Path) -> None:
    """Whatever clock the recorder logged with."""
    script = Script(tmp_path / "trial.mcap")
    script.run_start(0, START_NS, None)
    script.log_offset_ns = 10**18
    script.images(START_NS)
    script.log_offset_ns = 0
    script.run_end(0, START_NS + PERIOD_NS, REFERENCE, T_START, 2)
    part = article(page_of([reported(script.close())], tmp_path), 0)
    assert len(part.xpath(".//img")) == 2


def test_hostile_words_stay_words(tmp_path: Path) -> None:
    plan = RunPlan(BLURRED.spec, reason=HOSTILE, answer=HOSTILE)
    path = write_trial(tmp_path / "trial.mcap", (REFERENCE, plan), task=HOSTILE)
    evil = dataclasses.replace(
        CONTEXT,
        run_id=HOSTILE,
        command_line=HOSTILE,
        git_hash=HOSTILE,
        config_text=HOSTILE,
        versions={HOSTILE: HOSTILE},
        remarks=(HOSTILE,),
    )
    page = page_of([reported(path)], tmp_path, evil)
    assert not page.xpath("//script|//*[@onerror]|//img[@src='x']")
    assert words(page).count("alert(1)") >= 10
    assert "{{ 7*7 }}" in words(page)
    assert page.xpath("//blockquote[contains(., '</style>')]")


@pytest.mark.parametrize("task", ["取红色方块 🟥", "خذ المكعب الأحمر", "nul \x00 and \x1b[31m and \x85"])
def test_any_writing(tmp_path: Path, task: str) -> None:
    path = write_trial(tmp_path / "trial.mcap", (REFERENCE,), task=task)
    page = page_of([reported(path)], tmp_path)
    raw = (tmp_path / "report.html").read_bytes()
    assert not any(byte in raw for byte in b"\x00\x1b")
    assert b"\xc2\x85" not in raw
    first = task.split(maxsplit=1)[0]
    assert first in words(page.xpath("//section[@class='task']//h2")[0])


def test_lone_surrogates_do_not_stop_the_page(tmp_path: Path) -> None:
    page = page_of([], tmp_path, RunContext("a\ud800b"))
    assert "a\N{REPLACEMENT CHARACTER}b" in words(page)


def test_very_long_words(tmp_path: Path, recording: Path, record: TrialRecord) -> None:
    answers = tuple(dataclasses.replace(a, answer="x" * 20_000) for a in record.runs[1].answers)
    page = _page(recording, with_run(record, 1, answers=answers), tmp_path)
    assert (tmp_path / "report.html").stat().st_size < 2_000_000
    assert page.xpath("//blockquote")


def test_a_run_in_which_the_policy_saw_no_target_is_named(
    recording: Path, record: TrialRecord, tmp_path: Path
) -> None:
    refused = with_run(record, 1, outcome=Outcome.NO_TARGET, reason="the policy saw no target")
    page = _page(recording, refused, tmp_path)
    assert "in 1 the policy saw no target" in words(page.find(".//h1"))
    assert "No target" in words(article(page, 1))
    both = with_run(refused, 0, outcome=Outcome.NO_TARGET)
    assert "The reference run failed too" in words(article(_page(recording, both, tmp_path), 1))


def test_a_later_decision_is_not_called_the_first_where_that_has_no_reference(recording: Path) -> None:
    run = read_trial(recording).runs[0]
    raw, distorted = run.decisions()[0]
    later = [dataclasses.replace(chunk, sequence=distorted.sequence + 1) for chunk in (raw, distorted)]
    assert moment_of(run).name == "the first decision"
    skipped = dataclasses.replace(run, chunks=(distorted, *later))
    assert moment_of(skipped).name == "the first decision with a reference"
