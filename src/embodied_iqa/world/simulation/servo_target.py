"""Target of the joint servos between two commands."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.base.units import SECOND_NS

_LONGEST_PERIOD_NS: Final = 25_000_000
"""Commands further apart are separate targets, not samples of one motion."""


class ServoTarget:
    """A position and a velocity; without a given velocity it follows from successive commands.

    Between two commands of a stream the target continues with its velocity for at most one period. When the
    stream ends, the arm stops at the last commanded position.
    """

    def __init__(self, q_rad: NDArray[np.float64], time_ns: int) -> None:
        self.hold(q_rad, time_ns)

    def hold(self, q_rad: NDArray[np.float64], time_ns: int) -> None:
        """Stop at ``q_rad``."""
        self._q_rad = q_rad.copy()
        self._qd_radps = np.zeros_like(self._q_rad)
        self._set_ns = time_ns
        self._expires_ns = time_ns
        self._moving = False

    def set(self, q_rad: NDArray[np.float64], qd_radps: NDArray[np.float64] | None, time_ns: int) -> None:
        """Set a command at ``time_ns``."""
        since_ns = time_ns - self._set_ns
        stream = 0 < since_ns <= _LONGEST_PERIOD_NS
        if qd_radps is None and stream:
            qd_radps = (q_rad - self._q_rad) * (SECOND_NS / since_ns)
        elif qd_radps is None and since_ns == 0 and self._moving:
            qd_radps = self._qd_radps
        self._q_rad = q_rad.copy()
        self._moving = qd_radps is not None
        self._qd_radps = np.zeros_like(self._q_rad) if qd_radps is None else qd_radps.copy()
        self._expires_ns = time_ns + (since_ns if stream else _LONGEST_PERIOD_NS)
        self._set_ns = time_ns

    def at(self, time_ns: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return position (rad) and velocity (rad/s) to follow at ``time_ns``."""
        if self._moving and time_ns >= self._expires_ns:
            self.hold(self._q_rad, self._set_ns)
        if not self._moving:
            return self._q_rad, self._qd_radps
        return self._q_rad + self._qd_radps * ((time_ns - self._set_ns) / SECOND_NS), self._qd_radps
