"""The simulated world's arm behind the real robot's protocols, in the thread of the world's loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.arm.emulator.controller import Controller
from embodied_iqa.arm.emulator.emulator import Emulator
from embodied_iqa.arm.emulator.firmware import FIRMWARE, Series
from embodied_iqa.arm.robot.ur.options import CB3_RATE_HZ
from embodied_iqa.base.clock import MONOTONIC, Clock
from embodied_iqa.base.errors import UsageError
from embodied_iqa.base.units import SECOND_NS
from embodied_iqa.world.simulation.world import World

_IDLE_S: Final = 0.05
"""Between two steps while the world waits for others: each wakes the driver, and they need the processor."""
_TICK_NS: Final = round(SECOND_NS / CB3_RATE_HZ)


class EmulatedRobot:
    """Emulator of a UR controller that drives the world's arm and ticks with the world.

    The controller is that of the arm in the world's scene. One of an e-Series ticks four times in a step.

    Args:
        world: The world.
        ip: Loopback address.
        tick_ns: Period of the world's steps: 8 ms, that of a CB3.
        clock_ns: Returns the simulated time, which drivers read in a register.
        clock: Of the pauses between steps while the world waits.

    Raises:
        UsageError: Another period.
        InputError: The address is in use.
    """

    def __init__(
        self,
        world: World,
        ip: str,
        tick_ns: int,
        clock_ns: Callable[[], int],
        clock: Clock = MONOTONIC,
    ) -> None:
        if tick_ns != _TICK_NS:
            raise UsageError(
                "the simulated cell has another sim_node.state_rate_hz",
                expected=f"{CB3_RATE_HZ:g}",
                got=SECOND_NS / tick_ns,
            )
        model = world.scene.arm
        firmware = FIRMWARE[Series.E if model.is_e_series else Series.CB3]
        self._ticks = tick_ns // firmware.tick_ns
        self._controller = Controller(firmware, world, unlock_after_s=0.0, geometry=model.geometry)
        self._controller.world_clock_ns = clock_ns
        self._emulator = Emulator(self._controller, ip)
        self._clock, self._idle_at_s = clock, 0.0
        self._loop = asyncio.new_event_loop()
        self._loop.run_until_complete(self._emulator.start())

    @property
    def answered_s(self) -> float:
        """Controller time of the newest state that a driver has answered; -1 for none."""
        return self._emulator.acknowledged_s

    @property
    def is_answered(self) -> bool:
        """Whether a driver has answered the newest state."""
        return self._emulator.is_acknowledged

    def take_servo_target(self) -> NDArray[np.float64] | None:
        """Return the joint target ``(6,)`` that a driver has streamed since the last call, or None."""
        return self._controller.take_servo_target()

    def listen(self, seconds: float) -> None:
        """Serve clients until the newest state is answered, at most so long."""
        self._loop.run_until_complete(self._emulator.listen(seconds))

    def wait(self) -> None:
        """Serve clients while the world waits for others than the driver, and time stands still.

        A program that moves nothing handles commands nevertheless: an arm that has stopped can be armed
        again, however long the world waits.
        """
        if self._clock.now_s() >= self._idle_at_s and self._controller.is_resting:
            self._idle_at_s = self._clock.now_s() + _IDLE_S
            self.step(passing=False)
        self.listen(0.0)

    def step(self, *, passing: bool) -> None:
        """Do one step; if time is ``passing``, the world advances by it."""
        self._loop.run_until_complete(self._step(passing=passing))

    def restart(self) -> None:
        """Restart after a reset of the world: no stop is active and nothing moves."""
        self._controller.restart()

    def close(self) -> None:
        """Close every port."""
        self._loop.run_until_complete(self._emulator.stop())
        self._loop.close()

    async def _step(self, *, passing: bool) -> None:
        for _ in range(self._ticks):
            self._emulator.step(passing=passing)
