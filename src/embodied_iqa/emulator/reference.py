"""The joint target that the emulated controller tracks from tick to tick."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["Reference"]

_BRAKE_RADPS2 = 20.0
"""Deceleration of joints that nobody moves any longer: a program that died, a safety stop."""


class Reference:
    """Where the joints should be; what nobody moves comes to rest.

    Args:
        q_rad: ``(6,)``, the joint angles at the start.
        tick_s: Period of the control loop.
    """

    def __init__(self, q_rad: ArrayLike, tick_s: float) -> None:
        self._tick_s = tick_s
        self.restart(q_rad)

    def restart(self, q_rad: ArrayLike) -> None:
        """Stand still at ``q_rad``."""
        self.q_rad = np.array(q_rad, dtype=np.float64)
        self.qd_radps = np.zeros(6)
        self._next: NDArray[np.float64] | None = None

    def follow(self, q_rad: NDArray[np.float64]) -> None:
        """Be at ``q_rad`` at the end of this tick."""
        self._next = q_rad

    def plan_tick(self) -> NDArray[np.float64]:
        """Return the velocity ``(6,)`` (rad/s) of this tick."""
        if self._next is not None:
            self.qd_radps = (self._next - self.q_rad) / self._tick_s
        else:
            fastest = float(np.abs(self.qd_radps).max())
            slower = max(fastest - _BRAKE_RADPS2 * self._tick_s, 0.0)
            self.qd_radps = self.qd_radps * (slower / fastest) if fastest > 0.0 else np.zeros(6)
        return self.qd_radps

    def end_tick(self) -> None:
        """Take over where the tick has led to."""
        self.q_rad = self.q_rad + self.qd_radps * self._tick_s if self._next is None else self._next
        self._next = None
