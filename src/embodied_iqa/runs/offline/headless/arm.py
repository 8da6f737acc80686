"""The arm of a headless trial: the controller of arm_node on the simulated world."""

from __future__ import annotations

from embodied_iqa.arm.robot.arm_runner import ArmReport, ArmRunner, ArmTick
from embodied_iqa.arm.robot.controller import ArmController
from embodied_iqa.arm.robot.messages import ArmGoal, ArmState, GripperState
from embodied_iqa.arm.verdict import GateLease
from embodied_iqa.runs.graph.arm_parameters import ArmParameters
from embodied_iqa.world.simulation.world import World


class HeadlessArm:
    """Steps the controller on a world.

    Args:
        controller: The controller.
        config: As of arm_node.
        world: The world; its arm and gripper are moved.
    """

    def __init__(self, controller: ArmController, config: ArmParameters, world: World) -> None:
        self._runner = ArmRunner(controller, report_rate_hz=config.report_rate_hz)
        self._world = world
        self._reports: list[ArmReport] = []

    def take_lease(self, lease: GateLease) -> None:
        """Note a lease for the next tick."""
        self._runner.take_lease(lease)

    def take_goal(self, goal: ArmGoal) -> None:
        """Note a goal for the next tick."""
        self._runner.take_goal(goal)

    def rearm(self, now_ns: int) -> str:
        """Arm; return why that failed, or an empty text."""
        self._carry_out(self._runner.arm(self._measured(now_ns)))
        state = self._runner.state
        return "" if state.is_armed else state.reason or "the arm stays disarmed"

    def stop(self, reason: str, now_ns: int) -> None:
        """Brake and disarm."""
        self._carry_out(self._runner.stop(reason, self._measured(now_ns)))

    def tick(self, now_ns: int) -> None:
        """Answer the state of the world at ``now_ns``."""
        self._carry_out(self._runner.tick(self._measured(now_ns)))

    def take_reports(self) -> list[ArmReport]:
        """Return the reports since the last call."""
        reports, self._reports = self._reports, []
        return reports

    def _measured(self, now_ns: int) -> ArmState:
        world = self._world
        gripper = GripperState(position=world.gripper, moving=world.gripper_moving)
        return ArmState(now_ns, world.q_rad, world.qd_radps, gripper, contact=world.contact_violation or "")

    def _carry_out(self, tick: ArmTick | None) -> None:
        if tick is None:
            return
        if tick.stop is not None and tick.stop.stop_driver:
            self._world.set_arm_target(self._world.q_rad)
        elif tick.q_target_rad is not None:
            self._world.set_arm_target(tick.q_target_rad)
        if tick.gripper_target is not None:
            self._world.set_gripper_target(tick.gripper_target)
        if tick.report is not None:
            self._reports.append(tick.report)
