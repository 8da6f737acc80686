"""The rules of the gate as a pure step: judgement of a frame in, verdict and lease out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, Literal, NoReturn

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.arm.lease_options import LeaseOptions
from embodied_iqa.arm.verdict import GateLease, GateMode, Verdict, no_truth
from embodied_iqa.base.config import check_fields, parsed, ranged
from embodied_iqa.base.errors import UsageError
from embodied_iqa.base.units import DAY_NS, MILLISECOND_NS
from embodied_iqa.imaging.images.frame import View
from embodied_iqa.quality.gate.image_statistics import ImageStatistics
from embodied_iqa.quality.gate.judgement import JudgeChoice, Judgement, parse_judge
from embodied_iqa.quality.gate.repair import RepairOptions
from embodied_iqa.quality.gate.second_stage import Prediction

_UNJUDGED = Judgement(Verdict.REJECT, "the image was not judged")


@dataclass(frozen=True, slots=True)
class GateOptions:
    """Rules of the gate.

    Attributes:
        mode: on: the arm obeys; shadow: judges, always leases; off: does not measure, leases every frame.
        kind: The judge: statistics, learned or metric:NAME; the last two need a calibration of
            `embodied-iqa gate fit`. In a simulated trial learned, where the shipped one applies, unless set.
        trip_frames: Bad frames among the newest window_frames that give HOLD [frames].
        window_frames: Length of the window [frames].
        recover_frames: Good frames in a row that end HOLD or REJECT [frames].
        reset_gap_ms: A longer gap between two frames of a camera resets its history [ms], but none in which
            an earlier lease may still move the arm, see `reset_gap_ns`.
        still_s: Longest time in which a camera may send the same pixels [s]: a longer one gives HOLD. 0 for
            any, as in simulation, whose images have no noise, and for video whose still parts are not sent.
        repair: Repairs of images that do not pass.
        lease: Times of the leases that it grants.
    """

    FORMER_NAMES: ClassVar[Mapping[str, str]] = {"ttl_ms": "lease.ttl_s"}

    mode: GateMode = GateMode.ON
    kind: JudgeChoice = parsed("statistics", parse_judge)
    trip_frames: int = ranged(3, 1, 100)
    window_frames: int = ranged(5, 1, 100)
    recover_frames: int = ranged(5, 1, 1000)
    reset_gap_ms: float = ranged(500.0, 1.0, 60_000.0)
    still_s: float = ranged(0.0, 0.0, 60.0)
    repair: RepairOptions = field(default_factory=RepairOptions)
    lease: LeaseOptions = field(default_factory=LeaseOptions)

    if TYPE_CHECKING:  # what `check_fields` takes, too: names of modes and judges

        def __init__(  # noqa: PLR0917 - the fields
            self,
            mode: GateMode | Literal["on", "shadow", "off"] = GateMode.ON,
            kind: JudgeChoice | str = "statistics",
            trip_frames: int = 3,
            window_frames: int = 5,
            recover_frames: int = 5,
            reset_gap_ms: float = 500.0,
            still_s: float = 0.0,
            repair: RepairOptions = ...,
            lease: LeaseOptions = ...,
        ) -> None: ...

    @property
    def reset_gap_ns(self) -> float:
        """Shortest gap that resets a history: at least until the arm stands after the lease before it."""
        return max(self.reset_gap_ms * MILLISECOND_NS, self.lease.ttl_ns + self.lease.overrun_ns)

    @property
    def repairs(self) -> bool:
        """Whether images are repaired: only where the arm obeys, so that shadow measures what comes in."""
        return self.repair.enabled and self.mode is GateMode.ON

    def obeyed(self, verdict: Verdict) -> Verdict:
        """Return the verdict that binds the arm."""
        return Verdict.PASS if self.mode in {GateMode.SHADOW, GateMode.OFF} else verdict

    def __post_init__(self) -> None:
        check_fields(self)
        if self.trip_frames > self.window_frames:
            raise UsageError(
                "trip_frames cannot exceed window_frames",
                expected=f"1 to {self.window_frames}",
                got=self.trip_frames,
            )


@dataclass(frozen=True, slots=True)
class GateFrame:
    """A frame to judge.

    Attributes:
        view: The camera.
        stamp_ns: When the image was taken, ROS time.
        now_ns: When it is judged, ROS time; the stamp itself when a recording is judged again.
        judgement: Of the image alone; None where it was not judged, which only mode OFF allows.
    """

    view: View
    stamp_ns: int
    now_ns: int
    judgement: Judgement | None


@dataclass(frozen=True, slots=True)
class GateState:
    """History of one camera; start with ``GateState()``, also after the clock was set back.

    Attributes:
        stamp_ns: The newest frame, or None before the first.
        recent: Verdicts on the newest frames alone, oldest first.
        holding: Whether the gate is shut.
        good_in_a_row: Good frames since the last bad one.
        cause: Why the gate is shut, in words; empty while it is open.
    """

    stamp_ns: int | None = None
    recent: tuple[Verdict, ...] = ()
    holding: bool = False
    good_in_a_row: int = 0
    cause: str = ""


@dataclass(frozen=True, slots=True)
class ImageQuality:
    """Quality of one frame.

    Attributes:
        view: The camera.
        stamp_ns: The frame's.
        judgement: Of this image alone; None where it was not judged.
        frame_verdict: Of this image alone.
        verdict: After debouncing, whatever the mode.
        reason: What is wrong with this image or was repaired, or why the gate is still shut; else empty.
    """

    view: View
    stamp_ns: int
    judgement: Judgement | None
    frame_verdict: Verdict
    verdict: Verdict
    reason: str

    def __bool__(self) -> NoReturn:
        """Refuse: the quality of a bad image is there, too."""
        raise no_truth("the quality of an image", "quality.verdict is Verdict.PASS")

    @property
    def statistics(self) -> ImageStatistics | None:
        """Of the image that is passed on; None where it was not measured."""
        return None if self.judgement is None else self.judgement.statistics

    @property
    def prediction(self) -> Prediction | None:
        """What the judge predicts of it; None for a judge that predicts nothing."""
        return None if self.judgement is None else self.judgement.prediction

    @property
    def repaired(self) -> NDArray[np.uint8] | None:
        """``(H, W, 3)`` uint8, the repaired image; None where the image is passed on as received."""
        return None if self.judgement is None else self.judgement.repaired


def step(
    state: GateState, frame: GateFrame, options: GateOptions
) -> tuple[GateState, ImageQuality, GateLease]:
    """Judge one frame of one camera.

    A REJECT shuts the gate at once, and so does a HOLD whose judgement binds at once; another HOLD shuts it
    when ``trip_frames`` of the newest ``window_frames`` are bad, or when it is the first frame or the first
    after a gap: there is no history in its favour. It opens after ``recover_frames`` good frames in a
    row; until then the verdict is the worst of the window, at least HOLD. A frame that is not newer than the
    one before is stale: it gets HOLD and changes nothing. Except for the lease's end, the result depends only
    on the frames, not on when they are judged.

    Args:
        state: History of this camera.
        frame: The frame.
        options: The rules.

    Returns:
        The new state, the quality, and the lease. A stamp ahead of the clock does not lengthen the lease:
        it expires ``lease.ttl_s`` after the earlier of stamp and clock.
    """
    if state.stamp_ns is not None and frame.stamp_ns <= state.stamp_ns:
        behind_ns = state.stamp_ns - frame.stamp_ns
        reason = f"stale: {_behind(behind_ns)}" if behind_ns else "stale: seen before"
        return state, *_outcome(frame, Verdict.HOLD, Verdict.HOLD, reason, options)
    if options.mode is GateMode.OFF:
        state = GateState(stamp_ns=frame.stamp_ns)
        return state, *_outcome(frame, Verdict.PASS, Verdict.PASS, "", options)
    judgement = frame.judgement or _UNJUDGED
    state = _debounce(state, frame.stamp_ns, judgement, options)
    verdict, reason = max(Verdict.HOLD, *state.recent) if state.holding else Verdict.PASS, judgement.reason
    if state.holding and judgement.verdict is Verdict.PASS:
        since = f"{state.good_in_a_row} of {options.recover_frames} good frames since: {state.cause}"
        reason = f"{since}; this one {reason}" if reason else since
    return state, *_outcome(frame, judgement.verdict, verdict, reason, options)


def _behind(behind_ns: int) -> str:
    if behind_ns > DAY_NS:  # such as a time in seconds
        return "days behind the newest frame: a stamp is in nanoseconds"
    return f"{behind_ns / MILLISECOND_NS:.1f} ms behind the newest frame"


def _debounce(state: GateState, stamp_ns: int, judgement: Judgement, options: GateOptions) -> GateState:
    frame_verdict = judgement.verdict
    gap_ns = stamp_ns - state.stamp_ns if state.stamp_ns is not None else None
    if gap_ns is None or gap_ns > options.reset_gap_ns:
        state = GateState()
    recent = (*state.recent, frame_verdict)[-options.window_frames :]
    good_in_a_row = state.good_in_a_row + 1 if frame_verdict is Verdict.PASS else 0
    bad = sum(verdict is not Verdict.PASS for verdict in recent)
    at_once = judgement.at_once or frame_verdict is Verdict.REJECT
    trips = at_once or bad >= min(options.trip_frames, len(recent))
    if frame_verdict is not Verdict.PASS and (state.holding or trips):
        return GateState(stamp_ns, recent, holding=True, good_in_a_row=0, cause=judgement.reason)
    if state.holding and good_in_a_row < options.recover_frames:
        return GateState(stamp_ns, recent, holding=True, good_in_a_row=good_in_a_row, cause=state.cause)
    return GateState(stamp_ns, recent, holding=False, good_in_a_row=good_in_a_row)


def _outcome(
    frame: GateFrame, frame_verdict: Verdict, verdict: Verdict, reason: str, options: GateOptions
) -> tuple[ImageQuality, GateLease]:
    quality = ImageQuality(frame.view, frame.stamp_ns, frame.judgement, frame_verdict, verdict, reason)
    second = None if frame.judgement is None else frame.judgement.second
    lease = GateLease(
        view=frame.view,
        frame_stamp_ns=frame.stamp_ns,
        verdict=options.obeyed(verdict),
        judged=verdict,
        expires_ns=options.lease.end_ns(frame.stamp_ns, frame.now_ns),
        reason=reason if verdict is not Verdict.PASS else "",
        needs_decision=options.mode is GateMode.ON and second is not None,
    )
    return quality, lease
