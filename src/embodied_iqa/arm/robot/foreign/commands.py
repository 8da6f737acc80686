"""Joint targets for a trajectory controller: each trajectory brakes to rest unless another replaces it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.base.units import SECOND_NS

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class TrajectoryPoint:
    """A point of a trajectory.

    Attributes:
        q_rad: ``(6,)``, joint angles.
        qd_radps: ``(6,)``, joint velocities.
        after_s: From the start of the trajectory.
    """

    q_rad: Array
    qd_radps: Array
    after_s: float


class BrakingStream:
    """Turns joint targets, one each period, into trajectories that brake unless they are replaced.

    A trajectory goes to the target within the lead and on to rest, with the same constant deceleration of the
    joint that moves fastest: its braking part is a parabola, which a cubic spline between its ends is too.

    Args:
        period_s: Between two targets (s); where they come later, the arm is slower.
        lead_s: From the start of a trajectory to its target (s).
        braking_radps2: Deceleration of the fastest joint.
    """

    def __init__(self, period_s: float, lead_s: float, braking_radps2: float) -> None:
        self._period_ns = round(period_s * SECOND_NS)
        self._lead_s = lead_s
        self._braking_radps2 = braking_radps2
        self._last: tuple[Array, Array, int] | None = None

    def restart(self) -> None:
        """Begin at a newly armed arm, which is at rest."""
        self._last = None

    def to(self, q_rad: Array, now_ns: int) -> tuple[TrajectoryPoint, ...]:
        """Return the trajectory to a target ``(6,)`` (rad), sent at ``now_ns``."""
        qd = np.zeros(6)
        if self._last is not None:
            elapsed_ns = max(now_ns - self._last[2], self._period_ns)
            qd = (q_rad - self._last[0]) / (elapsed_ns / SECOND_NS)
        self._last = (np.array(q_rad), qd, now_ns)
        return self._points(q_rad, qd, 0.0)

    def brake(self, now_ns: int) -> tuple[TrajectoryPoint, ...]:
        """Return what is left of the last trajectory, which brakes; empty where none was sent."""
        if self._last is None:
            return ()
        q, qd, sent_ns = self._last
        self._last = None
        return self._points(q, qd, max(now_ns - sent_ns, 0) / SECOND_NS)

    def _points(self, q: Array, qd: Array, elapsed_s: float) -> tuple[TrajectoryPoint, ...]:
        braking_s = float(np.abs(qd).max()) / self._braking_radps2
        left_s = self._lead_s - elapsed_s
        end = TrajectoryPoint(q + 0.5 * braking_s * qd, np.zeros(6), max(left_s + braking_s, self._lead_s))
        if braking_s == 0.0 or left_s <= 0.0:
            return (end,)
        return (TrajectoryPoint(q, qd, left_s), TrajectoryPoint(end.q_rad, end.qd_radps, left_s + braking_s))
