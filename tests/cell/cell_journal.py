"""What happened in the virtual cell, and the rules that hold in every interleaving."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from event_queue import MS_NS

from embodied_iqa.arm.robot.arm_runner import ArmTick
from embodied_iqa.arm.robot.messages import ArmGoal, ArmMode, GoalOutcome, StopEvent
from embodied_iqa.arm.robot.state import ControllerState
from embodied_iqa.arm.verdict import GateLease, Verdict

OVERRUN_NS = 70 * MS_NS
"""Latest standstill after the end of a lease, `LeaseOptions.overrun_s`."""
BRAKE_NS = 100 * MS_NS
"""Longest braking along the path after a stop or a verdict that is not PASS, and two ticks."""
MAX_AGE_NS = 1500 * MS_NS
_STILL_RAD = 1e-6


@dataclass(eq=False)
class Journal:
    """Fed by the actors while the cell runs. Each broken rule is noted in words, with its time.

    The rules do not look at the state of the product's classes: leases as they reached the arm, targets as
    they left it, goals as they were reported.
    """

    tick_ns: int
    broken: list[str] = field(default_factory=list)
    moves: list[tuple[int, bool]] = field(default_factory=list)
    targets: list[tuple[int, np.ndarray]] = field(default_factory=list)
    modes: list[tuple[int, ArmMode, str]] = field(default_factory=list)
    stops: list[StopEvent] = field(default_factory=list)
    accepted: list[int] = field(default_factory=list)
    completed: list[int] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    decisions: list[tuple[int, int, int]] = field(default_factory=list)
    """(sequence, stamp of the frame, first stamp of the run), as published for the arm."""
    _leases: dict[tuple[int, int | None], GateLease] = field(default_factory=dict)
    _newest: GateLease | None = None
    _goals: dict[int, list[ArmGoal]] = field(default_factory=dict)
    _until_ns: int | None = 0
    _passed_ns: int = 0
    _known: GateLease | None = None
    _armed_ns: int | None = None
    _halted_ns: int | None = 0
    _q_rad: np.ndarray | None = None
    _target_rad: np.ndarray | None = None
    _last_accepted: int = -1

    # --- what the actors tell -------------------------------------------------------------------------------

    def moved(self, now_ns: int, q_rad: np.ndarray) -> None:
        """The robot after a step of the world."""
        moves = self._q_rad is not None and float(np.abs(q_rad - self._q_rad).max()) > _STILL_RAD
        self._q_rad = q_rad.copy()
        self.moves.append((now_ns, moves))

    def leased(self, lease: GateLease) -> None:
        """A lease has reached the arm."""
        key = (lease.frame_stamp_ns, lease.decision)
        before = self._leases.get(key)
        if before is None or lease.verdict >= before.verdict:
            self._leases[key] = lease
        if lease.decision is None and (
            self._newest is None or lease.frame_stamp_ns >= self._newest.frame_stamp_ns
        ):
            self._newest = self._leases[key]

    def sent(self, goal: ArmGoal) -> None:
        """A goal has reached the arm."""
        self._goals.setdefault(goal.sequence, []).append(goal)

    def armed(self, at_ns: int | None) -> None:
        """The arm was armed, or was not."""
        self._armed_ns = at_ns
        self._last_accepted, self._halted_ns = -1, 0 if at_ns is None else None
        self._target_rad = None

    def ticked(self, state: ControllerState, tick: ArmTick) -> None:
        """The arm's runner has answered a state."""
        measured = state.measured
        now_ns = 0 if measured is None else measured.stamp_ns
        self._note_permission(now_ns)
        if not self.is_held():
            self._passed_ns = now_ns
        if tick.report is not None:
            self.modes.append((now_ns, tick.report.status.mode, tick.report.status.reason))
            if tick.report.is_ready and tick.report.status.tool_speed_mps > 0.0:
                self._break(now_ns, "a ready arm moves")
        for report in tick.goals:
            self._goal_ended(now_ns, report.sequence, report.outcome, report.reason)
        if tick.q_target_rad is not None:
            self._targeted(now_ns, tick.q_target_rad)
        if tick.stop is not None:
            self.stops.append(tick.stop)
            self._halted_ns = now_ns if self._halted_ns is None else self._halted_ns

    def decided(self, sequence: int, stamp_ns: int, from_ns: int) -> None:
        """The policy's decision for the arm is published."""
        if stamp_ns < from_ns:
            self._break(stamp_ns, f"decision {sequence} on a frame of an earlier run")
        if any(sequence <= other for other, _, _ in self.decisions):
            self._break(stamp_ns, f"decision {sequence} is not newer than the last one")
        self.decisions.append((sequence, stamp_ns, from_ns))

    # --- the rules ------------------------------------------------------------------------------------------

    def _note_permission(self, now_ns: int) -> None:
        """Note until when the arm may move: it sees a lease end in advance, another one only as it comes."""
        lease, known = self._newest, self._known
        self._known = lease
        if lease is not None and lease.verdict is Verdict.PASS and now_ns <= lease.expires_ns:
            self._until_ns = None
        elif self._until_ns is None and lease is not None:
            ends_ns = lease.expires_ns + OVERRUN_NS + self.tick_ns
            self._until_ns = ends_ns if lease is known else now_ns + BRAKE_NS + 2 * self.tick_ns

    def _targeted(self, now_ns: int, q_rad: np.ndarray) -> None:
        moves = self._target_rad is not None and float(np.abs(q_rad - self._target_rad).max()) > _STILL_RAD
        self._target_rad = np.array(q_rad)
        self.targets.append((now_ns, self._target_rad))
        if not moves:
            return
        if self._armed_ns is None:
            self._break(now_ns, "it moves without having been armed")
        if self._until_ns is not None and now_ns > self._until_ns:
            self._break(
                now_ns, f"without a lease it moves {(now_ns - self._until_ns) / MS_NS:.0f} ms too long"
            )
        if self._halted_ns is not None and now_ns - self._halted_ns > BRAKE_NS + 2 * self.tick_ns:
            self._break(now_ns, f"it moves {(now_ns - self._halted_ns) / MS_NS:.0f} ms after a stop")

    def _goal_ended(self, now_ns: int, sequence: int, outcome: GoalOutcome, reason: str) -> None:
        if outcome is GoalOutcome.COMPLETED:
            self.completed.append(sequence)
        elif outcome is GoalOutcome.REFUSED:
            self.refused.append(reason)
        elif outcome is GoalOutcome.ACCEPTED:
            self._accept(now_ns, sequence)

    def _accept(self, now_ns: int, sequence: int) -> None:
        self.accepted.append(sequence)
        if self._halted_ns is not None:
            self._break(now_ns, f"goal {sequence} accepted by an arm that is stopped")
        if sequence <= self._last_accepted:
            self._break(now_ns, f"goal {sequence} accepted after goal {self._last_accepted}")
        self._last_accepted = sequence
        stamps_ns = [goal.frame_stamp_ns for goal in self._goals.get(sequence, ())]
        passed = [self._leases.get((stamp_ns, None)) for stamp_ns in stamps_ns]
        if not any(lease is not None and lease.verdict is Verdict.PASS for lease in passed):
            self._break(now_ns, f"goal {sequence} accepted without a PASS of its frame")
        if not any((self._armed_ns or 0) <= stamp_ns <= now_ns for stamp_ns in stamps_ns):
            self._break(now_ns, f"goal {sequence} accepted on a frame from before the arm was armed")
        if not any(now_ns - stamp_ns <= MAX_AGE_NS for stamp_ns in stamps_ns):
            self._break(now_ns, f"goal {sequence} accepted on a frame that is too old")

    def _break(self, now_ns: int, rule: str) -> None:
        self.broken.append(f"{now_ns} ns: {rule}")

    # --- what a test asks -----------------------------------------------------------------------------------

    def last_motion_ns(self, from_ns: int, to_ns: int) -> int | None:
        """ROS time of the last step within a time in which the robot moved."""
        return max((at for at, moves in self.moves if moves and from_ns < at <= to_ns), default=None)

    def is_held(self) -> bool:
        """Whether the newest verdict that has reached the arm is not PASS."""
        return self._newest is not None and self._newest.verdict is not Verdict.PASS

    def held_ns(self) -> int:
        """ROS time of the last tick of the arm before the newest verdicts were not PASS."""
        return self._passed_ns

    def newest_lease_ns(self) -> int:
        """Stamp of the newest frame on which a lease has reached the arm."""
        return 0 if self._newest is None else self._newest.frame_stamp_ns

    def digest(self) -> tuple[Any, ...]:
        """All that happened, to compare two passes of one seed."""
        return tuple(self.moves), tuple(self.modes), tuple(self.decisions), tuple(self.refused)
