"""The emulated UR controller, advanced tick by tick, without sockets or a clock of its own."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.arm.emulator.control_commands import COMMANDS
from embodied_iqa.arm.emulator.control_script import ControlScript, ScriptError
from embodied_iqa.arm.emulator.firmware import Firmware
from embodied_iqa.arm.emulator.gripper import RobotiqModel
from embodied_iqa.arm.emulator.machine import Machine
from embodied_iqa.arm.emulator.motions import MotionImpossibleError
from embodied_iqa.arm.emulator.plant import Plant
from embodied_iqa.arm.emulator.registers import WORLD_TIME_REGISTER, OutputRegisters, RegisterView
from embodied_iqa.arm.emulator.safety import RobotMode, Safety
from embodied_iqa.arm.emulator.streaming import ServoStream
from embodied_iqa.arm.emulator.uploaded_script import CONTROL_SCRIPT, UploadedScript
from embodied_iqa.base.kinematics import UR5
from embodied_iqa.base.kinematics.geometry import UrGeometry
from embodied_iqa.base.units import SECOND_NS

_MESSAGES_KEPT = 50


class Controller:
    """State of the robot, its program and its registers.

    Args:
        firmware: Versions and rate.
        plant: The arm and gripper.
        unlock_after_s: Earliest unlocking of a protective stop.
        geometry: The arm's lengths, by which the controller computes its poses.
        watchdog_margin_s: The watchdog waits this much longer than a real robot's, for a driver on a loaded
            machine.

    Attributes:
        inputs: Last written value of each RTDE input.
        outputs: Registers that the program writes.
        digital_outputs: Bits: 8 standard, 8 configurable, 2 of the tool.
        refuse_scripts: Whether uploaded programs are refused.
        messages: The newest messages of the log.
        world_clock_ns: Returns the time of the simulated world, which is written to an output register; None
            without a world.
    """

    def __init__(
        self,
        firmware: Firmware,
        plant: Plant,
        *,
        unlock_after_s: float = 5.0,
        geometry: UrGeometry = UR5,
        watchdog_margin_s: float = 0.0,
    ) -> None:
        self.firmware = firmware
        self.plant = plant
        self.machine = Machine(plant, firmware.tick_ns / SECOND_NS, geometry)
        self.gripper = RobotiqModel(plant)
        self.safety = Safety(unlock_after_s)
        self.inputs: dict[str, int | float | tuple[float, ...]] = {}
        self.outputs = OutputRegisters()
        self.digital_outputs = 0
        self.analog_outputs = [0.0, 0.0]
        self.refuse_scripts = False
        self.messages: deque[str] = deque(maxlen=_MESSAGES_KEPT)
        self.time_ns = 0
        self.world_clock_ns: Callable[[], int] | None = None
        self._program: ControlScript | None = None
        self._kicked_ns = 0
        self._watchdog_margin_s = watchdog_margin_s
        self._is_held_up = False
        self._kick_register = ""

    @property
    def is_playing(self) -> bool:
        """Whether a program runs."""
        return self._program is not None

    @property
    def is_resting(self) -> bool:
        """Whether the arm stands still and its program moves it nowhere."""
        is_streaming = self._program is not None and self._program.is_streaming
        return self.machine.reference.is_resting and not is_streaming and not self._is_held_up

    @property
    def silence_s(self) -> float | None:
        """Time since the program's watchdog was kicked last [s]; None where it watches nothing."""
        if self._program is None or self.machine.watchdog_s is None:
            return None
        return (self.time_ns - self._kicked_ns) / SECOND_NS

    def take_servo_target(self) -> NDArray[np.float64] | None:
        """Return the joint target ``(6,)`` that a client has streamed since the last call, or None."""
        stream = None if self._program is None else self._program.stream
        if not isinstance(stream, ServoStream) or not stream.is_new:
            return None
        stream.is_new = False
        return stream.target_rad

    def step(self, *, passing: bool = True) -> None:
        """Do one tick.

        Args:
            passing: Whether time passes for the arm. Otherwise the program only handles commands, as between
                two runs of a simulated world: moves wait for the time that they take, streams end.
        """
        self.time_ns += self.firmware.tick_ns
        self.machine.is_passing = passing
        self._check_watchdog(passing=passing)
        self._run_program()
        self._is_held_up = not passing and not self.is_resting
        if passing:
            self._move()
        elif self._program is not None:
            self._program.stream = None
            self.machine.reference.restart(self.machine.reference.q_rad)
        self.gripper.tick(self.machine.tick_s)
        if self.world_clock_ns is not None:
            self.outputs.doubles[WORLD_TIME_REGISTER] = self.world_clock_ns() / SECOND_NS

    def load(self, text: str) -> None:
        """Start an uploaded program in place of the present one."""
        script = UploadedScript.parse(text)
        if script.name != CONTROL_SCRIPT:
            self.messages.append(f"program {script.name or '(without a name)'} is not emulated")
            return
        if self.refuse_scripts or not self.safety.may_move:
            self.messages.append("the program was refused")
            return
        self.stop_program("")
        self.machine.watchdog_s = None
        self._kick_register = f"input_int_register_{script.register_offset}"
        registers = RegisterView(self.inputs, self.outputs, script.register_offset)
        self._program = ControlScript(self.machine, registers, script.path, COMMANDS)

    def stop_program(self, reason: str) -> None:
        """End the program; the arm brakes."""
        if self._program is not None and reason:
            self.messages.append(reason)
        self._program = None

    def write(self, changes: dict[str, int | float | tuple[float, ...]]) -> None:
        """Write RTDE inputs."""
        self.inputs.update(changes)
        if self._kick_register in changes:
            self._kicked_ns = self.time_ns
        for name, shift in (("standard", 0), ("configurable", 8), ("tool", 16)):
            mask = changes.get(f"{name}_digital_output_mask")
            if isinstance(mask, int):
                bits = int(str(changes.get(f"{name}_digital_output", 0)))
                self.digital_outputs &= ~(mask << shift)
                self.digital_outputs |= (bits & mask) << shift
        if changes.get("speed_slider_mask"):
            self.machine.speed_fraction = min(max(float(str(changes["speed_slider_fraction"])), 0.0), 1.0)
        mask = changes.get("standard_analog_output_mask")
        for index in range(2):
            if isinstance(mask, int) and mask >> index & 1:
                self.analog_outputs[index] = float(str(changes[f"standard_analog_output_{index}"]))

    def stop_protectively(self, reason: str) -> None:
        """Make a protective stop: the program ends, the arm brakes."""
        self.safety.stop_protectively(reason, self.time_ns)
        self.stop_program(f"protective stop: {reason}")

    def press_emergency(self) -> None:
        """Press the emergency stop."""
        self.safety.press_emergency()
        self.plant.stop_gripper()
        self.stop_program("emergency stop")

    def unlock(self) -> bool:
        """Unlock a protective stop; return whether that was possible."""
        if not self.safety.unlock(self.time_ns):
            return False
        self.plant.clear_contact_violation()
        return True

    def power(self, mode: RobotMode) -> bool:
        """Change the robot's power; return whether that was possible."""
        if self.safety.emergency:
            return False
        self.safety.mode = mode
        if mode is not RobotMode.RUNNING:
            self.stop_program("the robot was switched off")
        return True

    def restart(self) -> None:
        """Restart at the plant's position: nothing moves, no stop is active, the program continues."""
        self.safety.restore()
        self.machine.reference.restart(self.plant.q_rad)
        self.gripper.restart()
        if self._program is not None:
            self._program.clear_motion()

    def _run_program(self) -> None:
        if self._program is None:
            return
        try:
            if not self._program.tick():
                self.stop_program("")
        except ScriptError as error:
            self.stop_program(str(error))
        except MotionImpossibleError as error:
            self.stop_protectively(str(error))

    def _move(self) -> None:
        reference = self.machine.reference
        qd = reference.plan_tick()
        self.plant.set_arm_target(reference.q_rad, qd)
        self.plant.advance(self.firmware.tick_ns)
        reference.end_tick()
        if self.plant.contact_violation:
            self.stop_protectively(self.plant.contact_violation)

    def _check_watchdog(self, *, passing: bool) -> None:
        watchdog_s = self.machine.watchdog_s
        if not passing or watchdog_s is None:
            self._kicked_ns = self.time_ns
            return
        limit_ns = (watchdog_s + self._watchdog_margin_s) * SECOND_NS
        if self._program is not None and self.time_ns - self._kicked_ns > limit_ns:
            self.stop_program(f"the watchdog was not kicked for {watchdog_s:g} s")
