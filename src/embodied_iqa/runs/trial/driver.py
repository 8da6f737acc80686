"""Drives the state machine of a trial: takes its events, and ends it where it cannot go on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from embodied_iqa.arm.robot.messages import ArmMode
from embodied_iqa.base.states import replace
from embodied_iqa.runs.trial import machine
from embodied_iqa.runs.trial.outcome import with_fault
from embodied_iqa.runs.trial.protocol import ArmSeen, Command, Event, Stage, TrialPlan, WorldSeen

if TYPE_CHECKING:
    from embodied_iqa.arm.robot.arm_runner import ArmReport  # plans with ruckig and SciPy


class TrialDriver:
    """Holds the state of a trial between its events. Time is real time in seconds, from any origin.

    Args:
        plan: The trial.
        stall_limit_s: Longest time without a state of the world (s).
        now_s: Time.

    Attributes:
        state: State of the trial.
        commands: The first ones to carry out.
        gave_up: Whether the trial was ended because it could not go on.
    """

    def __init__(self, plan: TrialPlan, stall_limit_s: float, now_s: float) -> None:
        self._stall_limit_s = stall_limit_s
        self._heard_s = now_s
        self.gave_up = False
        self.state, self.commands = machine.start(plan)

    def handle(
        self, event: Event | None, now_s: float, *, problem: str = "", fault: str = ""
    ) -> list[Command]:
        """Return what to do after an event, or after a time without one.

        Only what carries time moves a run on: in a simulation the world, where reports of the arm are not a
        sign of life; beside a real arm its reports, too. A command that waits for its reply has a deadline of
        its own, and a person may take their time.

        Args:
            event: The event; None for none.
            now_s: Time.
            problem: Why the trial cannot go on, seen from outside; empty where it can. It ends the trial
            before the next command.
            fault: What a node reports of itself now, such as a silent camera; empty for nothing.
        """
        commands: list[Command] = []
        if self._carries_time(event) or self.state.pending:
            self._heard_s = now_s
        if fault != self.state.reported and self.state.stage is not Stage.JUDGE:
            self.state = replace(self.state, reported=fault)
        if event is not None:
            self.state, commands = machine.step(self.state, event)
        reason = ("" if commands else problem) or self._stalled(now_s)
        if not reason:
            return commands
        self.gave_up = True
        self.state, commands = machine.cancel(self.state, reason)
        return commands

    def _carries_time(self, event: Event | None) -> bool:
        return isinstance(event, WorldSeen) or (isinstance(event, ArmSeen) and not self.state.plan.stops_time)

    def _stalled(self, now_s: float) -> str:
        if now_s - self._heard_s <= self._stall_limit_s:
            return ""
        return with_fault(self.state, f"no state of the world for {self._stall_limit_s:g} s")


def arm_seen(report: ArmReport) -> ArmSeen:
    """Return what a report of the arm says about the run."""
    status = report.status
    return ArmSeen(
        stamp_ns=report.measured.stamp_ns,
        moving=status.mode is ArmMode.EXECUTING,
        emergency_stop=report.emergency_stop,
        reason=status.reason,
        broken_down=status.cause is not None and status.cause.is_breakdown,
        held_by_gate=status.held_by_gate,
    )
