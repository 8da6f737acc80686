"""Handlers of the control script's commands, with the numbers of ur_rtde's script."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.arm.emulator.control_script import CommandTable, ControlScript, ScriptError
from embodied_iqa.arm.emulator.motions import MotionImpossibleError
from embodied_iqa.arm.emulator.streaming import ServoStream, SpeedStream
from embodied_iqa.arm.emulator.uploaded_script import Waypoint
from embodied_iqa.base.kinematics import Kinematics, pose_to_transform, transform_to_pose
from embodied_iqa.base.kinematics.choice import TWO_PI

Array = NDArray[np.float64]
Ticks = Iterator[None]


def _pose(script: ControlScript) -> Array:
    """Return the transform of the pose in the first six registers."""
    return pose_to_transform(script.registers.six(0))


def _inverse(script: ControlScript, T_base_tool: Array, near_rad: Array | None = None) -> Array:
    q_rad = script.machine.inverse(T_base_tool, near_rad)
    if q_rad is None:
        raise ScriptError("get_inverse_kin: no solution")
    return q_rad


def _move(script: ControlScript, ticks: Ticks) -> Ticks | None:
    """Run a move in the background if the client requests it, else within the program."""
    if script.stream is not None:
        raise ScriptError("another thread is already controlling the robot")
    script.stop_background()
    if script.registers.integer(1) != 1:
        return ticks
    script.in_background(ticks)
    return None


def _move_joints(script: ControlScript, q_rad: Array) -> Ticks | None:
    read = script.registers
    return _move(script, script.move(script.machine.move_joints(q_rad, read.double(6), read.double(7))))


def _move_line(script: ControlScript, T_base_tool: Array) -> Ticks | None:
    read = script.registers
    return _move(script, script.move(script.machine.move_line(T_base_tool, read.double(6), read.double(7))))


def _path(script: ControlScript) -> Ticks:
    for number, point in enumerate(script.path):
        script.report_progress(number)
        yield from script.move(_waypoint_motion(script, point))


def _waypoint_motion(script: ControlScript, point: Waypoint) -> Iterator[Array]:
    machine = script.machine
    T = pose_to_transform(point.target) if point.is_pose else machine.kinematics.forward(point.target)
    if point.kind == "movel":
        return machine.move_line(T, point.speed, point.acceleration)
    q_rad = _inverse(script, T) if point.is_pose else point.target
    return machine.move_joints(q_rad, point.speed, point.acceleration)


def _servo_to(script: ControlScript, q_rad: Array) -> None:
    time_s = script.registers.double(8)
    if isinstance(script.stream, ServoStream):
        script.stream.set_target(q_rad, time_s)
    elif script.stream is None:
        script.stream = ServoStream(q_rad, time_s)


def _speed(script: ControlScript, *, of_tool: bool) -> None:
    velocity, acceleration = script.registers.six(0), script.registers.double(6)
    stream = script.stream
    if isinstance(stream, SpeedStream) and stream.of_tool == of_tool:
        stream.change(velocity, acceleration)
    else:
        script.stream = SpeedStream(velocity, acceleration, of_tool=of_tool)


def _speed_stop(script: ControlScript) -> Ticks:
    stream, script.stream = script.stream, None
    deceleration = script.registers.double(0)
    of_tool = isinstance(stream, SpeedStream) and stream.of_tool
    machine = script.machine
    return script.follow(machine.stop_line(deceleration) if of_tool else machine.stop_joints(deceleration))


def _servo_stop(script: ControlScript) -> Ticks:
    script.stream = None
    return script.follow(script.machine.stop_line(script.registers.double(0)))


def _stop(script: ControlScript, motion: Callable[[float], Iterator[Array]]) -> Ticks | None:
    return _move(script, script.move(motion(script.registers.double(0))))


def _write_answer(script: ControlScript, answer: object) -> None:
    script.registers.write_integer(1, 1 if answer else 0)


def _write_pose(script: ControlScript, T: Array) -> None:
    script.registers.write_doubles(transform_to_pose(T))


def _set_payload(script: ControlScript) -> None:
    read, machine = script.registers, script.machine
    machine.payload_kg = read.double(0)
    machine.payload_centre_m = (read.double(1), read.double(2), read.double(3))


def _set_watchdog(script: ControlScript) -> None:
    frequency_hz = script.registers.double(0)
    script.machine.watchdog_s = 1.0 / frequency_hz if frequency_hz > 0.0 else None


def _has_inverse(script: ControlScript) -> bool:
    return script.machine.inverse(_pose(script)) is not None


def _pose_is_safe(script: ControlScript) -> bool:
    q_rad = script.machine.inverse(_pose(script))
    return q_rad is not None and _within_limits(q_rad)


def _within_limits(q_rad: Array) -> bool:
    return bool(np.abs(q_rad).max() <= TWO_PI)


def _forward(script: ControlScript) -> None:
    read = script.registers
    arm = Kinematics(pose_to_transform(read.six(6)), script.machine.flange.geometry)
    _write_pose(script, arm.forward(read.six(0)))


def _forward_here(script: ControlScript) -> None:
    _write_pose(script, script.machine.kinematics.forward(script.machine.reference.q_rad))


def _protective_stop(script: ControlScript) -> None:
    script.clear_motion()
    raise MotionImpossibleError("the program asked for a protective stop")


COMMANDS: CommandTable = {
    1: lambda script: _move_joints(script, script.registers.six(0)),
    2: lambda script: _move_joints(script, _inverse(script, _pose(script))),
    3: lambda script: _move_line(script, _pose(script)),
    4: lambda script: _move_line(script, script.machine.kinematics.forward(script.registers.six(0))),
    8: lambda _: None,  # zeroing the force sensor, which is not emulated
    9: lambda script: _speed(script, of_tool=False),
    10: lambda script: _speed(script, of_tool=True),
    11: lambda script: _servo_to(script, script.registers.six(0)),
    15: _speed_stop,
    16: _servo_stop,
    17: _set_payload,
    24: lambda script: _servo_to(script, _inverse(script, _pose(script))),
    26: lambda script: script.registers.write_doubles([script.machine.tick_s]),
    28: _forward_here,
    29: lambda script: script.machine.set_tool(_pose(script)),
    30: lambda script: script.registers.write_doubles(
        _inverse(script, _pose(script), script.registers.six(6))
    ),
    31: _protective_stop,
    33: lambda script: _stop(script, script.machine.stop_line),
    34: lambda script: _stop(script, script.machine.stop_joints),
    35: _set_watchdog,
    36: lambda script: _write_answer(script, _pose_is_safe(script)),
    37: lambda script: _write_answer(script, _within_limits(script.registers.six(0))),
    39: lambda script: _write_pose(script, _pose(script) @ pose_to_transform(script.registers.six(6))),
    40: lambda script: _write_pose(script, script.machine.kinematics.T_flange_tool),
    43: _forward_here,
    44: _forward,
    45: lambda script: _move(script, _path(script)),
    46: lambda script: script.registers.write_doubles(_inverse(script, _pose(script))),
    47: lambda script: _write_answer(script, script.machine.is_steady),
    58: lambda script: _write_pose(script, script.machine.flange.forward(script.machine.plant.q_rad)),
    60: lambda script: _write_answer(script, _has_inverse(script)),
    61: lambda script: _write_answer(script, _has_inverse(script)),
}
"""The emulated commands of ur_rtde 1.6.5; any other stops the program with a message."""
