"""The driver of a UR arm in the time of the emulated controller, which the test holds and steps.

Driver, worker, client library and emulator are the real ones, in processes of their own. A tick passes when
the driver has answered the state before it, and the driver's clock follows the controller's: a busy machine
makes a test take longer and decides nothing.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace

from embodied_iqa.arm.robot.ur.arm import UrArm
from embodied_iqa.arm.robot.ur.link import UrLink
from embodied_iqa.arm.robot.ur.messages import STATE, Answer, UrFlags, UrState
from embodied_iqa.arm.robot.ur.options import SessionOptions, UrOptions
from embodied_iqa.arm.robot.ur.process import UrProcess
from embodied_iqa.base.clock import Clock
from embodied_iqa.base.errors import InputError
from embodied_iqa.base.kinematics import tool_along_z
from manual_clock import ManualClock
from ur_emulator import EmulatorProcess

_LOOKS_A_KICK = 50
_LONGEST_SILENCE_S = 0.1
"""No tick passes for an armed arm while a sign of life of the driver is on its way for longer."""
_ATTEMPTS = 20
_LATE = re.compile("did not finish 'rearm' within|did not start the program|no state confirms it")


def rearm(arm: UrArm, reason: str = "test") -> None:
    """Arm an arm, again where a busy machine has missed a deadline: the worker's is 1.3 s of real time."""
    for attempts_left in range(_ATTEMPTS - 1, -1, -1):
        try:
            arm.rearm(reason)
        except InputError as error:
            if not (attempts_left and _LATE.search(str(error))):
                raise
        else:
            return


class SteppedTime:
    """The time of one emulated controller and of the drivers on it.

    Args:
        robot: The emulator.

    Attributes:
        clock: The drivers' clock: it follows the controller's while the arm is armed, and for the state after
            that, which may be the one that says why it is not. Otherwise it stands still.
        passes: Whether a tick passes whenever a driver waits and has answered the newest state.
    """

    def __init__(self, robot: EmulatorProcess) -> None:
        self.robot, self.clock = robot, ManualClock()
        self.passes = False

    def arm(self, **options: object) -> UrArm:
        """Return a driver that is connected, and hold the time."""
        made = self.driver(**options)
        made.connect()
        self.hold()
        return made

    def driver(self, **options: object) -> UrArm:
        return UrArm(UrOptions(ip=self.robot.host, **options), tool_along_z(0.2), link=self._link)

    def hold(self) -> None:
        """Hold the controller's time; a first tick brings the next state."""
        self.robot.throw("hold")
        self.passes = True
        self.robot.step()

    @contextmanager
    def standing(self) -> Iterator[None]:
        """No tick passes in the block, however long the driver waits."""
        self.passes = False
        yield
        self.passes = True
        self.robot.step()

    def close(self, arm: UrArm) -> None:
        with self.clock.passing():
            arm.close()

    def tick(self, kick: Callable[[], None] | None) -> None:
        """Let a tick pass, once the robot has heard of an armed driver, which repeats its sign of life."""
        if not self.passes:
            return
        with suppress(OSError):  # the emulator was killed
            looks = 0
            while kick is not None and (self.robot.state()["silence_s"] or 0.0) > _LONGEST_SILENCE_S:
                if looks % _LOOKS_A_KICK == 0:  # the worker sends no more than one in 20 ms on
                    kick()
                looks += 1
            self.robot.step()

    def _link(self, session: SessionOptions, log: Callable[[str], object]) -> UrLink:
        return UrLink(session, log, self.clock, lambda options, clock: _Process(options, clock, self))


class _Process(UrProcess):
    """A worker whose states are stamped with the test's time; waiting for the next one lets a tick pass."""

    def __init__(self, options: SessionOptions, clock: Clock, owner: SteppedTime) -> None:
        super().__init__(options, clock)
        self._owner = owner
        self._seen_s: float | None = None
        self._owes_tick = self._is_armed = self._was_armed = False

    def receive(self) -> list[bytes]:
        return [self._restamped(message) for message in super().receive()]

    def wait(self, seconds: float) -> None:
        if self._owes_tick:
            self._owes_tick = False
            self._owner.tick(self._kick if self._is_armed else None)
        super().wait(seconds)

    def _kick(self) -> None:
        self.send(Answer(math.nan).pack())

    def _restamped(self, message: bytes) -> bytes:
        if message[:1] != STATE:
            return message
        state, clock = UrState.unpack(message), self._owner.clock
        passed_s = 0.0 if self._seen_s is None else state.controller_s - self._seen_s
        self._was_armed, self._is_armed = self._is_armed, UrFlags.ARMED in state.flags
        if self._is_armed or self._was_armed:
            clock.advance(passed_s)
        self._owes_tick |= passed_s > 0.0 or self._seen_s is None
        self._seen_s = state.controller_s
        return replace(state, arrived_ns=clock.now_ns()).pack()
