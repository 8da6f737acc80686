"""The numbers that clients and the robot's program exchange."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

__all__ = ["REGISTERS", "OutputRegisters", "RegisterView"]

REGISTERS = 48
"""General-purpose registers of each kind and direction."""


@dataclass(slots=True)
class OutputRegisters:
    """What the program writes and clients read.

    Attributes:
        integers: 32-bit signed.
        doubles: 64-bit floating point.
    """

    integers: list[int] = field(default_factory=lambda: [0] * REGISTERS)
    doubles: list[float] = field(default_factory=lambda: [0.0] * REGISTERS)


class RegisterView:
    """The registers as one program sees them, from an offset on.

    Args:
        inputs: Name of an RTDE input to the last value received.
        outputs: What the program writes.
        offset: 0, or 24 for a program in the upper half.
    """

    def __init__(
        self, inputs: dict[str, int | float | tuple[float, ...]], outputs: OutputRegisters, offset: int
    ) -> None:
        self._inputs = inputs
        self._outputs = outputs
        self._offset = offset

    def integer(self, index: int) -> int:
        """Return an input register; 0 if it was never written."""
        value = self._inputs.get(f"input_int_register_{index + self._offset}", 0)
        return int(value) if isinstance(value, int | float) else 0

    def double(self, index: int) -> float:
        """Return an input register; 0 if it was never written."""
        value = self._inputs.get(f"input_double_register_{index + self._offset}", 0.0)
        return float(value) if isinstance(value, int | float) else 0.0

    def six(self, index: int) -> NDArray[np.float64]:
        """Return six successive input registers ``(6,)``."""
        return np.array([self.double(index + place) for place in range(6)])

    def write_integer(self, index: int, value: int) -> None:
        """Write an output register."""
        self._outputs.integers[index + self._offset] = int(value)

    def write_doubles(self, values: NDArray[np.float64] | list[float]) -> None:
        """Write the first output registers."""
        for place, value in enumerate(values):
            self._outputs.doubles[place + self._offset] = float(value)
