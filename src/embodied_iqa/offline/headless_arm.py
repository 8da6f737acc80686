"""The arm of a run without ROS: the same controller as arm_node's, on the simulated world."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.gate.verdict import GateLease
from embodied_iqa.graph.parameters import ArmParameters
from embodied_iqa.images.frame import View
from embodied_iqa.images.message_geometry import as_sent
from embodied_iqa.robot.controller import ArmController
from embodied_iqa.robot.messages import (
    ArmGoal,
    ArmInputs,
    ArmMode,
    ArmOutput,
    GoalOutcome,
    GoalReport,
    StopCause,
)
from embodied_iqa.robot.protocols import ArmState, GripperState
from embodied_iqa.robot.state import ControllerState
from embodied_iqa.simulation.world import World

__all__ = ["ArmReport", "HeadlessArm", "ToolReport"]

_SECOND_NS = 1_000_000_000
_LEASES_KEPT = 32


@dataclass(frozen=True, slots=True, eq=False)
class ToolReport:
    """Where the arm was, told a few times a second.

    Attributes:
        T_base_tool: ``(4, 4)`` float64 (m).
        gripper: 0 open to 1 closed.
    """

    T_base_tool: NDArray[np.float64]
    gripper: float


@dataclass(frozen=True, slots=True, eq=False)
class ArmReport:
    """What arm_node tells on /arm/status, /arm/tool_pose and /arm/joint_states.

    Attributes:
        stamp_ns: ROS time.
        mode: What the arm is doing.
        reason: Why.
        emergency_stop: It was stopped by a limit, a contact or a fault since it was armed.
        ready: It has nothing to execute.
        completed: Sequence of the last goal that ended, or None.
        whole: That goal was executed to its end.
        tool: Where it is; None between two such reports.
    """

    stamp_ns: int
    mode: ArmMode
    reason: str
    emergency_stop: bool
    ready: bool
    completed: int | None
    whole: bool
    tool: ToolReport | None


class HeadlessArm:
    """Ticks the controller on a world.

    Args:
        controller: Pure controller.
        config: As arm_node's.
        world: What moves.
    """

    def __init__(self, controller: ArmController, config: ArmParameters, world: World) -> None:
        self._controller = controller
        self._config = config
        self._world = world
        self._state = ControllerState()
        self._inputs = ArmInputs()
        self._goal: ArmGoal | None = None
        self._judged: deque[tuple[View, int]] = deque(maxlen=_LEASES_KEPT)
        self._ended: GoalReport | None = None
        self._emergency = False
        self._gripper_sent: float | None = None
        self._next_report_ns = 0
        self._told: tuple[ArmMode, str, int] = (ArmMode.DISARMED, "", -1)
        self._reports: list[ArmReport] = []

    def rearm(self, now_ns: int) -> str:
        """Arm; return why not, or nothing."""
        self._goal, self._inputs = None, ArmInputs(arm=True)
        self._step(now_ns)
        if not self._state.is_armed:
            return self._state.reason or "the arm stays disarmed"
        self._emergency, self._ended = False, None
        self._gripper_sent = self._state.gripper_target
        return ""

    def stop(self, reason: str, now_ns: int) -> None:
        """Brake and disarm."""
        self._goal, self._inputs = None, ArmInputs(stop=reason)
        self._step(now_ns)

    def take_lease(self, lease: GateLease) -> None:
        """Hear the gate."""
        self._judged.append((lease.view, lease.frame_stamp_ns))
        self._inputs = replace(self._inputs, leases=(*self._inputs.leases, lease)[-_LEASES_KEPT:])

    def take_goal(self, goal: ArmGoal) -> None:
        """Hear a decision; the newest counts."""
        self._goal = goal

    def tick(self, now_ns: int) -> None:
        """Answer the world's state at ``now_ns``; while time stands still there is nothing to answer."""
        measured = self._state.measured
        if measured is None or measured.stamp_ns < now_ns:
            self._step(now_ns)

    def news(self) -> list[ArmReport]:
        """Take what was told since the last time."""
        news, self._reports = self._reports, []
        return news

    def _step(self, now_ns: int) -> None:
        inputs = replace(self._inputs, measured=self._measured(now_ns), goal=self._goal_at(now_ns))
        self._inputs = ArmInputs()
        self._state, output = self._controller.step(self._state, inputs, now_ns)
        for report in output.reports:
            if report.outcome is not GoalOutcome.ACCEPTED:
                self._ended = report
        if output.stop is not None:
            self._emergency |= output.stop.cause is not StopCause.REQUESTED
        self._drive(output)
        self._report(now_ns, output)

    def _measured(self, now_ns: int) -> ArmState:
        world = self._world
        gripper = GripperState(position=world.gripper, moving=world.gripper_moving)
        contact = world.contact_violation or ""
        return ArmState(now_ns, world.q_rad, world.qd_radps, gripper, contact=contact)

    def _drive(self, output: ArmOutput) -> None:
        if output.stop is not None and output.stop.stop_driver:
            self._world.set_arm_target(self._world.q_rad)
        elif output.q_target_rad is not None:
            self._world.set_arm_target(output.q_target_rad)
        if output.gripper_target is not None and output.gripper_target != self._gripper_sent:
            self._gripper_sent = output.gripper_target
            self._world.set_gripper_target(output.gripper_target)

    def _goal_at(self, now_ns: int) -> ArmGoal | None:
        """Return the waiting goal once its frame is judged, or has not been for too long."""
        goal = self._goal
        if goal is None:
            return None
        judged = (goal.view, goal.frame_stamp_ns) in self._judged
        if not judged and now_ns - goal.frame_stamp_ns < self._config.lease_wait_s * _SECOND_NS:
            return None
        self._goal = None
        return goal

    def _report(self, now_ns: int, output: ArmOutput) -> None:
        """Tell what changed, and now and then where the arm is."""
        status, ended = output.status, self._ended
        now = (status.mode, status.reason, -1 if ended is None else ended.sequence)
        due = now_ns >= self._next_report_ns
        if not due and now == self._told:
            return
        self._told = now
        tool = None
        if due:
            self._next_report_ns = now_ns + round(_SECOND_NS / self._config.report_rate_hz)
            tool = self._tool()
        idle = status.mode in {ArmMode.IDLE, ArmMode.HOLDING} and self._state.run is None
        report = ArmReport(
            stamp_ns=now_ns,
            mode=status.mode,
            reason=status.reason,
            emergency_stop=self._emergency,
            ready=idle,
            completed=None if ended is None else ended.sequence,
            whole=ended is not None and ended.outcome is GoalOutcome.COMPLETED,
            tool=tool,
        )
        self._reports.append(report)

    def _tool(self) -> ToolReport:
        T_base_tool = self._controller.planner.kinematics.forward(self._world.q_rad)
        return ToolReport(as_sent(T_base_tool), self._world.gripper)
