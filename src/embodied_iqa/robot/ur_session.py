"""The connections of `ur_rtde` to one controller, as the worker uses them."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any

from embodied_iqa.robot.ur_messages import Request, UrFlags, UrState

__all__ = ["WORLD_TIME_REGISTER", "UrSession"]

WORLD_TIME_REGISTER = 12
"""Output double register in which an emulator inside a simulated world writes the simulated time."""
ACKNOWLEDGE_REGISTER = 18
"""Input double register in which the driver writes the controller time that it has answered."""

_VARIABLES = (
    "timestamp", "actual_q", "actual_qd", "actual_TCP_pose", "target_q", "runtime_state",
    "safety_status_bits", "robot_mode", "target_speed_fraction",
    f"output_double_register_{WORLD_TIME_REGISTER}",
)  # fmt: skip
_START_S = 1.3
_KICK_S = 0.02
_PLAYING = 2
_RUNNING_MODE = 7


class UrSession:
    """Connected: states can be read; armed: the robot's program runs and takes targets.

    Args:
        ip: Of the controller.
        rate_hz: Of states and targets.
        lookahead_s: Smoothing of targets.
        gain: Stiffness.
        watchdog_hz: The program stops where it hears nothing for one period.
        stop_mps2: Deceleration of a stream.
        stop_radps2: Deceleration of a move.
        tool_pose: Tool centre point in the flange's frame (m, rad).
        payload_kg: 0 keeps what is set.
        lockstep: A simulated world waits for an answer to each of its states.

    Attributes:
        armed: Targets are taken.
        halted: The program ended although the arm was armed.
    """

    def __init__(
        self,
        *,
        ip: str,
        rate_hz: float,
        lookahead_s: float,
        gain: float,
        watchdog_hz: float,
        stop_mps2: float,
        stop_radps2: float,
        tool_pose: list[float],
        payload_kg: float,
        lockstep: bool,
    ) -> None:
        import rtde_control  # noqa: PLC0415 - only in this process
        import rtde_io  # noqa: PLC0415
        import rtde_receive  # noqa: PLC0415

        self.rate_hz = rate_hz
        self._period_s = 1.0 / rate_hz
        self._lookahead_s, self._gain, self._watchdog_hz = lookahead_s, gain, watchdog_hz
        self._stop_mps2, self._stop_radps2 = stop_mps2, stop_radps2
        self._tool_pose, self._payload_kg, self._lockstep = tool_pose, payload_kg, lockstep
        self._ip = ip
        self._receive: Any = rtde_receive.RTDEReceiveInterface(ip, rate_hz, list(_VARIABLES))
        flags = rtde_control.RTDEControlInterface.FLAG_NO_WAIT  # nothing is started before the arm is armed
        self._control: Any = rtde_control.RTDEControlInterface(ip, -1.0, flags)
        self._io: Any = rtde_io.RTDEIOInterface(ip)
        self.version = self._ask_version()
        self.armed = self.halted = False
        self._servoing = self._started = False
        self._kicked_s = 0.0
        self._do: dict[str, Callable[[Request], bool]] = {
            "rearm": self._rearm,
            "stop": self._stop,
            "move_joints": self._move_joints,
            "move_line": self._move_line,
            "speed_slider": self._set_speed,
            "unlock": self._unlock,
            "digital_output": self._set_output,
        }

    @property
    def is_connected(self) -> bool:
        """Whether the controller still sends."""
        return bool(self._receive.isConnected())

    @property
    def controller_s(self) -> float:
        """The newest state's time stamp."""
        return float(self._receive.getTimestamp())

    @property
    def is_moving(self) -> bool:
        """Whether a move is under way."""
        return self._playing and self._control.getAsyncOperationProgress() >= 0

    @property
    def _playing(self) -> bool:
        return bool(self._receive.getRuntimeState() == _PLAYING)

    def state(self, flags: UrFlags) -> UrState:
        """Return the newest state; every part of it comes from the same package."""
        receive = self._receive
        while True:
            stamp = receive.getTimestamp()
            state = UrState(
                arrived_ns=time.monotonic_ns(),
                system_ns=time.time_ns(),
                controller_s=stamp,
                world_s=receive.getOutputDoubleRegister(WORLD_TIME_REGISTER) if self._lockstep else math.nan,
                q_rad=tuple(receive.getActualQ()),
                qd_radps=tuple(receive.getActualQd()),
                tool_pose=tuple(receive.getActualTCPPose()),
                q_target_rad=tuple(receive.getTargetQ()),
                runtime=receive.getRuntimeState(),
                safety_bits=receive.getSafetyStatusBits(),
                robot_mode=receive.getRobotMode(),
                speed_fraction=receive.getTargetSpeedFraction(),
                flags=flags,
            )
            if receive.getTimestamp() == stamp:
                break
        if self.armed and state.runtime != _PLAYING:
            self.armed, self.halted, self._servoing = False, True, False
        return state

    def servo(self, q_rad: list[float]) -> None:
        """Stream a joint target; without effect unless armed."""
        if not self.armed:
            return
        self._kicked_s = time.monotonic()
        if self._control.servoJ(q_rad, 0.5, 0.5, self._period_s, self._lookahead_s, self._gain):
            self._servoing = True
        else:
            self.armed, self.halted, self._servoing = False, True, False

    def kick(self) -> None:
        """Tell the program that the driver is alive."""
        now_s = time.monotonic()
        if self.armed and now_s - self._kicked_s > _KICK_S:
            self._kicked_s = now_s
            self._control.kickWatchdog()

    def acknowledge(self, answers_s: float) -> None:
        """Tell a simulated world that its state was answered."""
        if self._lockstep and math.isfinite(answers_s):
            self._io.setInputDoubleRegister(ACKNOWLEDGE_REGISTER, answers_s)

    def do(self, request: Request) -> bool:
        """Do what is asked for; return whether it goes on (a move).

        Raises:
            RuntimeError: It could not be done; says why.
        """
        return self._do[request.name](request)

    def why_move_ended(self) -> str:
        """Say why a move that is over did not end well; empty where it did."""
        if self._receive.isEmergencyStopped():
            return "the emergency stop is pressed"
        if self._receive.isProtectiveStopped():
            return "the robot made a protective stop"
        if not self._playing:
            return "the robot's program ended"
        return "" if self.armed else "the arm was stopped"

    def stop(self) -> None:
        """Stop the arm; nothing moves it before it is armed again."""
        self.armed = False
        if not self._playing:
            return
        if self._servoing:
            self._servoing = False
            self._control.servoStop(self._stop_mps2)
        else:
            self._control.stopJ(self._stop_radps2, True)

    def _stop(self, _: Request) -> bool:
        self.stop()
        return False

    def _rearm(self, request: Request) -> bool:
        self.stop()
        if request.words.get("unlock") and self._receive.isProtectiveStopped():
            self._unlock(request)
        self._refuse_where_stopped()
        if not (self._playing and self._started):  # another client's program may still follow its targets
            self._start_program()
        self._require(self._control.setTcp(self._tool_pose), "the tool centre point")
        if self._payload_kg > 0.0:
            self._require(self._control.setPayload(self._payload_kg, []), "the payload")
        self._require(self._control.setWatchdog(self._watchdog_hz), "the watchdog")
        self.armed, self.halted = True, False
        return False

    def _refuse_where_stopped(self) -> None:
        if self._receive.isEmergencyStopped():
            raise RuntimeError("the emergency stop is pressed")
        if self._receive.isProtectiveStopped():
            raise RuntimeError("a protective stop is in force: unlock it first")
        mode = self._receive.getRobotMode()
        if mode != _RUNNING_MODE:
            raise RuntimeError(f"the robot is not running (robot mode {mode}): power on, release the brakes")

    def _start_program(self) -> None:
        self._control.reuploadScript()
        deadline = time.monotonic() + _START_S
        while not (self._control.isProgramRunning() and self._playing):
            if time.monotonic() > deadline:
                raise RuntimeError("the controller did not start the program (remote control? local mode?)")
            time.sleep(0.002)
        self._started = True

    def _require(self, done: bool, what: str) -> None:  # noqa: FBT001 - what the library returned
        if not done:
            raise RuntimeError(f"the controller did not take {what}")

    def _move_joints(self, request: Request) -> bool:
        *q_rad, speed, acceleration = request.values
        return self._move(lambda: self._control.moveJ(q_rad, speed, acceleration, True))

    def _move_line(self, request: Request) -> bool:
        *pose, speed, acceleration = request.values
        return self._move(lambda: self._control.moveL(pose, speed, acceleration, True))

    def _move(self, begin: Callable[[], bool]) -> bool:
        if not self.armed:
            raise RuntimeError("the arm is not armed")
        if self._servoing:
            self._servoing = False
            self._control.servoStop(self._stop_mps2)
        self._require(begin(), "the move")
        return True

    def _set_speed(self, request: Request) -> bool:
        self._require(self._io.setSpeedSlider(request.values[0]), "the speed")
        return False

    def _set_output(self, request: Request) -> bool:
        pin, level = request.values
        self._require(self._io.setStandardDigitalOut(int(pin), bool(level)), "the output")
        return False

    def _unlock(self, _: Request) -> bool:
        import dashboard_client  # noqa: PLC0415 - only in this process

        dashboard = dashboard_client.DashboardClient(self._ip)
        dashboard.connect(1000)
        try:
            dashboard.closeSafetyPopup()
            dashboard.unlockProtectiveStop()
        finally:
            dashboard.disconnect()
        deadline = time.monotonic() + 1.0
        while self._receive.isProtectiveStopped() and time.monotonic() < deadline:
            time.sleep(0.002)
        return False

    def _ask_version(self) -> str:
        import dashboard_client  # noqa: PLC0415 - only in this process

        dashboard = dashboard_client.DashboardClient(self._ip)
        dashboard.connect(1000)
        try:
            return str(dashboard.polyscopeVersion())
        finally:
            dashboard.disconnect()
