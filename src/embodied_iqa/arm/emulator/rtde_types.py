"""The RTDE protocol: packages, data types, their packing, and the input variables."""

from __future__ import annotations

import itertools
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum, StrEnum

from embodied_iqa.arm.emulator.registers import REGISTERS

RTDE_PORT = 30004
RTDE_VERSION = 2
HEADER = struct.Struct(">HB")
"""Size of the package with its header, and its `Kind`."""
NOT_FOUND = "NOT_FOUND"

Value = int | float | tuple[float, ...]


class Kind(IntEnum):
    """Types of packages: the ASCII codes of their letters."""

    REQUEST_VERSION = ord("V")
    CONTROLLER_VERSION = ord("v")
    SETUP_OUTPUTS = ord("O")
    SETUP_INPUTS = ord("I")
    START = ord("S")
    PAUSE = ord("P")
    DATA = ord("U")


class RtdeType(StrEnum):
    """Types of variables, by their names in the protocol."""

    BOOL = "BOOL"
    UINT8 = "UINT8"
    UINT32 = "UINT32"
    UINT64 = "UINT64"
    INT32 = "INT32"
    DOUBLE = "DOUBLE"
    VECTOR3D = "VECTOR3D"
    VECTOR6D = "VECTOR6D"
    VECTOR6INT32 = "VECTOR6INT32"


_FORMAT = {
    RtdeType.BOOL: ("?", 1),
    RtdeType.UINT8: ("B", 1),
    RtdeType.UINT32: ("I", 1),
    RtdeType.UINT64: ("Q", 1),
    RtdeType.INT32: ("i", 1),
    RtdeType.DOUBLE: ("d", 1),
    RtdeType.VECTOR3D: ("3d", 3),
    RtdeType.VECTOR6D: ("6d", 6),
    RtdeType.VECTOR6INT32: ("6i", 6),
}


def _inputs() -> dict[str, RtdeType]:
    found = {f"input_int_register_{index}": RtdeType.INT32 for index in range(REGISTERS)}
    found |= {f"input_double_register_{index}": RtdeType.DOUBLE for index in range(REGISTERS)}
    for name in ("standard", "configurable", "tool"):
        found |= dict.fromkeys((f"{name}_digital_output_mask", f"{name}_digital_output"), RtdeType.UINT8)
    found |= dict.fromkeys(("standard_analog_output_mask", "standard_analog_output_type"), RtdeType.UINT8)
    found |= dict.fromkeys(("standard_analog_output_0", "standard_analog_output_1"), RtdeType.DOUBLE)
    return found | {
        "speed_slider_mask": RtdeType.UINT32,
        "speed_slider_fraction": RtdeType.DOUBLE,
        "external_force_torque": RtdeType.VECTOR6D,
    }


INPUTS = _inputs()
"""The variables that clients may write."""


@dataclass(frozen=True, slots=True)
class Packing:
    """Layout of several variables as bytes, big-endian and without padding.

    Attributes:
        layout: Layout of all values.
        counts: Number of values of each variable.
    """

    layout: struct.Struct
    counts: tuple[int, ...]

    @classmethod
    def of(cls, types: Sequence[RtdeType]) -> Packing:
        """Return the packing of variables of these types."""
        formats = [_FORMAT[kind] for kind in types]
        layout = struct.Struct(">" + "".join(text for text, _ in formats))
        return cls(layout, tuple(count for _, count in formats))

    def pack(self, values: Sequence[Value]) -> bytes:
        """Pack one value for each variable."""
        vectors = (value if isinstance(value, tuple) else (value,) for value in values)
        return self.layout.pack(*itertools.chain.from_iterable(vectors))

    def unpack(self, data: bytes) -> list[Value]:
        """Unpack one value for each variable.

        Raises:
            struct.error: The number of bytes is wrong.
        """
        numbers = iter(self.layout.unpack(data))
        return [
            next(numbers) if count == 1 else tuple(itertools.islice(numbers, count)) for count in self.counts
        ]
