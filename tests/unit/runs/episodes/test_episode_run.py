"""Runs in a world that waits for its policy: a world of the test, without images of its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pytest
from numpy.typing import NDArray

from embodied_iqa.arm.lease_options import LeaseOptions
from embodied_iqa.arm.verdict import GateMode, Verdict
from embodied_iqa.base.errors import InputError, UsageError
from embodied_iqa.imaging.distortions import DistortionSpec
from embodied_iqa.imaging.images.assembler import Source
from embodied_iqa.imaging.images.frame import View, image_frame
from embodied_iqa.models.scoring.execution_score import Outcome
from embodied_iqa.quality.gate.judge import GateOptions
from embodied_iqa.quality.gate.judgement import Judgement
from embodied_iqa.runs.episodes.episode_run import Episode, EpisodeRun
from embodied_iqa.runs.episodes.rollout_time import measure_rollout
from embodied_iqa.world.protocols import ActionChunk, ChunkStatus, SubjectInfo, VlaObservation
from embodied_iqa.world.worlds import WorldObservation, WorldTask

Array = NDArray[np.float64]

TASK = WorldTask("go", "go 10 cm", 2, 40)
DARK = DistortionSpec("19", 5)
OFF = GateOptions(mode=GateMode.OFF)
ON = GateOptions(mode=GateMode.ON, trip_frames=1, window_frames=1, recover_frames=1)
GREY = np.full((32, 32, 3), 120, np.uint8)


@dataclass
class Line:
    """A world in which the tool moves along x as it is told; done 10 cm from the start."""

    name: str = "line"
    version: str = "1"
    views: tuple[View, ...] = (View.TOP, View.WRIST)
    rate_hz: float | None = 20.0
    tasks: tuple[WorldTask, ...] = (TASK,)
    rendered: list[View] = field(default_factory=list)
    x_m: float = 0.0
    steps: int = 0
    gripper: float = 0.0
    violation: str = ""

    def open(self, task: WorldTask, state: int) -> None:
        assert task is TASK
        self.x_m, self.steps = 0.001 * state, 0

    def observe(self, views: Sequence[View]) -> WorldObservation:
        self.rendered += views
        frames = {view: replace(image_frame(GREY, view), stamp_ns=self.time_ns) for view in views}
        T = np.eye(4)
        T[0, 3] = self.x_m
        return WorldObservation(frames, T, self.gripper, np.array([self.x_m]))

    def step(self, increments: Array, T_base_tool: Array) -> int:
        assert T_base_tool[0, 3] == pytest.approx(self.x_m), "increments continue where the tool is"
        for row in increments:
            self.x_m, self.gripper = self.x_m + row[0], row[6]
            self.steps += 1
            if self.success:
                return int(np.flatnonzero((increments == row).all(axis=1))[0]) + 1
        return len(increments)

    def objects(self) -> Mapping[str, Array]:
        return {"end": np.eye(4)}

    @property
    def success(self) -> bool:
        return self.x_m > 0.0999

    @property
    def time_ns(self) -> int:
        return self.steps * 50_000_000

    def close(self) -> None:
        pass


@dataclass
class Walker:
    """Goes 4 mm a step, or the other way on an image that is not grey."""

    info: SubjectInfo = field(
        default_factory=lambda: SubjectInfo("walker", "1", "", (View.TOP, View.WRIST), rate_hz=20.0)
    )
    seen: list[VlaObservation] = field(default_factory=list)
    status: ChunkStatus = ChunkStatus.ACT

    def act(self, observation: VlaObservation) -> ActionChunk:
        self.seen.append(observation)
        if self.status is not ChunkStatus.ACT:
            return ActionChunk.still(self.status, "sees nothing")
        rows = np.zeros((8, 7))
        frames = observation.frames.values()
        rows[:, 0] = 0.004 if all((frame.rgb == 120).all() for frame in frames) else -0.004
        rows[:, 6] = 1.0
        return ActionChunk(ChunkStatus.ACT, rows, "walks")


@dataclass
class Dislikes:
    """A judge that holds images that are not grey."""

    judged: int = 0

    def judge(self, _view: View, rgb: NDArray[np.uint8] | None) -> Judgement:
        self.judged += 1
        good = rgb is not None and bool((rgb == 120).all())
        return Judgement(Verdict.PASS, "") if good else Judgement(Verdict.HOLD, "not grey", at_once=True)


def episode(**other: object) -> Episode:
    known = {"world": Line(), "task": TASK, "state": 0, "vla": Walker(), "judge": Dislikes(), "gate": OFF}
    return Episode(**{"replan_steps": 5} | known | other)  # type: ignore[arg-type]


def test_a_clean_run_succeeds_and_renders_for_decisions_only():
    world, vla = Line(), Walker()
    record = EpisodeRun(episode(world=world, vla=vla, state=1)).record()
    assert (record.outcome, world.steps, record.end_ns) == (Outcome.SUCCESS, 25, 1_250_000_000)
    assert len(vla.seen) == 5, "every five steps"
    assert world.rendered == [View.TOP, View.WRIST] * 5
    assert record.executed == (0, 1, 2, 3, 4)
    assert [chunk.source for chunk in record.chunks[:2]] == [Source.RAW, Source.DISTORTED]
    told = vla.seen[0]
    assert told.instruction == "go 10 cm"
    assert told.native_state is not None
    assert told.native_state.tolist() == [0.001]
    assert told.objects is None, "of a scripted expert only"
    assert record.frames_received == 5
    np.testing.assert_allclose(record.tool_path[-1], [1.25, 0.101, 0, 0])


def test_distorted_images_lead_elsewhere_and_both_decisions_are_kept():
    record = EpisodeRun(episode(distortion=DARK)).record()
    assert record.outcome is Outcome.FAILURE
    assert record.reason == "not done within 40 steps"
    raw, distorted = record.decisions()[0]
    assert (raw.increments[0, 0], distorted.increments[0, 0]) == (0.004, -0.004)


def test_the_gate_holds_and_the_world_stands_still():
    judge, world = Dislikes(), Line()
    record = EpisodeRun(episode(distortion=DARK, gate=ON, judge=judge, world=world)).record()
    assert (record.outcome, world.x_m, world.steps) == (Outcome.HELD_BY_GATE, 0.0, 40)
    assert judge.judged == 20, "a lease of 0.12 s covers two steps of 50 ms"
    assert record.executed == ()
    assert len(record.decisions()) == 1, "asked once, for the score of its decision"


def test_a_burst_is_waited_out():
    burst = DistortionSpec("19", 5, schedule="burst:start=0.5,length=0.5")
    open_gate = EpisodeRun(episode(distortion=burst)).record()
    world, vla = Line(), Walker()
    held = EpisodeRun(episode(distortion=burst, gate=ON, world=world, vla=vla)).record()
    assert open_gate.outcome is Outcome.FAILURE
    assert held.outcome is Outcome.SUCCESS
    assert world.gripper == 1.0
    assert world.steps > 25, "it stood still in between"
    assert held.held_s > 0


def test_the_oracle_knows_the_schedule():
    burst = DistortionSpec("19", 5, schedule="burst:start=0.5,length=0.5")
    assert EpisodeRun(episode(distortion=burst, gate=ON, judge=None)).record().outcome is Outcome.SUCCESS


def test_an_expert_sees_objects_and_no_images():
    world, vla = Line(), Walker()
    vla.info = replace(vla.info, privileged=True)
    record = EpisodeRun(episode(world=world, vla=vla, distortion=DARK)).record()
    assert (record.outcome, world.rendered) == (Outcome.SUCCESS, [])
    assert list(vla.seen[0].objects or ()) == ["end"]


def test_a_refusal_and_a_failure_of_the_policy():
    record = EpisodeRun(episode(vla=Walker(status=ChunkStatus.NO_TARGET))).record()
    assert (record.outcome, record.reason) == (Outcome.NO_TARGET, "sees nothing")

    class Broken(Walker):
        def act(self, observation: VlaObservation) -> ActionChunk:
            raise ConnectionError("the server is gone")

    with pytest.raises(InputError, match=r"walker fails: .*the server is gone"):
        EpisodeRun(episode(vla=Broken())).record()


def test_what_does_not_fit_is_refused():
    slow, other = Walker(), Walker()
    slow.info = replace(slow.info, rate_hz=5.0)
    other.info = replace(other.info, views=(View.SIDE,))
    with pytest.raises(UsageError, match=r"walker is not a policy for line.*got '5 Hz'"):
        EpisodeRun(episode(vla=slow))
    with pytest.raises(UsageError, match="walker needs a camera side"):
        EpisodeRun(episode(vla=other))
    short = replace(ON, lease=LeaseOptions(ttl_s=0.03))
    with pytest.raises(UsageError, match=r"lease.ttl_s from 0.05 s"):
        EpisodeRun(episode(gate=short))


def test_the_time_of_a_rollout_is_measured_with_one_decision():
    class Ticks:
        now = 0.0

        def now_s(self) -> float:
            self.now += 0.5
            return self.now

    time = measure_rollout(episode(), Ticks())  # type: ignore[arg-type]
    assert time.decisions == 8
    assert time.longest_s == 0.5 + 8 * 1.5
    assert time.longest_distorted_s == time.longest_s + 8 * 0.5
    assert time.text(1, 3, 2).endswith("4 rollouts: up to 31 s")
    assert "(0.5 s to open, 8 times" in time.text(1, 3, 2)
    assert "(2 min to open, 8 times" in replace(time, open_s=120.0).text(1, 3, 2)
