"""Events and commands of the trial's state machine."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.base.units import SECOND_NS
from embodied_iqa.imaging.distortions.spec import DistortionSpec
from embodied_iqa.imaging.images.assembler import Source
from embodied_iqa.models.scoring.execution_score import Outcome
from embodied_iqa.world.protocols import ChunkStatus


class Stage(IntEnum):
    """Stage of a trial; all but DONE are feedback of the action."""

    OPEN = 0
    RESET = 1
    DISTORT = 2
    ARM = 3
    EXECUTE = 4
    SETTLE = 5
    CLOSE = 6
    PREPARE = 7
    JUDGE = 8
    DONE = 9
    RECOVER = 10


@dataclass(frozen=True, slots=True)
class TrialPlan:
    """One task: the reference run, then a run for each distortion.

    Attributes:
        task: The instruction.
        scene_seed: Seed of the scene; every run starts from the same one.
        distortions: One run each, after the reference run.
        run_limit_ns: Longest run, ROS time.
        no_motion_limit_ns: Longest time without motion before a run is ended, ROS time, without the time that
            the policy takes to decide.
        settle_ns: Time for things to come to rest at the end of a run, ROS time.
        hold_limit_ns: The same while the gate holds the arm.
        stops_time: Time stands still between a reset and the start of a run (simulation).
        has_arm: An arm moves; else a run ends after the answers and the decision.
        has_vlm: A VLM is asked about the first frame.
        attended: A person prepares the scene before each run and judges it afterwards: a real arm.
        has_start: The runs of a real arm begin where those of an earlier trial of the same command did.
    """

    task: str
    scene_seed: int
    distortions: tuple[DistortionSpec, ...]
    run_limit_ns: int
    no_motion_limit_ns: int
    settle_ns: int
    hold_limit_ns: int = 3 * SECOND_NS
    stops_time: bool = True
    has_arm: bool = True
    has_vlm: bool = True
    attended: bool = False
    has_start: bool = False

    @property
    def run_count(self) -> int:
        """Number of runs, the reference run included."""
        return 1 + len(self.distortions)

    def distortion(self, run_index: int) -> DistortionSpec | None:
        """Return the distortion of a run; None for the reference run."""
        return None if run_index == 0 else self.distortions[run_index - 1]


@dataclass(frozen=True, slots=True, eq=False)
class RunResult:
    """Result of a run.

    Attributes:
        run_index: 0 is the reference run.
        start_ns: First stamp of the run, ROS time.
        end_ns: Last stamp of the run, ROS time.
        outcome: None without an arm.
        reason: Why it ended.
        T_base_tool: ``(4, 4)`` float64, where the tool was at the end (m).
    """

    run_index: int
    start_ns: int
    end_ns: int
    outcome: Outcome | None
    reason: str
    T_base_tool: NDArray[np.float64]


# --- events -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Reply:
    """Reply to a command.

    Attributes:
        to: The command object; a reply to another one than the pending one is ignored.
        ok: Whether it was carried out.
        message: Why it was not.
        stamp_ns: ROS time in the reply.
        yes: Answer of a person.
        stopped: Stop of a real arm that a person has to answer before it moves again; empty for none.
    """

    to: object
    ok: bool
    message: str = ""
    stamp_ns: int = 0
    yes: bool = False
    stopped: str = ""


@dataclass(frozen=True, slots=True)
class Answered:
    """Result of AskVlm, which does not block the run.

    Attributes:
        source: Of the frame.
        stamp_ns: The frame's; an answer about a frame of an earlier run does not count in a later one.
        ok: Whether there is an answer.
        message: Why there is none.
    """

    source: Source
    stamp_ns: int
    ok: bool
    message: str = ""


@dataclass(frozen=True, slots=True)
class FrameSeen:
    """The gate judged a frame.

    Attributes:
        stamp_ns: The frame's.
        rejection: Why the gate does not let the arm move on it; empty if it does.
    """

    stamp_ns: int
    rejection: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class WorldSeen:
    """State of the world, of the simulator or of a real robot's sensors."""

    stamp_ns: int
    task_success: bool
    contact_violation: str
    T_base_tool: NDArray[np.float64]
    missing: str = ""
    """What the task lacks, such as "cube raised 0.0 of 5 cm"; empty if unknown or done."""


@dataclass(frozen=True, slots=True)
class ArmSeen:
    """State of the arm."""

    stamp_ns: int
    moving: bool
    emergency_stop: bool
    reason: str
    broken_down: bool = False
    """The equipment failed, such as the connection to the robot: no outcome of the policy."""
    held_by_gate: bool = False
    """The arm does not move because the gate does not let it; `reason` is the gate's."""


@dataclass(frozen=True, slots=True)
class ChunkSeen:
    """A decision on the distorted image, or with `is_reference` on the undistorted one."""

    frame_stamp_ns: int
    status: ChunkStatus | None
    """None where the policy failed."""
    failure: str = ""
    """Who failed and how, in a line; empty where a decision came."""
    is_reference: bool = False


@dataclass(frozen=True, slots=True)
class Deciding:
    """The policy begins to decide, or has decided and waits: its time is not the arm's."""

    busy: bool


@dataclass(frozen=True, slots=True)
class EndedByPerson:
    """A person ends the present run; no run, no change."""


Event: TypeAlias = Reply | Answered | FrameSeen | WorldSeen | ArmSeen | ChunkSeen | Deciding | EndedByPerson

# --- commands -----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class OpenRecording:
    """Open the trial's recording. Expects a reply."""


@dataclass(frozen=True, slots=True)
class ResetWorld:
    """Reset the world. Expects a reply with the stamp of the new start."""

    scene_seed: int
    task: str


@dataclass(frozen=True, slots=True)
class AskPerson:
    """Ask the person at a real arm. Expects a reply with yes or no, and a remark as its message.

    Attributes:
        stage: PREPARE (scene ready, way free?), JUDGE (task done?) or RECOVER (after a stop: way back free?).
        run_index: The run.
        problem: Problem to be solved first, or the stop; may be empty.
    """

    stage: Stage
    run_index: int
    problem: str = ""


@dataclass(frozen=True, slots=True)
class CheckArm:
    """Check that a real arm can be used at all; where it cannot, the trial ends with the reply's message."""


@dataclass(frozen=True, slots=True)
class ReturnToStart:
    """Move a real arm and its gripper back to the start of the first run. Expects a reply."""


@dataclass(frozen=True, slots=True)
class CheckStart:
    """Check that an arm is at its start: without a given one, where it is before run 0. Expects a reply."""

    run_index: int


@dataclass(frozen=True, slots=True)
class SetDistortion:
    """Distort images from a stamp on, where a schedule begins. Expects a reply with the first stamp.

    Attributes:
        spec: None for none.
        from_ns: The first stamp.
        or_later: From the next image on if images from that stamp on have passed already; else refused.
    """

    spec: DistortionSpec | None
    from_ns: int
    or_later: bool = False


@dataclass(frozen=True, slots=True)
class RunWorld:
    """Run or pause the world. Expects a reply."""

    running: bool


@dataclass(frozen=True, slots=True)
class Rearm:
    """Arm, on a measured state at or after a stamp. Expects a reply."""

    from_ns: int


@dataclass(frozen=True, slots=True)
class StopArm:
    """Stop and disarm. Expects a reply."""

    reason: str


@dataclass(frozen=True, slots=True)
class SetTask:
    """Set the task of the VLA; empty: stop deciding. Expects a reply."""

    task: str
    from_ns: int


@dataclass(frozen=True, slots=True)
class AskVlm:
    """Ask about one frame; the answer comes as :class:`Answered`."""

    source: Source
    stamp_ns: int


@dataclass(frozen=True, slots=True)
class MarkRunStart:
    """Publish the start of a run."""

    run_index: int
    start_ns: int


@dataclass(frozen=True, slots=True)
class MarkRunEnd:
    """Publish the end of a run."""

    result: RunResult


@dataclass(frozen=True, slots=True)
class CloseRecording:
    """Close the recording. Expects a reply."""


@dataclass(frozen=True, slots=True)
class Finish:
    """End of the trial."""

    ok: bool
    message: str


Command: TypeAlias = (
    OpenRecording
    | ResetWorld
    | AskPerson
    | CheckArm
    | ReturnToStart
    | CheckStart
    | SetDistortion
    | RunWorld
    | Rearm
    | StopArm
    | SetTask
    | AskVlm
    | MarkRunStart
    | MarkRunEnd
    | CloseRecording
    | Finish
)
