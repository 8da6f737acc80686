"""The simulated arm and gripper behind the drivers' protocols: joint states in, joint targets out."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from embodied_iqa_msgs.msg import SimState
from numpy.typing import NDArray
from rclpy.node import Node
from sensor_msgs.msg import JointState

from embodied_iqa.robot.protocols import ArmState, GripperState
from embodied_iqa.ros.conversion import ns_of, time_of
from embodied_iqa.ros.qos import LATCHED, STATE

__all__ = ["SimArm"]

_JOINTS = ["joint_1", "joint_2", "joint_3", "joint_4", "joint_5", "joint_6"]
_GRIPPER = "gripper"


class SimArm:
    """`Arm` and `Gripper` over the topics of sim_node.

    The world waits for an answer to each of its states: `answer` sends what was streamed since, or that there
    is nothing to do.

    Args:
        node: Whose topics they are.
        rate_hz: Of the world's controller.
        on_state: Called with each new state.
    """

    def __init__(self, node: Node, rate_hz: float, on_state: Callable[[ArmState], None]) -> None:
        self._rate_hz = rate_hz
        self._on_state = on_state
        self._state: ArmState | None = None
        self._contact = ""
        self._q_target: NDArray[np.float64] | None = None
        self._gripper_target: float | None = None
        self._publisher = node.create_publisher(JointState, "/sim/joint_targets", STATE)
        node.create_subscription(JointState, "/sim/joint_states", self._take_joints, STATE)
        node.create_subscription(SimState, "/sim/status", self._take_status, LATCHED)

    @property
    def rate_hz(self) -> float:
        """How often the arm wants a joint target."""
        return self._rate_hz

    @property
    def problem(self) -> str:
        """The simulated arm is never lost by itself: no state comes then."""
        return ""

    def read(self) -> ArmState | None:
        """Return the newest state."""
        return self._state

    def stream(self, q_rad: NDArray[np.float64]) -> None:
        """Set the joint target of this period."""
        self._q_target = q_rad

    def move(self, position: float) -> None:
        """Set the gripper's target."""
        self._gripper_target = position

    def stop(self, reason: str) -> None:  # noqa: ARG002 - the simulated arm keeps no log
        """Stay where the arm is."""
        self._q_target = None if self._state is None else self._state.q_rad

    def rearm(self, reason: str) -> None:
        """The simulated arm is always ready."""

    def answer(self) -> None:
        """Send what is to be done in answer to the newest state."""
        if self._state is None:
            return
        message = JointState()
        message.header.stamp = time_of(self._state.stamp_ns)
        if self._q_target is not None:
            message.name, message.position = list(_JOINTS), self._q_target.tolist()
        if self._gripper_target is not None:
            message.name = [*message.name, _GRIPPER]
            message.position = [*message.position, float(self._gripper_target)]
        self._q_target = self._gripper_target = None
        self._publisher.publish(message)

    def close(self) -> None:
        """Send nothing more."""
        self._q_target = self._gripper_target = None

    def _take_joints(self, message: JointState) -> None:
        *q_rad, gripper = message.position
        *qd_radps, moving = message.velocity
        self._state = ArmState(
            stamp_ns=ns_of(message.header.stamp),
            q_rad=np.array(q_rad),
            qd_radps=np.array(qd_radps),
            gripper=GripperState(position=gripper, moving=bool(moving)),
            contact=self._contact,
        )
        self._on_state(self._state)

    def _take_status(self, message: SimState) -> None:
        self._contact = message.contact_violation
