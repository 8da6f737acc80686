"""The measured joints of a real arm that is only read, from its controller or from another driver."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Final, Protocol

from rclpy.node import Node
from sensor_msgs.msg import JointState

from embodied_iqa.arm.robot.foreign.joint_states import JointReader, Periods
from embodied_iqa.arm.robot.ur.dashboard_model import check_model_number, read_model_number
from embodied_iqa.arm.robot.ur.model_check import check_model
from embodied_iqa.arm.robot.ur.rtde_snapshot import StateStream
from embodied_iqa.base.errors import InputError
from embodied_iqa.base.kinematics import tool_along_z, transform_to_pose
from embodied_iqa.live.ros.conversion import ns_of
from embodied_iqa.live.ros.qos import NEWEST_STATE, adjustable
from embodied_iqa.runs.graph.arm_parameters import ArmDriver, ArmParameters

_DASHBOARD_S: Final = 1.0
_JOIN_S: Final = 3.0
_SILENCE_S: Final = 2.0
"""Nothing moves because of what is read: a busy computer may be late, and the arm is not lost yet."""

TakeJoints = Callable[[int, tuple[float, ...]], None]
"""Takes the ROS time of a measurement (ns) and six joint angles (rad)."""


class ArmReader(Protocol):
    """An arm that is read until it is closed."""

    remark: str
    """What the user should know of the arm."""

    @property
    def problem(self) -> str:
        """Why nothing is read any more; empty while all is well."""
        ...

    def close(self) -> None:
        """Disconnect."""
        ...


def open_arm(config: ArmParameters, node: Node, take: TakeJoints) -> ArmReader:
    """Begin to read an arm, at `report_rate_hz`.

    Args:
        config: Which arm, and how it is reached.
        node: Its clock stamps the states; of the subscription for another driver.
        take: Called with each state, from a thread of the reader or of the node.

    Raises:
        UserError: The arm cannot be read, or is not of the model.
    """
    if config.driver is ArmDriver.ROS2_CONTROL:
        return _DriverReader(config, node, take)
    return _ControllerReader(config, node, take)


class _ControllerReader:
    """Reads the controller of a UR arm, once it is known to be of the model."""

    def __init__(self, config: ArmParameters, node: Node, take: TakeJoints) -> None:
        ur, self._node, self._take = config.ur, node, take
        ur.check(config.model)
        self._stream = StateStream(ur.ip, ur.connect_s, rate_hz=config.report_rate_hz)
        self.problem = ""
        try:
            seen = self._stream.read(ur.connect_s)
            tool_pose = tuple(transform_to_pose(tool_along_z(config.tool_length_m)).tolist())
            note = check_model(seen, tool_pose, config.model)
            number = read_model_number(seen.address, min(_DASHBOARD_S, ur.connect_s / 4.0))
            self.remark = f"{note}; {check_model_number(number, config.model)}"
        except InputError:
            self._stream.close()
            raise
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._work, name="arm states", daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._closing.set()
        self._thread.join(_JOIN_S)
        self._stream.close()

    def _work(self) -> None:
        try:
            while not self._closing.is_set():
                seen = self._stream.read(_SILENCE_S)
                self._take(self._node.get_clock().now().nanoseconds, seen.q_rad)
        except InputError as error:
            self.problem = str(error)


class _DriverReader:
    """Hears the joint states of another driver."""

    def __init__(self, config: ArmParameters, node: Node, take: TakeJoints) -> None:
        self._node, self._take = node, take
        self._options = config.ros2_control
        self._reader = JointReader(self._options.joints, self._options.state_age_s)
        self._periods = Periods(config.report_rate_hz)
        self._refused = ""
        self.remark = f"joint states of {self._options.joint_states}; the model is not checked"
        node.create_subscription(
            JointState, self._options.joint_states, self._hear, **adjustable(NEWEST_STATE)
        )

    @property
    def problem(self) -> str:
        return self._refused or self._reader.why_silent(self._node.get_clock().now().nanoseconds)

    def close(self) -> None:
        """The subscription ends with its node."""

    def _hear(self, message: JointState) -> None:
        now_ns = self._node.get_clock().now().nanoseconds
        values = message.position, message.velocity
        try:
            state = self._reader.take(message.name, values, ns_of(message.header.stamp), now_ns)
        except InputError as error:
            self._refused = str(error)
            return
        self._refused = ""
        if state is not None and self._periods.is_due(now_ns):
            self._take(now_ns, tuple(state.q_rad.tolist()))
