"""General-purpose registers through which clients and the robot's program exchange numbers."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

REGISTERS = 48
"""Number of general-purpose registers of each kind and direction."""

WORLD_TIME_REGISTER = 12
"""Output double register with the time of the simulated world (s)."""
ACKNOWLEDGE_REGISTER = 18
"""Input double register in which a driver writes the time stamp of the state that it has answered (s)."""


@dataclass(slots=True)
class OutputRegisters:
    """Registers that the program writes and clients read.

    Attributes:
        integers: 32-bit signed.
        doubles: 64-bit floating point.
    """

    integers: list[int] = field(default_factory=lambda: [0] * REGISTERS)
    doubles: list[float] = field(default_factory=lambda: [0.0] * REGISTERS)


class RegisterView:
    """The registers as one program sees them, shifted by an offset.

    Args:
        inputs: Last received value of each RTDE input.
        outputs: Registers that the program writes.
        offset: 0, or 24 for a program in the upper half.
    """

    def __init__(
        self, inputs: dict[str, int | float | tuple[float, ...]], outputs: OutputRegisters, offset: int
    ) -> None:
        self._inputs = inputs
        self._outputs = outputs
        self._offset = offset

    def integer(self, index: int) -> int:
        """Return an input register; 0 before the first write."""
        value = self._inputs.get(f"input_int_register_{index + self._offset}", 0)
        return int(value) if isinstance(value, int | float) else 0

    def double(self, index: int) -> float:
        """Return an input register; 0 before the first write."""
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
