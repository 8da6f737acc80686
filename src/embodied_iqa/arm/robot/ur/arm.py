"""Driver of a UR arm: measured states in, joint targets out; no call hangs.

The client library `ur_rtde` runs in a worker process, because it waits up to 300 s for a controller that is
gone and holds Python's interpreter lock while it connects: a process can be killed, a thread cannot. The
driver exchanges messages with the worker without waiting, checks the age of the newest state itself, and ends
the worker when a deadline passes.

An arm of another model is refused at connection, by the version of its controller and by the pose that it
reports (`ur_model_check`).

Safety: nothing moves before `rearm`. A stop, a protective or emergency stop, a lost connection or an ended
program disarm the arm until `rearm` is called again. The watchdog of the robot's program stops the robot if
the driver is silent for a quarter of a second.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from math import isfinite

import numpy as np
from numpy.typing import ArrayLike, NDArray

from embodied_iqa.arm.robot.messages import ArmState, GripperState, RobotFault
from embodied_iqa.arm.robot.ur.link import UrLink
from embodied_iqa.arm.robot.ur.messages import Command, UrState
from embodied_iqa.arm.robot.ur.options import SessionOptions, UrOptions
from embodied_iqa.arm.robot.ur.robotiq_gripper import RobotiqGripper
from embodied_iqa.base.errors import InputError, UsageError
from embodied_iqa.base.kinematics import pose_to_transform, transform_to_pose
from embodied_iqa.base.kinematics.models import ArmModel
from embodied_iqa.base.units import SECOND_NS

_NO_GRIPPER = GripperState(position=0.0)
_GRIPPER_S = 0.2


class UrArm:
    """A UR arm: a real controller or the emulator.

    Args:
        options: Address, rates, deadlines.
        T_flange_tool: ``(4, 4)``, the tool centre point in the flange's frame (m).
        model: Model that the arm has to be.
        rate_hz: States and joint targets per second, at most those of the controller; None for as many.
        simulated_time: The robot is emulated inside a simulated world: states have that world's time, and
            each is acknowledged.
        gripper: Gripper whose state is part of the arm's states; it is closed with the arm.
        log: Receives messages for the operator.
        link: Makes the link to the worker process.
    """

    def __init__(
        self,
        options: UrOptions,
        T_flange_tool: NDArray[np.float64],
        *,
        model: ArmModel = ArmModel.UR5,
        rate_hz: float | None = None,
        simulated_time: bool = False,
        gripper: RobotiqGripper | None = None,
        log: Callable[[str], object] = lambda _: None,
        link: Callable[[SessionOptions, Callable[[str], object]], UrLink] = UrLink,
    ) -> None:
        options.check(model)
        rate_hz = model.rate_hz if rate_hz is None else rate_hz
        if rate_hz > model.rate_hz:
            raise UsageError(
                f"the controller of a {model.geometry.name} takes no more joint targets a second",
                expected=f"at most {model.rate_hz:g} Hz",
                got=rate_hz,
            )
        tool_pose = tuple(transform_to_pose(T_flange_tool).tolist())
        self._session = SessionOptions(options, rate_hz, tool_pose, lockstep=simulated_time, model=model)
        self._link = link(self._session, log)
        self._gripper = gripper
        self._log = log
        self._closed = self._gripper_moves = False
        self._gripper_seen: GripperState | None = None

    @property
    def is_armed(self) -> bool:
        """Whether joint targets are accepted."""
        return self._link.armed

    @property
    def is_connected(self) -> bool:
        """Whether states arrive."""
        return self._link.is_connected

    @property
    def is_begun(self) -> bool:
        """Whether `start` was called."""
        return self._link.process is not None

    @property
    def state(self) -> UrState | None:
        """The newest state with everything that the controller reports."""
        return self._link.state

    @property
    def model(self) -> ArmModel:
        """Model that the arm has to be."""
        return self._session.model

    @property
    def rate_hz(self) -> float:
        """States a second."""
        return self._session.rate_hz

    @property
    def T_base_tool(self) -> NDArray[np.float64] | None:
        """``(4, 4)``, measured pose of the tool (m); None before the first state."""
        return None if self.state is None else pose_to_transform(self.state.tool_pose)

    def fileno(self) -> int:
        """Return a descriptor that becomes readable when a message arrives; -1 without a connection."""
        return -1 if self._link.process is None else self._link.process.fileno()

    def wait(self, seconds: float) -> None:
        """Wait until a message arrives, at most so long."""
        self._link.wait(seconds)

    def start(self) -> None:
        """Begin to connect and return at once; `read` returns None until the first state arrives."""
        if self._closed:
            raise InputError("the arm's driver is closed")
        self._link.start()

    def connect(self) -> None:
        """Connect and wait for the first state, at most ``options.connect_s``.

        Raises:
            RefusedArmError: The arm is of another model.
            InputError: The controller cannot be reached in time.
        """
        self.start()
        while self.read() is None:
            self.wait(0.05)

    def read(self) -> ArmState | None:
        """Return the newest state without waiting, or None before the first.

        Raises:
            RefusedArmError: The arm is of another model; `start` tries again.
            InputError: The connection is lost or was not made in time; `start` tries again.
        """
        state = self._link.receive()
        if state is None:
            return None
        fault = self._link.fault_of(state)
        return ArmState(
            stamp_ns=round(state.world_s * SECOND_NS) if self._session.lockstep else state.system_ns,
            q_rad=np.array(state.q_rad),
            qd_radps=np.array(state.qd_radps),
            gripper=self._gripper_beside(fault),
            fault=fault,
            speed_fraction=min(max(state.speed_fraction, 0.0), 1.0)
            if isfinite(state.speed_fraction)
            else 0.0,
        )

    def _gripper_beside(self, fault: RobotFault | None) -> GripperState:
        """Return the gripper's state; the last one while the robot, which powers it, is stopped.

        Raises:
            InputError: The gripper is lost while nothing is wrong with the robot, or was never read.
        """
        try:
            self._gripper_seen = self._read_gripper()
        except InputError as error:
            if fault is None:
                raise InputError("; ".join(filter(None, [self._link.silence, str(error)]))) from None
            if self._gripper_seen is None:
                raise InputError(f"{fault.reason}; {error}") from None
        return self._gripper_seen

    def _read_gripper(self) -> GripperState:
        if self._gripper is None:
            return _NO_GRIPPER
        if self._session.lockstep and self._gripper_moves:
            with suppress(InputError):  # then the newest state counts, while it is fresh enough
                self._gripper.wait_fresh(_GRIPPER_S)  # of this step of the world, which waits for the answer
        state = self._gripper.read()
        self._gripper_moves &= state.moving
        return state

    def stream(self, q_rad: NDArray[np.float64]) -> None:
        """Send the joint target ``(6,)`` (rad) of this period.

        Raises:
            UsageError: The target is not six finite numbers.
            InputError: The arm is not armed.
        """
        target = _six(q_rad, "joint target")
        if not self.is_armed:
            raise InputError("the arm is not armed: it takes no joint targets")
        self._link.answer(target)

    def idle(self) -> None:
        """Answer the newest state without a joint target: keeps the robot's watchdog quiet."""
        self._link.answer()

    def move_gripper(self, position: float) -> None:
        """Start moving the gripper to ``position`` in [0, 1] (0 open, 1 closed) and return at once.

        Raises:
            UsageError: No gripper is connected.
        """
        if self._gripper is None:
            raise UsageError("this arm has no gripper")
        self._gripper.move(position)
        self._gripper_moves = True
        if self._session.lockstep:
            self._gripper.wait_sent(_GRIPPER_S)  # the world's next step waits until this state is answered

    def stop(self, reason: str) -> None:
        """Stop the arm as fast as it can by itself and disarm it; returns at once."""
        was_armed, self._link.armed = self.is_armed, False
        self._link.post(Command.STOP)
        if was_armed:
            self._log(f"stopping the arm: {reason}")

    def rearm(self, reason: str) -> None:
        """Make the arm accept joint targets; start the robot's program unless it is running.

        Waits at most ``options.reply_s`` for the arm, then for a new state of the gripper, because an older
        one may date from before a scene reset.

        Raises:
            InputError: A stop is active, the controller refuses, or the gripper is silent. The robot then
                takes no targets either: the worker may have armed it before the failure.
        """
        self._link.receive()
        self._log(f"arming the arm: {reason}")
        options = self._session.arm
        try:
            self._link.ask(Command.REARM, (options.unlock_on_rearm,))
            self._link.wait_armed()
            if self._gripper is not None:
                self._gripper.wait_fresh(options.gripper.reply_s + _GRIPPER_S)
        except InputError:
            self._link.armed = False
            self._link.post(Command.STOP)
            raise
        self._link.armed = True

    def unlock(self) -> None:
        """Unlock a protective stop; the arm stays disarmed. The operator must have inspected the cause.

        Raises:
            InputError: The controller refuses, as it does within the first five seconds.
        """
        self._link.ask(Command.UNLOCK)

    def set_speed(self, fraction: float) -> None:
        """Set the speed slider, 0 to 1.

        Raises:
            UsageError: The fraction is out of range.
            InputError: The controller refuses.
        """
        if not 0.0 <= fraction <= 1.0:
            raise UsageError("bad speed", expected="a fraction from 0 to 1", got=fraction)
        self._link.ask(Command.SPEED_SLIDER, (fraction,))

    def move_joints(
        self, q_rad: ArrayLike, *, speed: float = 1.0, acceleration: float = 1.4, deadline_s: float
    ) -> None:
        """Move in joint space and wait for the end while watching the robot.

        Args:
            q_rad: ``(6,)``, the target.
            speed: Speed of the joint that moves furthest (rad/s).
            acceleration: Acceleration of that joint (rad/s2).
            deadline_s: The arm is stopped if the move takes longer.

        Raises:
            InputError: The move was not finished; the arm is disarmed.
        """
        self._move(Command.MOVE_JOINTS, (*_six(q_rad, "joint target"), speed, acceleration), deadline_s)

    def move_line(
        self, T_base_tool: ArrayLike, *, speed: float = 0.25, acceleration: float = 1.2, deadline_s: float
    ) -> None:
        """Move the tool along a line and wait for the end; like `move_joints`, in m/s and m/s2."""
        pose = _six(transform_to_pose(T_base_tool), "pose")
        self._move(Command.MOVE_LINE, (*pose, speed, acceleration), deadline_s)

    def close(self) -> None:
        """Stop the arm and close the connection; calling it twice is allowed."""
        self._closed, self._link.armed = True, False
        self._link.close("closed")
        if self._gripper is not None:
            self._gripper.close()

    def _move(self, command: Command, values: tuple[float, ...], deadline_s: float) -> None:
        if not self.is_armed:
            raise InputError("the arm is not armed: it takes no moves")
        try:
            self._link.ask(command, values, deadline_s)
        except InputError as error:
            self.stop(str(error))
            raise


def _six(values: ArrayLike, what: str) -> tuple[float, ...]:
    array = np.asarray(values, dtype=np.float64)
    if array.shape != (6,) or not np.isfinite(array).all():
        raise UsageError(f"bad {what}", expected="six finite numbers", got=array.tolist())
    return tuple(array.tolist())
