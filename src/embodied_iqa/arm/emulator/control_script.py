"""The program that `ur_rtde` uploads, as a state machine with one pass per tick.

It follows ``rtde_control.script`` of ur_rtde 1.6.5: command id in integer input 0, arguments in the other
inputs, 1 (ready) or 2 (done) in integer output 0, results in the other outputs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.arm.emulator.machine import Machine
from embodied_iqa.arm.emulator.registers import RegisterView
from embodied_iqa.arm.emulator.streaming import ServoStream, SpeedStream
from embodied_iqa.arm.emulator.uploaded_script import Waypoint

_READY, _DONE = 1, 2
_STOP_SCRIPT = 255
_SETTLE_S = 0.3
_AT_ONCE = frozenset({6, 9, 10, 11, 24, 25, 26, 27, 38, 58, 66, 67, 68, 69, 70, 71})
"""Commands executed every tick, without waiting for the register to be cleared in between."""

Ticks = Iterator[None]
CommandTable: TypeAlias = "Mapping[int, Callable[[ControlScript], Ticks | None]]"
"""Handlers by command number; a handler that moves the arm within the program returns its ticks."""


class ScriptError(Exception):
    """A runtime error in the program: it stops."""


class ControlScript:
    """One run of the program.

    Args:
        machine: The arm.
        registers: Registers for commands and results.
        path: Moves inserted into the script.
        commands: Handlers of the commands.
    """

    def __init__(
        self, machine: Machine, registers: RegisterView, path: tuple[Waypoint, ...], commands: CommandTable
    ) -> None:
        self._commands = commands
        self.machine = machine
        self.registers = registers
        self.path = path
        self.stream: ServoStream | SpeedStream | None = None
        self._foreground: Ticks | None = None
        self._background: Ticks | None = None
        self._writes = self._operations = 0
        self._main = self._run()

    def tick(self) -> bool:
        """Do one pass of the program and its threads; return whether it continues."""
        if next(self._main, _STOP_SCRIPT) == _STOP_SCRIPT:
            return False
        if self.stream is not None:
            self.machine.reference.follow(self.stream.tick(self.machine))
        if self._background is not None and next(self._background, self) is self:
            self._background = None
        return True

    @property
    def is_streaming(self) -> bool:
        """Whether a motion goes on that no command has to be answered for."""
        return self.stream is not None or self._background is not None

    def clear_motion(self) -> None:
        """Drop all motions; the program continues, and its client learns that they are over."""
        self.stream = self._foreground = None
        self.stop_background()

    def follow(self, targets: Iterator[NDArray[np.float64]]) -> Ticks:
        """Let the arm follow targets, one per tick."""
        for q_rad in targets:
            self.machine.reference.follow(q_rad)
            yield

    def move(self, targets: Iterator[NDArray[np.float64]]) -> Ticks:
        """Let the arm follow targets and wait until it rests at the last one."""
        yield from self.follow(targets)
        for _ in range(round(_SETTLE_S / self.machine.tick_s)):
            if self.machine.has_arrived:
                break
            yield

    def in_background(self, motion: Ticks) -> None:
        """Start a motion in the background."""
        self.report_progress(0)
        self._background = self._with_final_report(motion)

    def stop_background(self) -> None:
        """Drop the background motion."""
        if self._background is not None:
            self._background = None
            self.report_progress(-1)

    def report_progress(self, value: int) -> None:
        """Write the progress register: counters, a running bit, and the progress (below 0: finished)."""
        self._writes = (self._writes + 1) % 128
        if value == 0:
            self._operations = (self._operations + 1) % 128
        running = min(value, 32767) + 32768 if value >= 0 else 0
        self.registers.write_integer(2, self._writes * 65536 + self._operations * 16777216 + running)

    def _with_final_report(self, motion: Ticks) -> Ticks:
        yield from motion
        self.report_progress(-1)

    def _run(self) -> Iterator[int | None]:
        executing = False
        self.report_progress(-1)
        self.registers.write_integer(0, _READY)
        while (command := self.registers.integer(0)) != _STOP_SCRIPT:
            if command in _AT_ONCE:
                yield from self._execute(command)
                self.registers.write_integer(0, _READY)
            elif command == 0:
                executing = False
                self.registers.write_integer(0, _READY)
            elif not executing:
                yield from self._execute(command)
                executing = True
            yield None
        yield _STOP_SCRIPT

    def _execute(self, command: int) -> Ticks:
        handler = self._commands.get(command)
        if handler is None:
            raise ScriptError(f"command {command} of the control script is not emulated")
        self._foreground = handler(self)
        while self._foreground is not None and next(self._foreground, self) is not self:
            yield
        self._foreground = None
        self.registers.write_integer(0, _DONE)
