"""Records of a trial read from its messages: what belongs to which run, to the nanosecond."""

from __future__ import annotations

import math
import shutil
from pathlib import Path

import numpy as np
import pytest

import trial_recording
from embodied_iqa.arm.verdict import GateMode, Verdict
from embodied_iqa.base.errors import InputError
from embodied_iqa.data.database.sources.recorded import RecordingSource
from embodied_iqa.data.frames.recording_frames import RecordingFrames
from embodied_iqa.data.recording.definitions import MessageDefinitions
from embodied_iqa.data.recording.messages import TypeStore
from embodied_iqa.data.recording.reader import TrialReader
from embodied_iqa.data.recording.trial_reading import METADATA, TOPICS, NoRunError, read_trial, was_simulated
from embodied_iqa.data.recording.writer import TrialWriter
from embodied_iqa.imaging.images.assembler import Source
from embodied_iqa.imaging.images.frame import View
from embodied_iqa.models.scoring.execution_score import Outcome
from embodied_iqa.world.protocols import ChunkStatus
from trial_recording import NOISE, OURS, TASK, Recorder, type_store, write_trial

START, OTHER, END = 1, 2, 3
ADDED = (["schedule"], ["origin"], ["level_now"])
RUNS_NS = ((1_000, 2_000), (3_000, 4_000), (5_000, 6_000))


class Tape(Recorder):
    """Messages one by one."""

    def answer_at(self, stamp: int) -> None:
        self.send("/vlm/answer", f"{OURS}/VlmAnswer", stamp, view="side", source=1, answer="a cube",
                  task=TASK, subject="s", subject_version="3", latency_ms=7.5)  # fmt: skip

    def chunk_at(
        self, stamp: int, status: int = 0, target: tuple[float, float] = (3.0, 4.0), seen: float = 0.75
    ) -> None:
        names = ("x", "y", "z", "rx", "ry", "rz", "gripper")
        rows = [dict(zip(names, first + np.arange(7.0), strict=True)) for first in (1.0, 8.0)]
        self.send("/vla/actions", f"{OURS}/ActionChunk", stamp, view="top", source=1, sequence=5, step=2,
                  other_views=["side"], other_stamps=[self.types.time(stamp - 9)],
                  status=status, reason="sees",
                  increments=[self.types.new(f"{OURS}/ActionIncrement", **row) for row in rows],
                  target_u=target[0], target_v=target[1], seen=seen, tool_pose=self.pose(0.3), gripper=0.25,
                  subject="s", subject_version="3", latency_ms=4.5, task=TASK)  # fmt: skip

    def verdict_at(self, stamp: int, mode: int | None = None) -> None:
        fields = {"view": "top", "reason": "dark", "verdict": 1}
        self.send("/gate/quality", f"{OURS}/ImageQuality", stamp, latency_ms=2.5, predicted=0.3,
                  threshold=math.nan if mode is None else 0.25, **fields)  # fmt: skip
        if mode is not None:
            self.send("/gate/lease", f"{OURS}/GateLease", stamp, mode=mode, judged=1, **fields)

    def tool_at(self, stamp: int, x: float) -> None:
        self.send("/arm/tool_pose", "geometry_msgs/msg/PoseStamped", stamp, pose=self.pose(x))

    def image_at(self, stamp: int) -> None:
        k = [60.0, 0.0, 31.5, 0.0, 60.0, 23.5, 0.0, 0.0, 1.0]
        self.send("/camera/top/camera_info", "sensor_msgs/msg/CameraInfo", stamp, k=k, width=64, height=48)


@pytest.fixture
def tape(tmp_path: Path) -> Tape:
    return Tape(tmp_path / "trial.mcap")


def test_messages_at_the_ends_of_a_run_are_its_own_and_those_beyond_are_not(tape: Tape) -> None:
    (start_ns, end_ns) = RUNS_NS[0]
    tape.event(START, 0, start_ns, None)
    tape.event(OTHER, 0, start_ns + 1, None)
    tape.event(END, 0, end_ns, None, outcome=2, reason="it fell", frames_published=2, x=0.7)
    for stamp in (start_ns - 1, start_ns, end_ns, end_ns + 1):
        tape.answer_at(stamp)
        tape.chunk_at(stamp)
        tape.verdict_at(stamp, mode=2 if stamp < start_ns else 1)
        tape.tool_at(stamp, x=float(stamp))
        tape.image_at(stamp)
    tape.image_at(start_ns + 5)
    tape.writer.close()
    (run,) = read_trial(tape.path).runs
    inside = [start_ns, end_ns]
    assert [item.stamp_ns for item in run.answers] == inside
    assert [item.stamp_ns for item in run.chunks] == inside
    assert [item.stamp_ns for item in run.verdicts] == inside
    np.testing.assert_allclose(run.tool_path, [[0.0, 1_000.0, 0.1, 0.2], [1e-6, 2_000.0, 0.1, 0.2]])
    assert (run.index, run.distortion, run.start_ns, run.end_ns) == (0, None, start_ns, end_ns)
    assert (run.outcome, run.reason, run.gate_mode) == (Outcome.FAILURE, "it fell", GateMode.SHADOW)
    assert (run.frames_published, run.frames_received) == (3, 2)
    assert run.T_base_tool[:3, 3].tolist() == [0.7, 0.1, 0.2]


def test_every_field_is_read(tape: Tape) -> None:
    tape.event(START, 0, 1_000, NOISE)
    tape.answer_at(1_100)
    tape.chunk_at(1_200)
    tape.verdict_at(1_300)
    tape.writer.close()
    record = read_trial(tape.path)
    assert (record.task, record.scene_seed, record.metadata) == (TASK, 7, {})
    (run,) = record.runs
    assert (run.distortion, run.gate_mode) == (NOISE, GateMode.OFF)
    (answer,), (chunk,), (verdict,) = run.answers, run.chunks, run.verdicts
    assert (answer.view, answer.source, answer.answer) == (View.SIDE, Source.DISTORTED, "a cube")
    assert (answer.subject, answer.subject_version, answer.latency_ms) == ("s", "3", 7.5)
    assert (chunk.view, chunk.source, chunk.sequence, chunk.step) == (View.TOP, Source.DISTORTED, 5, 2)
    assert chunk.other_frames == ((View.SIDE, 1_191),)
    np.testing.assert_array_equal(chunk.increments, np.arange(1.0, 15.0).reshape(2, 7))
    assert (chunk.status, chunk.reason, chunk.target_px) == (ChunkStatus.ACT, "sees", (3.0, 4.0))
    assert chunk.seen == 0.75
    assert (chunk.gripper, chunk.latency_ms, chunk.T_base_tool[0, 3]) == (0.25, 4.5, 0.3)
    assert (chunk.subject, chunk.subject_version) == ("s", "3")
    assert (verdict.predicted, verdict.threshold) == (0.3, None)
    assert (verdict.view, verdict.verdict, verdict.reason, verdict.latency_ms) == (
        View.TOP, Verdict.HOLD, "dark", 2.5,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("status", "expected"),
    [(0, ChunkStatus.ACT), (1, ChunkStatus.DONE), (2, ChunkStatus.NO_TARGET), (9, None)],
)
def test_the_numbers_of_a_status_are_those_of_the_message(
    tape: Tape, status: int, expected: ChunkStatus | None
) -> None:
    tape.event(START, 0, 1_000, None)
    tape.chunk_at(1_000, status, (float("nan"), 4.0))
    tape.chunk_at(1_001, status, (3.0, float("inf")), float("nan"))
    tape.verdict_at(1_001)
    tape.writer.close()
    (run,) = read_trial(tape.path).runs
    assert [(chunk.status, chunk.target_px) for chunk in run.chunks] == [(expected, None)] * 2
    assert [chunk.seen for chunk in run.chunks] == [0.75, None]


@pytest.mark.parametrize(
    ("number", "outcome"),
    [(1, Outcome.SUCCESS), (2, Outcome.FAILURE), (3, Outcome.EMERGENCY_STOP), (0, None)],
)
@pytest.mark.parametrize(("mode", "gate"), list(enumerate(GateMode)))
def test_the_numbers_of_outcome_and_mode_are_those_of_the_messages(
    tape: Tape, number: int, outcome: Outcome | None, mode: int, gate: GateMode
) -> None:
    tape.event(START, 0, 1_000, None)
    tape.verdict_at(1_500, mode)
    tape.event(END, 0, 2_000, None, outcome=number)
    tape.writer.close()
    (run,) = read_trial(tape.path).runs
    assert (run.outcome, run.gate_mode) == (outcome, gate)


def test_a_run_without_an_end_ends_with_its_last_verdict(tape: Tape) -> None:
    tape.event(START, 0, 1_000, None)
    tape.verdict_at(1_400)
    tape.verdict_at(1_300)
    tape.answer_at(1_400)
    tape.answer_at(1_401)
    tape.image_at(1_350)
    tape.writer.close()
    (run,) = read_trial(tape.path).runs
    assert (run.end_ns, run.outcome, run.reason) == (1_400, None, "")
    assert (len(run.answers), run.frames_published, run.frames_received) == (1, 1, 2)
    np.testing.assert_array_equal(run.T_base_tool, np.eye(4))


def test_a_run_with_nothing_in_it_ends_where_it_starts(tape: Tape) -> None:
    tape.event(START, 4, 1_000, None)
    tape.writer.close()
    (run,) = read_trial(tape.path).runs
    assert (run.index, run.start_ns, run.end_ns, run.tool_path.shape) == (4, 1_000, 1_000, (0, 4))


def test_a_recording_without_a_run_or_with_an_impossible_message_is_refused(tape: Tape) -> None:
    tape.event(END, 0, 1_000, None)
    tape.writer.close()
    with pytest.raises(NoRunError, match="holds no run"):
        read_trial(tape.path)
    other = Tape(tape.path.with_name("other.mcap"))
    other.event(START, 0, 1_000, None)
    other.verdict_at(1_001, mode=17)
    other.writer.close()
    with pytest.raises(InputError, match="a message on /gate/lease is invalid"):
        read_trial(other.path)


def test_a_recording_of_a_version_without_schedules_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = Path(__file__).parents[4] / "msg"
    folder = tmp_path / source.name
    shutil.copytree(source, folder)
    for file in folder.glob("msg/Distortion*.msg"):
        lines = file.read_text(encoding="utf-8").splitlines(keepends=True)
        kept = [line for line in lines if line.split(maxsplit=2)[1:2] not in ADDED]
        assert len(kept) < len(lines)
        file.write_text("".join(kept), encoding="utf-8")
    types = TypeStore(MessageDefinitions(prefixes=(), sources=(folder,)))
    monkeypatch.setattr(trial_recording, "type_store", lambda: types)
    monkeypatch.setattr(trial_recording, "asdict", lambda spec: {"id": spec.id, "level": 3, "seed": 5})
    recording = trial_recording.write_trial(tmp_path / "trial.mcap")
    with TrialReader(recording) as reader:
        assert "uint8 level_now" not in reader.topics["/trial/events"].definition
    run = read_trial(recording).runs[1]
    assert run.distortion == NOISE
    assert run.level_at(run.end_ns) == 3


@pytest.mark.parametrize("topic", TOPICS)
def test_a_topic_of_somebody_else_is_named(tmp_path: Path, topic: str) -> None:
    types, path = type_store(), tmp_path / "bag.mcap"
    with TrialWriter(path, types=types) as writer:
        writer.add_channel(topic, "std_msgs/msg/String")
        writer.write(topic, types.serialise(types.new("std_msgs/msg/String", data="x")), 5)
    with pytest.raises(InputError, match=rf"bag\.mcap: topic {topic} is of another type or version; got 'st"):
        read_trial(path)


@pytest.mark.parametrize(
    ("metadata", "simulated"),
    [({"camera_node.source": "simulated"}, True), ({"camera_node.source": "realsense"}, False), ({}, None)],
)
def test_whether_images_are_simulated_is_known_where_a_recording_says_so(
    tmp_path: Path, metadata: dict[str, str], simulated: bool | None
) -> None:
    path = write_trial(tmp_path / "trial.mcap", metadata=metadata or {"version": "1"})
    with TrialReader(path) as reader:
        assert was_simulated(reader.metadata()[METADATA]) is simulated
    assert RecordingFrames(path).is_real is (simulated is False)
    assert RecordingSource(path).real is (simulated is not True)
