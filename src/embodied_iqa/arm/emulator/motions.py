"""Motions of the robot's program as streams of joint targets, one per control tick."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.base.kinematics import Kinematics, choose, rotation_to_rotvec, rotvec_to_rotation

Array = NDArray[np.float64]

MAX_JOINT_SPEED_RADPS = 3.2
"""A little above the UR5's 180 degrees per second, because the real limit is not sharp."""
_LEVER_M = 0.25
"""Radius that converts rotation angles to path length."""
_LARGEST_JUMP_RAD = 0.2


class MotionImpossibleError(Exception):
    """The arm cannot continue along its line: the controller makes a protective stop."""


@dataclass(frozen=True, slots=True)
class Trapezoid:
    """Trapezoidal speed profile from standstill to standstill.

    Attributes:
        distance: Total distance.
        speed: Highest speed reached.
        acceleration: Acceleration at both ends.
        duration_s: Total duration.
    """

    distance: float
    speed: float
    acceleration: float
    duration_s: float

    @classmethod
    def plan(cls, distance: float, speed: float, acceleration: float) -> Trapezoid:
        """Plan the fastest profile within the limits; a short one does not reach the speed."""
        if distance < 1e-12:
            return cls(0.0, speed, acceleration, 0.0)
        speed = min(speed, math.sqrt(distance * acceleration))
        return cls(distance, speed, acceleration, distance / speed + speed / acceleration)

    def fraction(self, time_s: float) -> float:
        """Return the fraction of the distance, 0 to 1, covered at a time."""
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
        speed: Speed of the joint that moves furthest (rad/s).
        acceleration: Acceleration of that joint (rad/s2).
        step_s: Returns the part of the motion's time that passes in the next tick.
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
        kinematics: Kinematics of the arm with its tool.
        q_from: ``(6,)`` rad.
        T_to: ``(4, 4)``, target of the tool.
        profile_of: Plans the profile for a length in m.
        step_s: Returns the part of the motion's time that passes in the next tick.

    Raises:
        MotionImpossibleError: The line leaves the workspace or crosses a singularity.
    """
    T_from, q = kinematics.forward(q_from), q_from
    travel_m = T_to[:3, 3] - T_from[:3, 3]
    turn_rad = rotation_to_rotvec(T_from[:3, :3].T @ T_to[:3, :3])
    length_m = max(float(np.linalg.norm(travel_m)), float(np.linalg.norm(turn_rad)) * _LEVER_M)
    profile = profile_of(length_m)
    T, time_s = np.eye(4), 0.0
    while time_s < profile.duration_s:
        time_s += step_s()
        done = profile.fraction(time_s)
        T[:3, 3] = T_from[:3, 3] + travel_m * done
        T[:3, :3] = T_from[:3, :3] @ rotvec_to_rotation(turn_rad * done)
        choice = choose(kinematics, T, q)
        if choice.q_rad is None or choice.distance_rad > _LARGEST_JUMP_RAD:
            raise MotionImpossibleError(choice.reason or "the line crosses a singularity")
        q = choice.q_rad
        yield q


def brake(q_rad: Array, qd_radps: Array, duration_s: float, step_s: Callable[[], float]) -> Iterator[Array]:
    """Bring the arm to rest with constant deceleration, every joint in the same time.

    Args:
        q_rad: ``(6,)``.
        qd_radps: ``(6,)``.
        duration_s: Time to standstill.
        step_s: Returns the time that passes in the next tick.
    """
    time_s = 0.0
    while time_s < duration_s and qd_radps.any():
        time_s = min(time_s + step_s(), duration_s)
        yield q_rad + qd_radps * (time_s - 0.5 * time_s * time_s / duration_s)
