"""Measured joints of another driver: their order, their age, and the periods in which they are answered."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from embodied_iqa.arm.robot.messages import ArmState, GripperState
from embodied_iqa.base.errors import InputError
from embodied_iqa.base.units import MILLISECOND_NS, SECOND_NS

_JITTER = 0.1
"""A state that comes this part of a period too soon belongs to the period anyway."""


class JointReader:
    """Makes measured states of joint states.

    Args:
        joints: Names of the six joints, from base to flange.
        age_s: Largest age of a joint state (s).
    """

    def __init__(self, joints: tuple[str, ...], age_s: float) -> None:
        self._joints = joints
        self._age_ns = round(age_s * SECOND_NS)
        self._stamp_ns = -1

    def take(
        self,
        names: Sequence[str],
        values: tuple[Sequence[float], Sequence[float]],
        stamp_ns: int,
        now_ns: int,
    ) -> ArmState | None:
        """Return the measured state of a joint state, None where it is not newer than the last.

        Args:
            names: Names of the joints, in any order; further ones are left out.
            values: Their positions (rad) and velocities (rad/s).
            stamp_ns: Time of measurement, ROS time.
            now_ns: Time of arrival, ROS time: the stamp of the result, by which leases end.

        Raises:
            InputError: Joints or values are missing, or the state is too old or from the future.
        """
        order = self._order(names)
        found = [np.array([row[i] for i in order if i < len(row)], dtype=np.float64) for row in values]
        for what, row in zip(("positions", "velocities"), found, strict=True):
            if row.shape != (6,) or not np.isfinite(row).all():
                raise InputError(f"bad {what} in a joint state", expected="six finite", got=row.tolist())
        age_ns = now_ns - stamp_ns
        if abs(age_ns) > self._age_ns:
            raise InputError(
                "the joint states are too old, or the clocks of the driver and of this machine differ",
                expected=f"an age of at most {self._age_ns / MILLISECOND_NS:.0f} ms",
                got=f"{age_ns / MILLISECOND_NS:.0f} ms",
            )
        if stamp_ns <= self._stamp_ns:
            return None
        self._stamp_ns = stamp_ns
        return ArmState(now_ns, found[0], found[1], GripperState(position=0.0))

    def why_silent(self, now_ns: int) -> str:
        """Return that no state has come for too long, empty where one has."""
        if self._stamp_ns < 0:
            return "no joint states yet"
        age_ns = now_ns - self._stamp_ns
        if age_ns < -self._age_ns:  # no state could be newer than the last, and none would be missed
            return f"the clock was set back by {-age_ns / MILLISECOND_NS:.0f} ms"
        return "" if age_ns <= self._age_ns else f"no joint state for {age_ns / MILLISECOND_NS:.0f} ms"

    def restart(self) -> None:
        """Forget the last state: the driver's clock may have been set back."""
        self._stamp_ns = -1

    def _order(self, names: Sequence[str]) -> list[int]:
        if any(list(names).count(joint) != 1 for joint in self._joints):
            raise InputError(
                "the joint states are not those of this arm (ros2_control.joint_prefix)",
                expected=", ".join(self._joints),
                got=", ".join(names),
            )
        return [list(names).index(joint) for joint in self._joints]


class Periods:
    """Chooses the states that are answered: each lets the controller advance by one period.

    Args:
        rate_hz: Periods per second; states that come faster are left out, which keeps the limits of speed.
    """

    def __init__(self, rate_hz: float) -> None:
        self._period_ns = round(SECOND_NS / rate_hz)
        self._due_ns: int | None = None

    def is_due(self, now_ns: int) -> bool:
        """Return whether a state at this time begins a period."""
        due_ns, period_ns = self._due_ns, self._period_ns
        if due_ns is None or now_ns < due_ns - 2 * period_ns:  # the clock was set back
            due_ns = now_ns
        if now_ns < due_ns - round(_JITTER * period_ns):
            return False
        self._due_ns = max(due_ns, now_ns) + period_ns
        return True
