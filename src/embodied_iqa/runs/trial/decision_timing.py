"""When a VLA decides again, as a pure state machine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from embodied_iqa.arm.horizon_options import HorizonOptions
from embodied_iqa.base.states import replace
from embodied_iqa.base.units import SECOND_NS
from embodied_iqa.imaging.images.frame import View
from embodied_iqa.world.protocols import ChunkStatus

if TYPE_CHECKING:
    from embodied_iqa.arm.robot.arm_runner import ArmReport  # plans with ruckig and SciPy

_WHOLE_CHUNKS: Final = HorizonOptions()
_TAKEN_UP_NS: Final = SECOND_NS
"""Longest time in which an arm takes up a goal, on a busy computer, too."""
_REJECTED_KEPT: Final = 32
"""Rejected frames that are kept because a decision may still be made on them."""


@dataclass(frozen=True, slots=True)
class ArmProgress:
    """What a report of the arm says about the decisions.

    Attributes:
        stamp_ns: Of the report.
        ready: The arm is armed and has nothing to execute.
        completed: Sequence of the last goal that ended; None before the first.
        whole: That goal was executed to its end.
        held: The arm does not move because the gate does not let it.
        refused: Goals that the arm has refused.
    """

    stamp_ns: int
    ready: bool
    completed: int | None = None
    whole: bool = False
    held: bool = False
    refused: int = 0

    @classmethod
    def of(cls, report: ArmReport) -> ArmProgress:
        """Return what a report of this process's arm says."""
        completed = None if report.ended is None else report.ended.sequence
        held, refused = report.status.held_by_gate, report.refused
        return cls(report.measured.stamp_ns, report.is_ready, completed, report.is_completed, held, refused)


@dataclass(frozen=True)
class DeciderState:
    """State of the decider.

    Attributes:
        task: The instruction; empty for no decisions.
        from_ns: Frames before this stamp do not count.
        decided_ns: Stamp of the frame of the last decision; None before the first of a run.
        sequence: Number of the last decision; never reset.
        step: Chunks that the arm has executed in this run.
        decisions: Decisions in this run.
        ready: The arm has nothing to execute.
        ended_ns: When the arm ended its last goal of this run.
        last_completed: Sequence of the last goal that the arm ended.
        over: Last decision whose goal the arm was seen to end; a goal before it may end later.
        refused: Goals that the arm has refused, by its newest report.
        uncounted: Last decision that does not count: the gate held the arm, or the arm refused it.
        turn: Decisions of this run that the gate held or the policy refused: where several policies are one,
            the next one decides.
        hold_until_ns: After a slow answer: no decision on frames up to this one, so that the arm can start.
        reported_ns: Stamp of the newest report of the arm; an older one says nothing any more.
        still: Frames of counted decisions of this run that move nothing: without a target, or failed.
        rejected: Frames that the gate rejected, on which such a decision may come.
        due_ns: Receding horizon: stamp from which on the next decision is due.
        held: Receding horizon: the gate holds the arm.
        view: Camera that the policy aims in; None before the first answer of a run.
        passed_ns: Newest frame of that camera that the gate passed.
        goal_from_ns: Newest report of the arm when a goal was published that none has mentioned yet; else
            None. Until one does, an idle arm has not taken the goal up.
    """

    task: str = ""
    from_ns: int = 0
    decided_ns: int | None = None
    sequence: int = 0
    step: int = 0
    decisions: int = 0
    ready: bool = False
    ended_ns: int = 0
    last_completed: int | None = None
    over: int = 0
    refused: int = 0
    uncounted: int = 0
    turn: int = 0
    hold_until_ns: int = 0
    reported_ns: int = 0
    still: frozenset[tuple[View, int]] = frozenset()
    rejected: frozenset[tuple[View, int]] = frozenset()
    due_ns: int = 0
    held: bool = False
    view: View | None = None
    passed_ns: int = 0
    goal_from_ns: int | None = None


class Decider:
    """Decides on the first frame of a run at once, later whenever the arm has nothing left to execute.

    With a receding horizon it decides while the arm moves, once the steps are over after which the next chunk
    is due; at once where the arm has nothing left; and where the gate holds it, on the first frame that the
    gate passes.

    Args:
        again_ns: Time between decisions, ROS time; with a receding horizon, after one without steps.
        max_decisions: Decisions of one run at most; 0 for no limit.
        horizon: How much of a chunk is executed before the next one is due.
    """

    def __init__(self, again_ns: int, max_decisions: int, horizon: HorizonOptions = _WHOLE_CHUNKS) -> None:
        self._again_ns = again_ns
        self._max_decisions = max_decisions
        self._horizon = horizon

    @property
    def is_receding(self) -> bool:
        """Whether it decides while the arm moves."""
        return self._horizon.is_receding

    def set_task(self, state: DeciderState, task: str, from_ns: int) -> DeciderState:
        """Start a run, or with an empty task end it."""
        return DeciderState(
            task=task,
            from_ns=from_ns,
            sequence=state.sequence,
            last_completed=state.last_completed,
            reported_ns=state.reported_ns,
        )

    def arm_seen(self, state: DeciderState, arm: ArmProgress) -> DeciderState:
        """Note a report of the arm; a goal that has ended makes room for the next decision.

        A decision that the gate keeps from being executed does not count towards those of the run, so that
        the policy can decide again until the image recovers. Nor does one of a receding horizon that the arm
        refuses, such as a chunk that comes too late: another takes its place. A report that the gate holds
        the arm is about the last decision only once the arm has ended its goal: before, it is still about the
        decision before. A report that a newer one has overtaken, by less than a second, changes nothing; an
        older one shows that the clock was set back.
        """
        if 0 < state.reported_ns - arm.stamp_ns < SECOND_NS:
            return state
        refuses = arm.refused not in {0, state.refused}
        if not arm.ready or arm.completed == state.sequence or _is_lost(state, arm.stamp_ns):
            state = replace(state, goal_from_ns=None)
        ready = arm.ready and state.goal_from_ns is None
        state = replace(state, reported_ns=arm.stamp_ns, ready=ready, held=arm.held, refused=arm.refused)
        if arm.completed is not None and arm.completed != state.last_completed:
            state = self._ended(state, arm.completed, arm.stamp_ns, whole=arm.whole)
        is_last = (
            arm.completed == state.sequence and state.uncounted != state.sequence and state.decisions > 0
        )
        if is_last and arm.held and arm.ready:
            return replace(
                state, decisions=state.decisions - 1, uncounted=state.sequence, turn=state.turn + 1
            )
        if is_last and refuses and self._horizon.is_receding:
            return replace(state, decisions=state.decisions - 1, uncounted=state.sequence)
        return state

    def _ended(self, state: DeciderState, completed: int, stamp_ns: int, *, whole: bool) -> DeciderState:
        # of a receding horizon a goal also ends where the next one continues it
        is_own = completed == state.sequence or self._horizon.is_receding
        executed = is_own and state.decisions > 0 and whole
        return replace(
            state,
            last_completed=completed,
            over=completed if completed == state.sequence else state.over,
            ended_ns=stamp_ns,
            step=state.step + int(executed),
        )

    def _is_over(self, state: DeciderState) -> bool:
        return not state.task or 0 < self._max_decisions <= state.decisions

    def idle_ns(self, state: DeciderState) -> int:
        """Return for how long an idle arm that the gate does not hold has waited for a decision, ROS time.

        It counts from when the next decision is due, to the newest report of the arm.
        """
        if self._is_over(state) or not state.ready or state.held:
            return 0
        due_ns = [state.from_ns, state.ended_ns, state.hold_until_ns]
        if state.decided_ns is not None:
            due_ns.append(state.due_ns if self._horizon.is_receding else state.decided_ns + self._again_ns)
        return max(0, state.reported_ns - max(due_ns))

    def choose(self, state: DeciderState, stamps_ns: Sequence[int]) -> int | None:
        """Return the stamp to decide on, or None: the run's first frame first, then the newest.

        Args:
            state: The present state.
            stamps_ns: Stamps of complete frames, oldest first.
        """
        if self._is_over(state):
            return None
        if state.decided_ns is None:
            return next((stamp_ns for stamp_ns in stamps_ns if stamp_ns >= state.from_ns), None)
        if self._horizon.is_receding:
            return _next_due(state, stamps_ns)
        if not state.ready or not stamps_ns:
            return None
        newest_ns = stamps_ns[-1]
        wait_ns = max(state.decided_ns + self._again_ns, state.ended_ns, state.hold_until_ns)
        return newest_ns if newest_ns > wait_ns else None

    def decided(self, state: DeciderState, stamp_ns: int) -> DeciderState:
        """Note a decision."""
        return replace(
            state,
            decided_ns=stamp_ns,
            sequence=state.sequence + 1,
            decisions=state.decisions + 1,
            ready=False,
            due_ns=stamp_ns + self._again_ns,
        )

    def came_to(
        self, state: DeciderState, view: View, stamp_ns: int, status: ChunkStatus | None, steps: int = 0
    ) -> DeciderState:
        """Note what the policy decided on the distorted frame, and how many steps follow.

        A decision that moves nothing does not count towards those of the run if the gate rejects its frame:
        the arm would have been held whatever it was. Which of the two is known first makes no difference.
        """
        state = replace(state, view=view, passed_ns=state.passed_ns if view == state.view else 0)
        if self._horizon.is_receding and status is ChunkStatus.ACT:
            state = replace(state, due_ns=self._horizon.due_ns(stamp_ns, steps))
        elif status is ChunkStatus.ACT:
            state = replace(state, ready=False, goal_from_ns=state.reported_ns)
        if status is ChunkStatus.NO_TARGET:
            state = replace(state, turn=state.turn + 1)
        if status in {ChunkStatus.NO_TARGET, None}:
            state = replace(state, still=state.still | {(view, stamp_ns)})
        return _uncounted(state)

    def rejected(self, state: DeciderState, view: View, stamp_ns: int) -> DeciderState:
        """Note that the gate does not let the arm move on this frame."""
        if not state.task or stamp_ns < state.from_ns:
            return state
        known = state.rejected | {(view, stamp_ns)}
        asked = {frame for frame in known if frame[1] == state.decided_ns}
        others = sorted(known - asked, key=lambda frame: frame[1])
        return _uncounted(replace(state, rejected=frozenset(asked.union(others[-_REJECTED_KEPT:]))))

    def passed(self, state: DeciderState, view: View, stamp_ns: int) -> DeciderState:
        """Note that the gate lets the arm move on this frame."""
        if view != state.view or stamp_ns <= state.passed_ns:
            return state
        return replace(state, passed_ns=stamp_ns)

    def answered(self, state: DeciderState, newest_ns: int) -> DeciderState:
        """Note that the decision was published, when ``newest_ns`` was the newest frame.

        If it took longer than the time between decisions, the arm gets that time to start.
        """
        if (
            self._horizon.is_receding
            or state.decided_ns is None
            or newest_ns <= state.decided_ns + self._again_ns
        ):
            return state
        return replace(state, ready=False, hold_until_ns=newest_ns + self._again_ns)


def _next_due(state: DeciderState, stamps_ns: Sequence[int]) -> int | None:
    """Return the stamp of the next decision of a receding horizon, or None."""
    after_ns = state.decided_ns or 0
    if state.over == state.sequence:  # the arm has executed, refused or dropped the last chunk
        after_ns = max(after_ns, state.ended_ns)
    else:
        after_ns = max(after_ns, state.due_ns - 1)
    if state.held and state.view is not None:
        stamps_ns = [
            stamp_ns
            for stamp_ns in stamps_ns
            if stamp_ns <= state.passed_ns and (state.view, stamp_ns) not in state.rejected
        ]
    return stamps_ns[-1] if stamps_ns and stamps_ns[-1] > after_ns else None


def _is_lost(state: DeciderState, stamp_ns: int) -> bool:
    """Return whether the arm has said nothing of a goal for so long that it will not."""
    return state.goal_from_ns is not None and abs(stamp_ns - state.goal_from_ns) > _TAKEN_UP_NS


def _uncounted(state: DeciderState) -> DeciderState:
    """Return the state without the decisions that moved nothing and whose frames the gate rejected."""
    held = state.still & state.rejected
    return replace(state, decisions=state.decisions - len(held), still=state.still - held)
