"""The variables that clients can read, and where each comes from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.emulator.controller import Controller
from embodied_iqa.emulator.registers import REGISTERS
from embodied_iqa.emulator.rtde_types import RtdeType, Value
from embodied_iqa.kinematics import transform_to_pose

__all__ = ["OUTPUTS", "Moment", "Output"]

_STOPPED, _PLAYING = 1, 2
_JOINT_RUNNING = 253


class Moment:
    """What one tick has brought: everything that is derived from it is worked out once, when asked for.

    Args:
        controller: As it is after the tick.
    """

    def __init__(self, controller: Controller) -> None:
        self.controller = controller

    @cached_property
    def actual_q(self) -> tuple[float, ...]:
        """Measured joint angles (rad)."""
        return _numbers(self.controller.plant.q_rad)

    @cached_property
    def actual_qd(self) -> tuple[float, ...]:
        """Measured joint velocities (rad/s)."""
        return _numbers(self.controller.plant.qd_radps)

    @cached_property
    def target_q(self) -> tuple[float, ...]:
        """Joint targets (rad)."""
        return _numbers(self.controller.machine.reference.q_rad)

    @cached_property
    def target_qd(self) -> tuple[float, ...]:
        """Velocities of the joint targets (rad/s)."""
        return _numbers(self.controller.machine.reference.qd_radps)

    @cached_property
    def actual_pose(self) -> tuple[float, ...]:
        """Measured pose of the tool (m, rad)."""
        return self._pose(self.actual_q)

    @cached_property
    def target_pose(self) -> tuple[float, ...]:
        """Pose that the tool should have (m, rad)."""
        return self._pose(self.target_q)

    @cached_property
    def actual_twist(self) -> tuple[float, ...]:
        """Measured velocity of the tool (m/s, rad/s)."""
        return self._twist(self.actual_q, self.actual_qd)

    @cached_property
    def target_twist(self) -> tuple[float, ...]:
        """Velocity that the tool should have (m/s, rad/s)."""
        return self._twist(self.target_q, self.target_qd)

    def _pose(self, q: tuple[float, ...]) -> tuple[float, ...]:
        return _numbers(transform_to_pose(self.controller.machine.kinematics.forward(q)))

    def _twist(self, q: tuple[float, ...], qd: tuple[float, ...]) -> tuple[float, ...]:
        return _numbers(self.controller.machine.kinematics.jacobian(q) @ np.array(qd))


@dataclass(frozen=True, slots=True)
class Output:
    """A variable that clients can read.

    Attributes:
        kind: How it is packed.
        read: Where it comes from.
    """

    kind: RtdeType
    read: Callable[[Moment], Value]


def _numbers(values: NDArray[np.float64]) -> tuple[float, ...]:
    return tuple(values.tolist())


def _fixed(kind: RtdeType, value: Value, *names: str) -> dict[str, Output]:
    """Variables that have no counterpart in the simulation and keep a plausible value."""
    return dict.fromkeys(names, Output(kind, lambda _: value))


def _registers() -> dict[str, Output]:
    found: dict[str, Output] = {}
    for index in range(REGISTERS):
        found |= {
            f"output_int_register_{index}": Output(RtdeType.INT32, _written_integer(index)),
            f"output_double_register_{index}": Output(RtdeType.DOUBLE, _written_double(index)),
            f"input_int_register_{index}": Output(RtdeType.INT32, _input(f"input_int_register_{index}")),
            f"input_double_register_{index}": Output(
                RtdeType.DOUBLE, _input(f"input_double_register_{index}")
            ),
        }
    return found


def _written_integer(index: int) -> Callable[[Moment], Value]:
    return lambda now: now.controller.outputs.integers[index]


def _written_double(index: int) -> Callable[[Moment], Value]:
    return lambda now: now.controller.outputs.doubles[index]


def _input(name: str) -> Callable[[Moment], Value]:
    return lambda now: now.controller.inputs.get(name, 0)


def _motion() -> dict[str, Output]:
    six = RtdeType.VECTOR6D
    return {
        "actual_q": Output(six, lambda now: now.actual_q),
        "actual_qd": Output(six, lambda now: now.actual_qd),
        "target_q": Output(six, lambda now: now.target_q),
        "target_qd": Output(six, lambda now: now.target_qd),
        "actual_TCP_pose": Output(six, lambda now: now.actual_pose),
        "target_TCP_pose": Output(six, lambda now: now.target_pose),
        "actual_TCP_speed": Output(six, lambda now: now.actual_twist),
        "target_TCP_speed": Output(six, lambda now: now.target_twist),
    }


def _status() -> dict[str, Output]:
    word, double = RtdeType.UINT32, RtdeType.DOUBLE
    return {
        "timestamp": Output(double, lambda now: now.controller.time_ns / 1e9),
        "runtime_state": Output(word, lambda now: _PLAYING if now.controller.is_playing else _STOPPED),
        "robot_status_bits": Output(
            word, lambda now: (now.controller.safety.mode > 3) | now.controller.is_playing << 1
        ),
        "safety_status_bits": Output(word, lambda now: now.controller.safety.status_bits),
        "robot_mode": Output(RtdeType.INT32, lambda now: int(now.controller.safety.mode)),
        "safety_mode": Output(RtdeType.INT32, lambda now: now.controller.safety.safety_mode),
        "safety_status": Output(RtdeType.INT32, lambda now: now.controller.safety.safety_mode),
        "speed_scaling": Output(double, lambda now: float(now.controller.is_playing)),
        "target_speed_fraction": Output(double, lambda now: now.controller.machine.speed_fraction),
        "actual_digital_output_bits": Output(RtdeType.UINT64, lambda now: now.controller.digital_outputs),
        "standard_analog_output0": Output(double, lambda now: now.controller.analog_outputs[0]),
        "standard_analog_output1": Output(double, lambda now: now.controller.analog_outputs[1]),
        "payload": Output(double, lambda now: now.controller.machine.payload_kg),
        "payload_cog": Output(RtdeType.VECTOR3D, lambda now: now.controller.machine.payload_centre_m),
    }


def _not_simulated() -> dict[str, Output]:
    six, zeros = RtdeType.VECTOR6D, (0.0,) * 6
    found = _fixed(
        six, zeros, "target_qdd", "actual_qdd", "target_current", "target_moment", "actual_current",
        "actual_current_window", "actual_moment", "actual_current_as_torque", "joint_control_output",
        "actual_TCP_force", "ft_raw_wrench", "payload_inertia",
    )  # fmt: skip
    found |= _fixed(six, (48.0,) * 6, "actual_joint_voltage")
    found |= _fixed(six, (25.0,) * 6, "joint_temperatures")
    found |= _fixed(RtdeType.VECTOR6INT32, (_JOINT_RUNNING,) * 6, "joint_mode")
    found |= _fixed(
        RtdeType.VECTOR3D, (0.0,) * 3, "actual_tool_accelerometer", "elbow_position", "elbow_velocity"
    )
    found |= _fixed(
        RtdeType.DOUBLE, 0.0, "actual_momentum", "actual_execution_time", "actual_robot_current",
        "standard_analog_input0", "standard_analog_input1", "tool_force_scalar",
    )  # fmt: skip
    found |= _fixed(RtdeType.DOUBLE, 48.0, "actual_main_voltage", "actual_robot_voltage")
    found |= _fixed(RtdeType.UINT64, 0, "actual_digital_input_bits")
    return found | _fixed(RtdeType.UINT32, 0, "output_bit_registers0_to_31", "output_bit_registers32_to_63")


OUTPUTS: dict[str, Output] = _motion() | _status() | _registers() | _not_simulated()
"""What clients may read."""
