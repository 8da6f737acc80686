"""Reading a recorded trial, and making its record again from the raw frames."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from embodied_iqa.arm.verdict import GateMode, Verdict
from embodied_iqa.base.errors import InputError
from embodied_iqa.data.recording.trial_reading import read_trial
from embodied_iqa.data.recording.trial_record import RunRecord
from embodied_iqa.imaging.distortions import FrameDistorter
from embodied_iqa.imaging.images.assembler import Source
from embodied_iqa.imaging.images.frame import Frame, View
from embodied_iqa.imaging.images.image_cdr import image_to_cdr
from embodied_iqa.models.scoring.execution_score import Outcome
from embodied_iqa.runs.offline.rescoring import Rescorer
from trial_recording import (
    NOISE,
    PERIOD_NS,
    SECOND_NS,
    TASK,
    VIEWS,
    PixelVla,
    PixelVlm,
    Recorder,
    start_ns,
    subjects,
    write_trial,
)

OWN_VIEWS = (View("front"), View("left_wrist"), View("zenith"))


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_trial(tmp_path_factory.mktemp("trial") / "trial.mcap")


def assert_same(ours: RunRecord, theirs: RunRecord) -> None:
    """Equal bit for bit, arrays and NaN included."""
    assert ours.answers == theirs.answers
    assert ours.verdicts == theirs.verdicts
    assert len(ours.chunks) == len(theirs.chunks)
    for one, other in zip(ours.chunks, theirs.chunks, strict=True):
        assert one.increments.tobytes() == other.increments.tobytes()
        assert one.T_base_tool.tobytes() == other.T_base_tool.tobytes()
        plain = {"increments": np.zeros(0), "T_base_tool": np.zeros(0)}
        for name in type(one).__slots__:
            if name not in plain:
                assert getattr(one, name) == getattr(other, name), name


def test_what_was_recorded_is_read(recording: Path) -> None:
    record = read_trial(recording)
    assert (record.task, record.scene_seed, record.metadata) == (TASK, 7, {"version": "1"})
    reference, noisy = record.runs
    assert (reference.distortion, noisy.distortion) == (None, NOISE)
    assert reference.outcome is Outcome.SUCCESS
    assert (noisy.start_ns, noisy.end_ns) == (start_ns(1), start_ns(1) + 3 * PERIOD_NS)
    assert noisy.T_base_tool[0, 3] == pytest.approx(0.5)
    assert (noisy.frames_published, noisy.frames_received) == (8, 8)
    assert noisy.gate_mode is GateMode.ON
    assert [chunk.sequence for chunk in noisy.chunks] == [3, 3, 4, 4]
    assert noisy.tool_path == pytest.approx(np.array([[PERIOD_NS / SECOND_NS, 0.0, 0.1, 0.2]]))


def test_answers_and_decisions_are_paired_by_frame(recording: Path) -> None:
    run = read_trial(recording).runs[1]
    raw, distorted = run.answer(Source.RAW), run.answer(Source.DISTORTED)
    assert raw is not None
    assert distorted is not None
    assert raw.stamp_ns == distorted.stamp_ns == run.start_ns
    assert raw.answer != distorted.answer
    pairs = run.decisions()
    assert [(a.source, b.source) for a, b in pairs] == [(Source.RAW, Source.DISTORTED)] * 2
    assert all(a.stamp_ns == b.stamp_ns and a.sequence == b.sequence for a, b in pairs)


def test_rescoring_gives_the_live_numbers_bit_for_bit(recording: Path) -> None:
    rescorer = Rescorer(recording, subjects())
    record = rescorer.record()
    for ours, theirs in zip(record.runs, rescorer.live.runs, strict=True):
        assert_same(ours, theirs)
    assert len({chunk.increments.tobytes() for run in record.runs for chunk in run.chunks}) > 4


def test_an_open_gate_passes_every_image_without_a_judge(recording: Path) -> None:
    rescorer = Rescorer(recording, replace(subjects(), judge=None))
    live = rescorer.live
    assert not any(run.verdicts for run in rescorer.record().runs)
    opened = Rescorer(recording, replace(subjects(), judge=None))
    opened.live = replace(live, runs=tuple(replace(run, gate_mode=GateMode.OFF) for run in live.runs))
    for run, recorded in zip(opened.record().runs, live.runs, strict=True):
        assert {verdict.verdict for verdict in run.verdicts} == {Verdict.PASS}
        assert len(run.verdicts) == len(recorded.verdicts)
        assert len(run.chunks) == len(recorded.chunks)


def test_rescoring_gives_the_live_numbers_of_cameras_with_any_names(tmp_path: Path) -> None:
    recording = write_trial(tmp_path / "trial.mcap", views=OWN_VIEWS)
    rescorer = Rescorer(recording, subjects(PixelVla(OWN_VIEWS)))
    record = rescorer.record()
    assert not rescorer.failures
    for ours, theirs in zip(record.runs, rescorer.live.runs, strict=True):
        assert_same(ours, theirs)
        assert {verdict.view for verdict in ours.verdicts} == set(OWN_VIEWS)
        assert {chunk.view for chunk in ours.chunks} == {"front"}
        assert ours.frames_received == 4 * len(OWN_VIEWS)


def test_rescoring_finds_the_images_of_cameras_with_stamps_of_their_own(tmp_path: Path) -> None:
    late_ns = 20_000_000
    recording = write_trial(tmp_path / "trial.mcap", offsets_ns={View.WRIST: late_ns})
    rescorer = Rescorer(recording, subjects())
    record = rescorer.record()
    assert not rescorer.failures
    for ours, theirs in zip(record.runs, rescorer.live.runs, strict=True):
        assert len(ours.chunks) == 4
        assert_same(ours, theirs)


@pytest.mark.parametrize(
    "schedule", ["burst:start=0.1,length=0.06", "ramp:start=0.06,length=0.12", "flicker:period=0.13"]
)
def test_rescoring_gives_the_live_numbers_under_a_schedule(tmp_path: Path, schedule: str) -> None:
    spec = replace(NOISE, schedule=schedule)
    recording = write_trial(tmp_path / "trial.mcap", (None, spec))
    rescorer = Rescorer(recording, subjects())
    live, again = rescorer.live.runs[1], rescorer.record().runs[1]
    assert live.distortion == spec
    assert_same(again, live)
    levels = {live.level_at(start_ns(1) + frame * PERIOD_NS) for frame in range(4)}
    assert len(levels) > 1, "the level changes in the run"
    for raw, distorted in again.decisions():
        same = raw.increments.tobytes() == distorted.increments.tobytes()
        assert same == (live.level_at(raw.stamp_ns) == 0)


def test_an_image_without_a_pose_before_the_runs_delays_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Rescorer, "_KEPT", 2)
    rescorer = Rescorer(write_trial(tmp_path / "trial.mcap", orphan=True), subjects())
    for ours, theirs in zip(rescorer.record().runs, rescorer.live.runs, strict=True):
        assert_same(ours, theirs)


def test_the_distortion_is_that_of_the_run(recording: Path) -> None:
    rescorer = Rescorer(recording, subjects())
    rescorer._distorters[1] = FrameDistorter(replace(NOISE, seed=NOISE.seed + 1))
    answer = rescorer.record().runs[1].answer(Source.DISTORTED)
    live = rescorer.live.runs[1].answer(Source.DISTORTED)
    assert answer is not None
    assert live is not None
    assert answer.answer != live.answer, "another seed, another image"


def test_progress_counts_every_image(recording: Path) -> None:
    seen: list[int] = []
    Rescorer(recording, subjects()).record(seen.append)
    assert seen == list(range(1, 17))


def test_what_the_subject_raises_is_no_decision(recording: Path) -> None:
    broken = PixelVla()
    broken.fails = True
    record = Rescorer(recording, subjects(broken)).record()
    assert {chunk.status for run in record.runs for chunk in run.chunks} == {None}
    assert record.runs[0].chunks[0].reason == "RuntimeError: no weights"
    assert not record.runs[0].chunks[0].is_decision


def test_a_vlm_that_raises_gives_no_answer_and_is_named(recording: Path) -> None:
    class Broken(PixelVlm):
        def answer(self, frame: Frame, task: str) -> str:
            raise RuntimeError("no weights")

    rescorer = Rescorer(recording, replace(subjects(), vlm=lambda _name: Broken()))
    runs = rescorer.record().runs
    assert [run.answers for run in runs] == [(), ()]
    assert rescorer.failures == [
        f"pixel-vlm failed at {start_ns(run)} ns: RuntimeError: no weights" for run in (0, 0, 1, 1)
    ]


def test_latencies_stay_those_of_the_live_run(recording: Path) -> None:
    record = Rescorer(recording, subjects()).record()
    assert {verdict.latency_ms for run in record.runs for verdict in run.verdicts} == {2.5}


def test_a_missing_image_that_was_decided_on_is_reported(tmp_path: Path) -> None:
    path = write_trial(tmp_path / "trial.mcap", skip=[(1, 2, View.WRIST)])
    rescorer = Rescorer(path, subjects())
    reference, noisy = rescorer.record().runs
    assert rescorer.is_incomplete
    stamp = start_ns(1) + 2 * PERIOD_NS
    assert len(rescorer.failures) == 1
    assert re.search(rf"lacks images.* {stamp} ns", rescorer.failures[0])
    assert_same(reference, rescorer.live.runs[0])
    assert [chunk.stamp_ns for chunk in noisy.chunks] == [start_ns(1)] * 2


@pytest.mark.parametrize("frame", [0, 1, 2])
def test_an_invalid_pose_costs_what_was_decided_on_it_and_no_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, frame: int
) -> None:
    monkeypatch.setattr(Rescorer, "_KEPT", 2)
    path = write_trial(tmp_path / "trial.mcap", poses={(1, frame, View.TOP): 0.0})
    rescorer = Rescorer(path, subjects())
    reference, noisy = rescorer.record().runs
    live = rescorer.live.runs[1]
    bad_ns = start_ns(1) + frame * PERIOD_NS
    assert_same(reference, rescorer.live.runs[0])
    assert noisy.verdicts == live.verdicts, "the image itself is whole"
    kept = [chunk for chunk in live.chunks if chunk.stamp_ns != bad_ns]
    answers = tuple(said for said in live.answers if said.stamp_ns != bad_ns)
    assert_same(noisy, replace(live, chunks=tuple(kept), answers=answers))
    assert rescorer.is_incomplete == (frame != 1), "nothing was decided on frame 1"
    assert re.match(rf"top/pose at {bad_ns} ns: .*quaternion", rescorer.failures[0])
    lost = {0: ["answer", "decision"], 1: [], 2: ["decision"]}[frame]
    assert [message.split(":")[0] for message in rescorer.failures[1:]] == [
        f"the {what} at {bad_ns} ns is left out" for what in lost
    ]


def test_a_pose_that_is_missing_delays_no_other_frame(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Rescorer, "_KEPT", 2)
    rescorer = Rescorer(write_trial(tmp_path / "trial.mcap", poses={(0, 1, View.TOP): None}), subjects())
    for ours, theirs in zip(rescorer.record().runs, rescorer.live.runs, strict=True):
        assert_same(ours, theirs)
    assert (rescorer.failures, rescorer.is_incomplete) == ([], False), "nothing was decided on it"


def test_a_decision_waits_for_a_late_pose(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Rescorer, "_KEPT", 2)
    rescorer = Rescorer(write_trial(tmp_path / "trial.mcap", late={(1, 0, View.TOP): 2}), subjects())
    for ours, theirs in zip(rescorer.record().runs, rescorer.live.runs, strict=True):
        assert_same(ours, theirs)
    assert (rescorer.failures, rescorer.is_incomplete) == ([], False)


@pytest.mark.parametrize("late", [{(1, 0, View.TOP): 3}, {}], ids=["too late", "missing"])
def test_a_pose_that_does_not_come_in_time_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, late: dict[tuple[int, int, View], int]
) -> None:
    monkeypatch.setattr(Rescorer, "_KEPT", 2)
    poses = {(1, 0, View.TOP): None}
    rescorer = Rescorer(write_trial(tmp_path / "trial.mcap", poses=poses, late=late), subjects())
    noisy = rescorer.record().runs[1]
    assert noisy.answers == ()
    assert [chunk.stamp_ns for chunk in noisy.chunks] == [start_ns(1) + 2 * PERIOD_NS] * 2
    assert [message.partition(" in /")[0] for message in rescorer.failures] == [
        f"the {what} at {start_ns(1)} ns is left out: the pose of the top frame did not come in time"
        for what in ("answer", "decision")
    ]


def test_a_run_does_not_wait_for_a_pose_of_the_one_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rescorer = Rescorer(write_trial(tmp_path / "trial.mcap", poses={(0, 2, View.TOP): None}), subjects())
    seen: list[int] = []
    judge = rescorer._judge
    monkeypatch.setattr(rescorer, "_judge", lambda *args: (seen.append(args[0].index), judge(*args))[1])
    record = rescorer.record()
    assert seen == 8 * [0] + 8 * [1]
    assert [len(run.chunks) for run in record.runs] == [2, 4]
    assert "did not come in time" in rescorer.failures[0]


def test_unknown_poses_are_no_failures(tmp_path: Path) -> None:
    unknown = {(run, frame, view): math.nan for run in (0, 1) for frame in range(4) for view in VIEWS}
    rescorer = Rescorer(write_trial(tmp_path / "trial.mcap", poses=unknown), subjects())
    for ours, theirs in zip(rescorer.record().runs, rescorer.live.runs, strict=True):
        assert_same(ours, theirs)
    assert (rescorer.failures, rescorer.is_incomplete) == ([], False)


def test_a_missing_image_that_nobody_needs_costs_one_verdict(tmp_path: Path) -> None:
    path = write_trial(tmp_path / "trial.mcap", skip=[(1, 3, View.WRIST)])
    record = Rescorer(path, subjects()).record()
    assert [run.frames_received for run in record.runs] == [8, 7]


def test_a_damaged_image_is_left_out_and_named(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path / "trial.mcap")
    recorder.event(1, 0, start_ns(0), None)
    recorder.frame(0, 0, None, decides=True)
    damaged = image_to_cdr(np.zeros((48, 64, 3), np.uint8), start_ns(0) + 1)[:300]
    recorder.writer.write("/camera/top/image_raw", damaged, start_ns(0) + 5)
    recorder.frame(0, 1, None, decides=False)
    rescorer = Rescorer(recorder.close(), subjects())
    assert rescorer.record().runs[0].frames_received == 2 * len(VIEWS)
    assert len(rescorer.failures) == 1
    assert rescorer.failures[0].startswith("top: image data is cut short")
    assert rescorer.is_incomplete


def test_published_images_are_never_fewer_than_those_recorded(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path / "trial.mcap")
    recorder.event(1, 0, start_ns(0), None)
    for frame in range(3):
        recorder.frame(0, frame, None, decides=False)
    end = {"outcome": 2, "frames_published": 4}
    recorder.event(3, 0, start_ns(0) + 2 * PERIOD_NS, None, **end)
    run = read_trial(recorder.close()).runs[0]
    assert (run.frames_published, run.frames_received) == (3 * len(VIEWS), 3 * len(VIEWS))


def test_a_run_without_an_end_is_read_as_far_as_it_goes(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path / "trial.mcap")
    recorder.event(1, 0, start_ns(0), None)
    for frame in range(3):
        recorder.frame(0, frame, None, decides=frame == 0)
    run = read_trial(recorder.close()).runs[0]
    assert run.outcome is None
    assert run.end_ns == start_ns(0) + 2 * PERIOD_NS
    assert {verdict.verdict for verdict in run.verdicts} == {Verdict.REJECT}, "no calibration: all rejected"


def test_a_recording_without_a_run_is_reported(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path / "trial.mcap")
    recorder.frame(0, 0, None, decides=False)
    with pytest.raises(InputError, match="holds no run of a trial"):
        read_trial(recorder.close())


def test_a_message_that_makes_no_sense_is_reported(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path / "trial.mcap")
    recorder.event(1, 0, start_ns(0), None)
    recorder.send("/gate/quality", "embodied_iqa_msgs/msg/ImageQuality", start_ns(0), view="side-ways")
    with pytest.raises(InputError, match=r"/gate/quality is invalid.*side-ways"):
        read_trial(recorder.close())
