"""The motions of a robot's program as streams of joint targets, one a control tick."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.kinematics import Kinematics, choose, rotation_to_rotvec, rotvec_to_rotation

__all__ = ["MAX_JOINT_SPEED_RADPS", "MotionImpossibleError", "Trapezoid", "brake", "move_joints", "move_line"]

Array = NDArray[np.float64]

MAX_JOINT_SPEED_RADPS = 3.2
"""A UR5's joints turn by at most 180 degrees a second; a little above, as the real limit is not sharp."""
_LEVER_M = 0.25
"""A turn by an angle counts as long as an arc of this radius."""
_LARGEST_JUMP_RAD = 0.2


class MotionImpossibleError(Exception):
    """The arm cannot go on along its line: the controller makes a protective stop."""


@dataclass(frozen=True, slots=True)
class Trapezoid:
    """Progress over time with limited speed and acceleration, from standstill to standstill.

    Attributes:
        distance: Of the whole way.
        speed: Highest reached.
        acceleration: At both ends.
        duration_s: Of the whole way.
    """

    distance: float
    speed: float
    acceleration: float
    duration_s: float

    @classmethod
    def plan(cls, distance: float, speed: float, acceleration: float) -> Trapezoid:
        """Plan the fastest way within the limits; where it is short, the speed is never reached."""
        if distance < 1e-12:
            return cls(0.0, speed, acceleration, 0.0)
        speed = min(speed, math.sqrt(distance * acceleration))
        return cls(distance, speed, acceleration, distance / speed + speed / acceleration)

    def fraction(self, time_s: float) -> float:
        """Return the part of the way, 0 to 1, that is done at a time."""
        if time_s >= self.duration_s:
            return 1.0
        ramp_s = self.speed / self.acceleration
        if time_s < ramp_s:
            done = 0.5 * self.acceleration * time_s * time_s
        elif time_s <= self.duration_s - ramp_s:
            done = 0.5 * self.speed * ramp_s + self.speed * (time_s - ramp_s)
        else:
            done = self.distance - 0.5 * self.acceleration * (self.duration_s - time_s) ** 2
        return done / self.distance


def move_joints(
    q_from: Array, q_to: Array, speed: float, acceleration: float, step_s: Callable[[], float]
) -> Iterator[Array]:
    """Move all joints together (URScript's movej).

    Args:
        q_from: ``(6,)`` rad.
        q_to: ``(6,)`` rad.
        speed: Of the joint that moves furthest (rad/s).
        acceleration: Of that joint (rad/s2).
        step_s: How much of the motion's time passes in the next tick.
    """
    profile = Trapezoid.plan(float(np.abs(q_to - q_from).max()), speed, acceleration)
    time_s = 0.0
    while time_s < profile.duration_s:
        time_s += step_s()
        yield q_from + (q_to - q_from) * profile.fraction(time_s)


def move_line(
    kinematics: Kinematics,
    q_from: Array,
    T_to: Array,
    profile_of: Callable[[float], Trapezoid],
    step_s: Callable[[], float],
) -> Iterator[Array]:
    """Move the tool along a line while it turns about one axis (URScript's movel).

    Args:
        kinematics: Of the arm with its tool.
        q_from: ``(6,)`` rad.
        T_to: ``(4, 4)`` where the tool goes.
        profile_of: Plans a way of so many metres.
        step_s: How much of the motion's time passes in the next tick.

    Raises:
        MotionImpossibleError: The line leaves the reach or meets a singularity.
    """
    T_from, q = kinematics.forward(q_from), q_from
    way_m = T_to[:3, 3] - T_from[:3, 3]
    turn_rad = rotation_to_rotvec(T_from[:3, :3].T @ T_to[:3, :3])
    length_m = max(float(np.linalg.norm(way_m)), float(np.linalg.norm(turn_rad)) * _LEVER_M)
    profile = profile_of(length_m)
    T, time_s = np.eye(4), 0.0
    while time_s < profile.duration_s:
        time_s += step_s()
        done = profile.fraction(time_s)
        T[:3, 3] = T_from[:3, 3] + way_m * done
        T[:3, :3] = T_from[:3, :3] @ rotvec_to_rotation(turn_rad * done)
        choice = choose(kinematics, T, q)
        if choice.q_rad is None or choice.distance_rad > _LARGEST_JUMP_RAD:
            raise MotionImpossibleError(choice.reason or "the line meets a singularity")
        q = choice.q_rad
        yield q


def brake(q_rad: Array, qd_radps: Array, duration_s: float, tick_s: float) -> Iterator[Array]:
    """Bring the arm to rest with constant deceleration, every joint in the same time.

    Args:
        q_rad: ``(6,)``.
        qd_radps: ``(6,)``.
        duration_s: Until standstill.
        tick_s: Period of the control loop.
    """
    time_s = 0.0
    while time_s < duration_s and qd_radps.any():
        time_s = min(time_s + tick_s, duration_s)
        yield q_rad + qd_radps * (time_s - 0.5 * time_s * time_s / duration_s)
