"""The worker's connections to one controller through `ur_rtde`."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from embodied_iqa.arm.emulator.registers import ACKNOWLEDGE_REGISTER, WORLD_TIME_REGISTER
from embodied_iqa.arm.robot.ur.messages import Command, Request, UrFlags, UrState, why_no_power
from embodied_iqa.arm.robot.ur.options import SessionOptions
from embodied_iqa.arm.robot.ur.set_values import why_another_tool
from embodied_iqa.arm.robot.ur.silence import Silence
from embodied_iqa.base.clock import MONOTONIC, Clock
from embodied_iqa.base.errors import InputError
from embodied_iqa.base.lazy import load

_VARIABLES = [
    "timestamp", "actual_q", "actual_qd", "actual_TCP_pose", "target_q", "runtime_state",
    "safety_status_bits", "robot_mode", "target_speed_fraction",
    f"output_double_register_{WORLD_TIME_REGISTER}",
]  # fmt: skip
_START_S = 1.3
_UNLOCK_S = 1.0
_KICK_S = 0.02
_POLL_S = 0.002
_DASHBOARD_MS = 1000
_PLAYING = 2
_LATEST_END = 2.5
"""So many periods after a refused target the program counts as ended, even where states say that it plays."""
_IN_USE = "input registers are already in use"
"""Words of `ur_rtde` where the controller has given its inputs to another client."""
_UNLOCK_FIRST = "a protective stop is active: unlock it first"


class UrSession:
    """A session is connected if states arrive, and armed if the robot's program runs and accepts targets.

    Args:
        options: Options of the worker.
        clock: Of deadlines, pauses and silences.

    Attributes:
        options: Options of the worker.
        armed: Whether targets are accepted.
        halted: HALTED if the program ended while the arm was armed, and WATCHDOG if by its watchdog; states
            have it from the second one on that shows the end, see `state`.
    """

    def __init__(self, options: SessionOptions, clock: Clock = MONOTONIC) -> None:
        self.options = options
        self._clock = clock
        self._arm = options.arm
        control, io, receive = (load(f"rtde_{name}") for name in ("control", "io", "receive"))
        ip, rate_hz = self._arm.ip, options.rate_hz
        self._receive: Any = receive.RTDEReceiveInterface(ip, rate_hz, _VARIABLES)
        flags = control.RTDEControlInterface.FLAG_NO_WAIT  # no program is started before the arm is armed
        try:
            self._control: Any = control.RTDEControlInterface(ip, -1.0, flags)
        except RuntimeError as error:
            if _IN_USE in str(error):
                raise InputError(f"another program or trial commands this arm: {error}") from None
            raise
        self._io: Any = io.RTDEIOInterface(ip)
        self.armed = self._servoing = self._started = False
        self.halted = UrFlags(0)
        self._kicked_s = 0.0
        self._halted_s = self._ended_s = math.nan
        limit_s = 1.0 / self._arm.watchdog_hz
        self._silence = Silence(limit_s, lambda: self.controller_s)
        # states may be read late, so the silence on this machine's clock explains an ended program too
        self._waited = Silence(limit_s, clock.now_s)
        self._commands: dict[Command, Callable[[Request], bool]] = {
            Command.REARM: self._rearm,
            Command.STOP: self._stop,
            Command.MOVE_JOINTS: self._move_joints,
            Command.MOVE_LINE: self._move_line,
            Command.SPEED_SLIDER: self._set_speed,
            Command.UNLOCK: self._unlock,
        }

    @property
    def is_connected(self) -> bool:
        """Whether the controller still sends states."""
        return bool(self._receive.isConnected())

    @property
    def controller_s(self) -> float:
        """Time stamp of the newest state."""
        return float(self._receive.getTimestamp())

    @property
    def is_moving(self) -> bool:
        """Whether a move is in progress."""
        return self._playing and self._control.getAsyncOperationProgress() >= 0

    @property
    def _playing(self) -> bool:
        return bool(self._receive.getRuntimeState() == _PLAYING)

    def state(self) -> UrState:
        """Return the newest state, read from a single package.

        A controller may report that the program has ended one package before the protective stop that ended
        it: targets are ignored from the first state on, and the next one says that the program ended.
        """
        receive, lockstep = self._receive, self.options.lockstep
        while True:
            was_armed = self.armed  # the other thread may arm on a newer state than the one that is read here
            stamp = receive.getTimestamp()
            state = UrState(
                arrived_ns=self._clock.now_ns(),
                system_ns=time.time_ns(),
                controller_s=stamp,
                world_s=receive.getOutputDoubleRegister(WORLD_TIME_REGISTER) if lockstep else math.nan,
                q_rad=tuple(receive.getActualQ()),
                qd_radps=tuple(receive.getActualQd()),
                tool_pose=tuple(receive.getActualTCPPose()),
                q_target_rad=tuple(receive.getTargetQ()),
                runtime=receive.getRuntimeState(),
                safety_bits=receive.getSafetyStatusBits(),
                robot_mode=receive.getRobotMode(),
                speed_fraction=receive.getTargetSpeedFraction(),
                flags=UrFlags(0),
                silence_s=self._silence.longest_s,
                near_misses=self._silence.near_misses,
            )
            if receive.getTimestamp() == stamp:
                break
        if was_armed and self.armed and state.runtime != _PLAYING:
            self._halt(stamp)
        return replace(state, flags=self._flags(stamp, is_playing=state.runtime == _PLAYING))

    def _flags(self, stamp_s: float, *, is_playing: bool) -> UrFlags:
        """Return the flags of a state; an end that no state shows is reported a few periods later."""
        if self.armed:
            return UrFlags.ARMED
        if math.isnan(self._ended_s):
            if is_playing:
                is_late = (stamp_s - self._halted_s) * self.options.rate_hz > _LATEST_END
                return self.halted if is_late else UrFlags(0)
            self._ended_s = stamp_s
        return UrFlags(0) if stamp_s == self._ended_s else self.halted

    def servo(self, q_rad: list[float]) -> None:
        """Stream a joint target; has no effect unless armed."""
        if not self.armed:
            return
        self._note_kick()
        period_s, arm = 1.0 / self.options.rate_hz, self._arm
        if self._control.servoJ(q_rad, 0.5, 0.5, period_s, arm.servo_lookahead_s, arm.servo_gain):
            self._servoing = True
        else:
            self._halt(self.controller_s)

    def kick(self) -> None:
        """Kick the program's watchdog, at most every 20 ms."""
        if self.armed and self._clock.now_s() - self._kicked_s > _KICK_S:
            self._note_kick()
            self._control.kickWatchdog()

    def _note_kick(self) -> None:
        self._kicked_s = self._clock.now_s()
        if self._playing:
            self._silence.end()
            self._waited.end()

    def acknowledge(self, answers_s: float) -> None:
        """Report to a simulated world that its state was answered."""
        if self.options.lockstep and math.isfinite(answers_s):
            self._io.setInputDoubleRegister(ACKNOWLEDGE_REGISTER, answers_s)

    def execute(self, request: Request) -> bool:
        """Execute a request; return whether it continues, as a move does.

        Raises:
            RuntimeError: It failed; gives the reason.
        """
        continues = self._commands[request.command](request)
        if self.options.lockstep and self.armed:
            # the program takes the next target one step of the world after the request, and the world makes
            # that step once its state is answered: waiting for it here, the next answer finds it done
            self._control.kickWatchdog()
        return continues

    def why_move_ended(self) -> str:
        """Return why a finished move failed; empty for success."""
        if reason := self._safety_stop("the robot made a protective stop"):
            return reason
        if not self._playing:
            return "the robot's program ended"
        return "" if self.armed else "the arm was stopped"

    def _safety_stop(self, protective: str) -> str:
        """Return the reason of a safety stop, `protective` for a protective one; empty without one."""
        if self._receive.isEmergencyStopped():
            return "the robot made an emergency stop"
        return protective if self._receive.isProtectiveStopped() else ""

    def stop(self) -> None:
        """Stop and disarm the arm."""
        self.armed = False
        if not self._playing:
            return
        if self._servoing:
            self._servoing = False
            self._control.servoStop(self._arm.stop_mps2)
        else:
            self._control.stopJ(self._arm.stop_radps2, True)

    def _stop(self, _: Request) -> bool:
        self.stop()
        return False

    def _halt(self, stamp_s: float) -> None:
        """Disarm because the robot's program ended: this state shows it, or a later one will."""
        self._halted_s, self._ended_s = stamp_s, math.nan
        by_watchdog = self._silence.is_exceeded() or self._waited.is_exceeded()
        self.halted = UrFlags.HALTED | (UrFlags.WATCHDOG if by_watchdog else UrFlags(0))
        self.armed = self._servoing = False

    def _rearm(self, request: Request) -> bool:
        self.stop()
        if any(request.values) and self._receive.isProtectiveStopped():
            self._unlock(request)
        self._require_running()
        if not (self._playing and self._started):  # another client's program may still follow its targets
            self._start_program()
        self._set_tool()
        if self._arm.payload_kg > 0.0:
            self._require(self._control.setPayload(self._arm.payload_kg, []), "the payload")
        self._require(self._control.setWatchdog(self._arm.watchdog_hz), "the watchdog")
        self._silence.restart()
        self._waited.restart()
        self.armed, self.halted = True, UrFlags(0)
        return False

    def _set_tool(self) -> None:
        """Set the tool centre point, unless somebody set another one since the arm was connected."""
        tool_pose = self.options.tool_pose
        if problem := why_another_tool(tuple(self._control.getTCPOffset()), tool_pose):
            raise RuntimeError(problem)
        self._require(self._control.setTcp(list(tool_pose)), "the tool centre point")

    def _require_running(self) -> None:
        if reason := self._safety_stop(_UNLOCK_FIRST):
            raise RuntimeError(reason)
        if reason := why_no_power(self._receive.getRobotMode()):
            raise RuntimeError(reason)

    def _start_program(self) -> None:
        if self._started:
            # the last target is still in the registers: the new program would move the arm there. A kick of
            # a program that has ended clears them
            self._control.kickWatchdog()
        self._control.reuploadScript()
        deadline = self._clock.now_s() + _START_S
        while not (self._control.isProgramRunning() and self._playing):
            if self._clock.now_s() > deadline:
                raise RuntimeError("the controller did not start the program (remote control? local mode?)")
            self._clock.sleep(_POLL_S)
        self._started = True

    def _require(self, done: bool, what: str) -> None:  # noqa: FBT001 - result of the library call
        if not done:  # a safety stop since the last check is a better reason
            raise RuntimeError(self._safety_stop(_UNLOCK_FIRST) or f"the controller did not accept {what}")

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
            self._control.servoStop(self._arm.stop_mps2)
        self._require(begin(), "the move")
        return True

    def _set_speed(self, request: Request) -> bool:
        self._require(self._io.setSpeedSlider(request.values[0]), "the speed")
        return False

    def _unlock(self, _: Request) -> bool:
        dashboard = load("dashboard_client:DashboardClient")(self._arm.ip)
        dashboard.connect(_DASHBOARD_MS)
        try:
            dashboard.closeSafetyPopup()
            dashboard.unlockProtectiveStop()
        finally:
            dashboard.disconnect()
        deadline = self._clock.now_s() + _UNLOCK_S
        while self._receive.isProtectiveStopped() and self._clock.now_s() < deadline:
            self._clock.sleep(_POLL_S)
        return False
