"""RTDE output variables and their sources."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.arm.emulator.controller import Controller
from embodied_iqa.arm.emulator.registers import REGISTERS
from embodied_iqa.arm.emulator.rtde_types import RtdeType, Value
from embodied_iqa.base.kinematics import Kinematics, transform_to_pose
from embodied_iqa.base.units import SECOND_NS

Read = Callable[[Controller], Value]

_STOPPED, _PLAYING = 1, 2
_JOINT_RUNNING = 253


@dataclass(frozen=True, slots=True)
class Output:
    """A variable that clients can read.

    Attributes:
        kind: Type of the variable.
        read: Returns its value.
    """

    kind: RtdeType
    read: Read


class OutputValues:
    """Values of the variables after one tick, each computed at most once.

    Args:
        controller: The controller after the tick.
    """

    def __init__(self, controller: Controller) -> None:
        self._controller = controller
        self._values: dict[str, Value] = {}

    def __getitem__(self, name: str) -> Value:
        """Return the value of a variable."""
        if name not in self._values:
            self._values[name] = OUTPUTS[name].read(self._controller)
        return self._values[name]


def _numbers(values: NDArray[np.float64]) -> tuple[float, ...]:
    return tuple(values.tolist())


def _pose(controller: Controller, q_rad: NDArray[np.float64]) -> Value:
    return _pose_at(controller.machine.kinematics, q_rad.tobytes())


@lru_cache(maxsize=4)
def _pose_at(kinematics: Kinematics, q_rad: bytes) -> Value:
    """Return the pose of the tool: most ticks find an arm where it was, or where it should be."""
    return _pose_of(kinematics.forward(np.frombuffer(q_rad).copy()).tobytes())


@lru_cache(maxsize=4)
def _pose_of(T: bytes) -> Value:
    return _numbers(transform_to_pose(np.frombuffer(T).reshape(4, 4)))


def _twist(controller: Controller, q_rad: NDArray[np.float64], qd_radps: NDArray[np.float64]) -> Value:
    return _numbers(controller.machine.kinematics.jacobian(q_rad) @ qd_radps)


def _motion() -> dict[str, Output]:
    """Joints (rad, rad/s); pose and offset (m, rad) and velocity (m/s, rad/s) of the tool."""
    read: dict[str, Read] = {
        "actual_q": lambda now: _numbers(now.plant.q_rad),
        "actual_qd": lambda now: _numbers(now.plant.qd_radps),
        "target_q": lambda now: _numbers(now.machine.reference.q_rad),
        "target_qd": lambda now: _numbers(now.machine.reference.qd_radps),
        "actual_TCP_pose": lambda now: _pose(now, now.plant.q_rad),
        "target_TCP_pose": lambda now: _pose(now, now.machine.reference.q_rad),
        "tcp_offset": lambda now: _pose_of(now.machine.kinematics.T_flange_tool.tobytes()),
        "actual_TCP_speed": lambda now: _twist(now, now.plant.q_rad, now.plant.qd_radps),
        "target_TCP_speed": lambda now: _twist(
            now, now.machine.reference.q_rad, now.machine.reference.qd_radps
        ),
    }
    return {name: Output(RtdeType.VECTOR6D, value) for name, value in read.items()}


def _status() -> dict[str, Output]:
    word, double = RtdeType.UINT32, RtdeType.DOUBLE
    return {
        "timestamp": Output(double, lambda now: now.time_ns / SECOND_NS),
        "runtime_state": Output(word, lambda now: _PLAYING if now.is_playing else _STOPPED),
        "robot_status_bits": Output(word, lambda now: (now.safety.mode > 3) | now.is_playing << 1),
        "safety_status_bits": Output(word, lambda now: now.safety.status_bits),
        "robot_mode": Output(RtdeType.INT32, lambda now: int(now.safety.mode)),
        "safety_mode": Output(RtdeType.INT32, lambda now: now.safety.safety_mode),
        "safety_status": Output(RtdeType.INT32, lambda now: now.safety.safety_mode),
        "speed_scaling": Output(double, lambda now: float(now.is_playing)),
        "target_speed_fraction": Output(double, lambda now: now.machine.speed_fraction),
        "actual_digital_output_bits": Output(RtdeType.UINT64, lambda now: now.digital_outputs),
        "standard_analog_output0": Output(double, lambda now: now.analog_outputs[0]),
        "standard_analog_output1": Output(double, lambda now: now.analog_outputs[1]),
        "payload": Output(double, lambda now: now.machine.payload_kg),
        "payload_cog": Output(RtdeType.VECTOR3D, lambda now: now.machine.payload_centre_m),
    }


def _registers() -> dict[str, Output]:
    found: dict[str, Output] = {}
    for index in range(REGISTERS):
        found |= {
            f"output_int_register_{index}": Output(RtdeType.INT32, _written_integer(index)),
            f"output_double_register_{index}": Output(RtdeType.DOUBLE, _written_double(index)),
        }
        for kind, name in ((RtdeType.INT32, "int"), (RtdeType.DOUBLE, "double")):
            register = f"input_{name}_register_{index}"
            found[register] = Output(kind, _input(register))
    return found


def _written_integer(index: int) -> Read:
    return lambda now: now.outputs.integers[index]


def _written_double(index: int) -> Read:
    return lambda now: now.outputs.doubles[index]


def _input(name: str) -> Read:
    return lambda now: now.inputs.get(name, 0)


def _constant(kind: RtdeType, value: Value, *names: str) -> dict[str, Output]:
    return dict.fromkeys(names, Output(kind, lambda _: value))


def _not_simulated() -> dict[str, Output]:
    """Variables without a counterpart in the simulation keep a plausible value."""
    six, zeros = RtdeType.VECTOR6D, (0.0,) * 6
    found = _constant(
        six, zeros, "target_qdd", "actual_qdd", "target_current", "target_moment", "actual_current",
        "actual_current_window", "actual_moment", "actual_current_as_torque", "joint_control_output",
        "actual_TCP_force", "ft_raw_wrench", "payload_inertia",
    )  # fmt: skip
    found |= _constant(six, (48.0,) * 6, "actual_joint_voltage")
    found |= _constant(six, (25.0,) * 6, "joint_temperatures")
    found |= _constant(RtdeType.VECTOR6INT32, (_JOINT_RUNNING,) * 6, "joint_mode")
    found |= _constant(
        RtdeType.VECTOR3D, (0.0,) * 3, "actual_tool_accelerometer", "elbow_position", "elbow_velocity"
    )
    found |= _constant(
        RtdeType.DOUBLE, 0.0, "actual_momentum", "actual_execution_time", "actual_robot_current",
        "standard_analog_input0", "standard_analog_input1", "tool_force_scalar",
    )  # fmt: skip
    found |= _constant(RtdeType.DOUBLE, 48.0, "actual_main_voltage", "actual_robot_voltage")
    found |= _constant(RtdeType.UINT64, 0, "actual_digital_input_bits")
    return found | _constant(
        RtdeType.UINT32, 0, "output_bit_registers0_to_31", "output_bit_registers32_to_63"
    )


OUTPUTS: dict[str, Output] = _motion() | _status() | _registers() | _not_simulated()
"""The variables that clients can read."""
