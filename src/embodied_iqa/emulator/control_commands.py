"""What each command of the control script does; the numbers are those of ur_rtde's script."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.emulator.control_script import CommandTable, ControlScript, ScriptError
from embodied_iqa.emulator.motions import MotionImpossibleError
from embodied_iqa.emulator.streaming import ServoStream, SpeedStream
from embodied_iqa.emulator.uploaded import Waypoint
from embodied_iqa.kinematics import Kinematics, pose_to_transform, transform_to_pose

__all__ = ["COMMANDS"]

Array = NDArray[np.float64]
Ticks = Iterator[None]

_JOINT_LIMIT_RAD = 2.0 * np.pi


def _inverse(script: ControlScript, pose: Array, near: Array | None = None) -> Array:
    q_rad = script.machine.inverse(pose_to_transform(pose), near)
    if q_rad is None:
        raise ScriptError("get_inverse_kin: no solution")
    return q_rad


def _refuse_beside_stream(script: ControlScript) -> None:
    if script.stream is not None:
        raise ScriptError("another thread is already controlling the robot")


def _move(script: ControlScript, motion: Iterator[Array]) -> Ticks | None:
    """Run a move beside the program where the client asks for it, else within it."""
    _refuse_beside_stream(script)
    script.stop_background()
    ticks = script.move(motion)
    if script.registers.integer(1) != 1:
        return ticks
    script.in_background(ticks)
    return None


def _move_joints(script: ControlScript) -> Ticks | None:
    read = script.registers
    return _move(script, script.machine.move_joints(read.six(0), read.double(6), read.double(7)))


def _move_joints_to_pose(script: ControlScript) -> Ticks | None:
    read = script.registers
    q_rad = _inverse(script, read.six(0))
    return _move(script, script.machine.move_joints(q_rad, read.double(6), read.double(7)))


def _move_line(script: ControlScript) -> Ticks | None:
    read = script.registers
    T = pose_to_transform(read.six(0))
    return _move(script, script.machine.move_line(T, read.double(6), read.double(7)))


def _move_line_to_joints(script: ControlScript) -> Ticks | None:
    read = script.registers
    T = script.machine.kinematics.forward(read.six(0))
    return _move(script, script.machine.move_line(T, read.double(6), read.double(7)))


def _move_path(script: ControlScript) -> Ticks | None:
    _refuse_beside_stream(script)
    script.stop_background()
    if script.registers.integer(1) != 1:
        return _path(script)
    script.in_background(_path(script))
    return None


def _path(script: ControlScript) -> Ticks:
    for number, point in enumerate(script.path):
        script.tell_progress(number)
        yield from script.move(_waypoint_motion(script, point))


def _waypoint_motion(script: ControlScript, point: Waypoint) -> Iterator[Array]:
    machine = script.machine
    if point.kind == "movej":
        q_rad = _inverse(script, point.target) if point.is_pose else point.target
        return machine.move_joints(q_rad, point.speed, point.acceleration)
    T = pose_to_transform(point.target) if point.is_pose else machine.kinematics.forward(point.target)
    return machine.move_line(T, point.speed, point.acceleration)


def _servo_to(script: ControlScript, q_rad: Array) -> None:
    if isinstance(script.stream, ServoStream):
        script.stream.set_target(q_rad)
    elif script.stream is None:
        script.stream = ServoStream(q_rad)


def _servo_joints(script: ControlScript) -> None:
    _servo_to(script, script.registers.six(0))


def _servo_pose(script: ControlScript) -> None:
    _servo_to(script, _inverse(script, script.registers.six(0)))


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
    return _move(script, motion(script.registers.double(0)))


def _answer(script: ControlScript, yes: object) -> None:
    script.registers.write_integer(1, 1 if yes else 0)


def _set_payload(script: ControlScript) -> None:
    read, machine = script.registers, script.machine
    machine.payload_kg = read.double(0)
    machine.payload_centre_m = (read.double(1), read.double(2), read.double(3))


def _set_watchdog(script: ControlScript) -> None:
    frequency_hz = script.registers.double(0)
    script.machine.watchdog_s = 1.0 / frequency_hz if frequency_hz > 0.0 else None


def _inverse_near(script: ControlScript) -> None:
    script.registers.write_doubles(_inverse(script, script.registers.six(0), script.registers.six(6)))


def _inverse_here(script: ControlScript) -> None:
    script.registers.write_doubles(_inverse(script, script.registers.six(0)))


def _has_inverse(script: ControlScript) -> None:
    _answer(script, script.machine.inverse(pose_to_transform(script.registers.six(0))) is not None)


def _pose_is_safe(script: ControlScript) -> None:
    q_rad = script.machine.inverse(pose_to_transform(script.registers.six(0)))
    _answer(script, q_rad is not None and np.abs(q_rad).max() <= _JOINT_LIMIT_RAD)


def _forward(script: ControlScript) -> None:
    read = script.registers
    arm = Kinematics(pose_to_transform(read.six(6)))
    script.registers.write_doubles(transform_to_pose(arm.forward(read.six(0))))


def _forward_here(script: ControlScript) -> None:
    T = script.machine.kinematics.forward(script.machine.reference.q_rad)
    script.registers.write_doubles(transform_to_pose(T))


def _chain(script: ControlScript) -> None:
    read = script.registers
    T = pose_to_transform(read.six(0)) @ pose_to_transform(read.six(6))
    script.registers.write_doubles(transform_to_pose(T))


def _flange_pose(script: ControlScript) -> None:
    T = script.machine.flange.forward(script.machine.plant.q_rad)
    script.registers.write_doubles(transform_to_pose(T))


def _tool_offset(script: ControlScript) -> None:
    script.registers.write_doubles(transform_to_pose(script.machine.kinematics.T_flange_tool))


def _protective_stop(script: ControlScript) -> None:
    script.clear_motion()
    raise MotionImpossibleError("the program asked for a protective stop")


def _nothing(script: ControlScript) -> None:
    """There is no force sensor: zeroing it changes nothing."""


COMMANDS: CommandTable = {
    1: _move_joints,
    2: _move_joints_to_pose,
    3: _move_line,
    4: _move_line_to_joints,
    8: _nothing,
    9: lambda script: _speed(script, of_tool=False),
    10: lambda script: _speed(script, of_tool=True),
    11: _servo_joints,
    15: _speed_stop,
    16: _servo_stop,
    17: _set_payload,
    24: _servo_pose,
    26: lambda script: script.registers.write_doubles([script.machine.tick_s]),
    28: _forward_here,
    29: lambda script: script.machine.set_tool(pose_to_transform(script.registers.six(0))),
    30: _inverse_near,
    31: _protective_stop,
    33: lambda script: _stop(script, script.machine.stop_line),
    34: lambda script: _stop(script, script.machine.stop_joints),
    35: _set_watchdog,
    36: _pose_is_safe,
    37: lambda script: _answer(script, np.abs(script.registers.six(0)).max() <= _JOINT_LIMIT_RAD),
    39: _chain,
    40: _tool_offset,
    43: _forward_here,
    44: _forward,
    45: _move_path,
    46: _inverse_here,
    47: lambda script: _answer(script, script.machine.is_steady),
    58: _flange_pose,
    60: _has_inverse,
    61: _has_inverse,
}
"""The commands of ur_rtde 1.6.5 that are emulated; any other stops the program with a message."""
