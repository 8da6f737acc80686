"""Commands of other people's policies, and the commands that stop what they set in motion."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Final, TypeAlias

from geometry_msgs.msg import TwistStamped
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from embodied_iqa.arm.robot.lease_watch import Moment
from embodied_iqa.base.units import SECOND_NS
from embodied_iqa.live.ros.conversion import header_of, ns_of
from embodied_iqa.runs.graph.gate_filter_parameters import FilteredCommand, GateFilterParameters

Command: TypeAlias = TwistStamped | JointTrajectory | Float64MultiArray
KINDS: Final = {
    FilteredCommand.TWIST: TwistStamped,
    FilteredCommand.TRAJECTORY: JointTrajectory,
    FilteredCommand.POSITIONS: Float64MultiArray,
    FilteredCommand.VELOCITIES: Float64MultiArray,
}
"""Message of each kind of command."""


class Stops:
    """Knows how to stop; what it could not stop must not begin.

    Args:
        config: Kind of the commands, and the joints.
    """

    def __init__(self, config: GateFilterParameters) -> None:
        self._config = config
        self._frame_id = config.frame_id
        self._positions: list[float] = []
        self._read_ns = 0
        self._lacking: list[str] = []
        self._stamped = ""

    def take_joints(self, message: JointState, now: Moment) -> None:
        """Keep the positions of our joints, in our order.

        A state that is damaged, lacks one, or is not of now by its stamp is left alone. A stamp of zero says
        nothing.

        Args:
            message: The state.
            now: When it arrived; its stamp is ROS time.
        """
        stamp_ns = ns_of(message.header.stamp)
        old_s = (now.ros_ns - stamp_ns) / SECOND_NS if stamp_ns else 0.0
        self._stamped = ""
        if abs(old_s) > self._config.state_age_s:
            when = f"{abs(old_s):.2f} s {'ago' if old_s > 0 else 'ahead'}"
            self._stamped = f"; those that come are stamped {when}"
            return
        known = dict(zip(message.name, message.position, strict=False))
        found = [known.get(joint, math.nan) for joint in self._config.joints]
        joints = zip(self._config.joints, found, strict=True)
        self._lacking = [joint for joint, position in joints if not math.isfinite(position)]
        if not self._lacking:
            self._positions, self._read_ns = found, now.steady_ns - round(max(old_s, 0.0) * SECOND_NS)

    def why_unfit(self, command: Command) -> str:
        """Return what is wrong with a command, which must not pass; empty where nothing is."""
        joints = self._config.joints
        if isinstance(command, JointTrajectory):
            if sorted(command.joint_names) != sorted(joints):
                named = ", ".join(command.joint_names)
                return f"a command is for the joints {named}, not for {', '.join(joints)}"
            if reason := _why_damaged(command, len(joints)):
                return reason
        if isinstance(command, Float64MultiArray) and len(command.data) != len(joints):
            return f"a command has {len(command.data)} numbers for {len(joints)} joints"
        if not all(map(math.isfinite, _numbers(command))):
            return "a command holds a number that is not finite"
        return ""

    def why_lost(self, now_ns: int) -> str:
        """Return why nothing could be stopped soon: a stop holds joints at a state that has to be fresh.

        Empty where it could; the time is that of a steady clock. No command passes meanwhile.
        """
        if not self._config.command.holds:
            return ""
        if not self._positions:
            newest = f"; the newest lacks {', '.join(self._lacking)}" if self._lacking else self._stamped
            return f"no state of all joints yet, at which a stop could hold them{newest}"
        age_s = (now_ns - self._read_ns) / SECOND_NS
        is_fresh = age_s <= self._config.state_age_s
        return "" if is_fresh else f"the newest joint state is {age_s:.2f} s old{self._stamped}"

    def is_outdated(self, now_ns: int) -> bool:
        """Return whether a stop would send the arm to where it was long ago or nowhere: wait for a state."""
        age_s = (now_ns - self._read_ns) / SECOND_NS
        return self._config.command.holds and (not self._positions or age_s > 2.0 * self._config.state_age_s)

    def passed(self, command: Command) -> None:
        """Note a command that passes: the stop of a twist is in its frame."""
        if isinstance(command, TwistStamped):
            self._frame_id = command.header.frame_id

    def command(self, now_ns: int) -> Command:
        """Return the command that stops.

        Args:
            now_ns: ROS time.
        """
        config = self._config
        if config.command is FilteredCommand.TWIST:
            return TwistStamped(header=header_of(now_ns, self._frame_id))
        if config.command is FilteredCommand.VELOCITIES:
            return Float64MultiArray(data=[0.0] * len(config.joints))
        if config.command is FilteredCommand.POSITIONS:
            return Float64MultiArray(data=self._positions)
        point = JointTrajectoryPoint(positions=self._positions)
        hold_ns = round(config.hold_s * SECOND_NS)
        point.time_from_start.sec, point.time_from_start.nanosec = divmod(hold_ns, SECOND_NS)
        return JointTrajectory(joint_names=list(config.joints), points=[point])


def _why_damaged(command: JointTrajectory, joints: int) -> str:
    """Return why a trajectory sets no motion of so many joints; empty where it does."""
    if not command.points:
        return "a command has no points"
    for point in command.points:
        sizes = [len(numbers) for numbers in _parts(point)]
        if not any(sizes[:2]) or any(size not in {0, joints} for size in sizes):
            return f"a point of a command has no positions or velocities of {joints} joints"
    return ""


def _parts(point: JointTrajectoryPoint) -> tuple[Sequence[float], ...]:
    return point.positions, point.velocities, point.accelerations, point.effort


def _numbers(command: Command) -> Iterator[float]:
    if isinstance(command, TwistStamped):
        for vector in (command.twist.linear, command.twist.angular):
            yield from (vector.x, vector.y, vector.z)
    elif isinstance(command, Float64MultiArray):
        yield from command.data
    else:
        for point in command.points:
            for part in _parts(point):
                yield from part
