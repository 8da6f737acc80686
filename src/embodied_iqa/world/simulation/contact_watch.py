"""Detection of forbidden contacts: the robot presses against table, wall or floor."""

from __future__ import annotations

from math import sqrt
from typing import Final

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.base.errors import UsageError
from embodied_iqa.base.units import SECOND_NS

_TIME_CONSTANT_S: Final = 0.010


class ContactWatch:
    """A low-pass filter and a force limit for each surface; keeps the first violation until ``reset``.

    The force of a single step is an artefact of the solver: with the filter (10 ms, slightly more than one
    period of the UR5's controller) a touch is allowed and a push is a violation.

    Args:
        surfaces: Names of the watched surfaces.
        limit_n: Force above which a contact is a violation.
        step_s: Time between two updates.
    """

    def __init__(self, surfaces: tuple[str, ...], limit_n: float, step_s: float) -> None:
        if limit_n <= 0:
            raise UsageError("the contact force limit must be positive", expected="newtons > 0", got=limit_n)
        self._surfaces = surfaces
        self._limit_n = limit_n
        self._weight = step_s / (_TIME_CONSTANT_S + step_s)
        self._force_n = [0.0] * len(surfaces)
        self.violation: str | None = None
        self.peak_n = 0.0

    def reset(self) -> None:
        """Forget all forces and the violation."""
        self._force_n = [0.0] * len(self._surfaces)
        self.violation = None
        self.peak_n = 0.0

    def update(self, forces_n: NDArray[np.float64], time_ns: int) -> None:
        """Filter one step's forces, ``(3 * surfaces,)`` in N, and check the limit."""
        forces = forces_n.tolist()
        if self.violation is None and not any(forces) and not any(self._force_n):
            return
        for index, surface in enumerate(self._surfaces):
            x, y, z = forces[3 * index : 3 * index + 3]
            force_n = sqrt(x * x + y * y + z * z)
            filtered = self._force_n[index] + self._weight * (force_n - self._force_n[index])
            self._force_n[index] = filtered if filtered > 1e-6 else 0.0
            self.peak_n = max(self.peak_n, filtered)
            if filtered > self._limit_n and self.violation is None:
                self.violation = (
                    f"robot presses on the {surface} with {filtered:.0f} N "
                    f"(limit {self._limit_n:.0f} N) at {time_ns / SECOND_NS:.3f} s"
                )
