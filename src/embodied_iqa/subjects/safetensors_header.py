"""What a safetensors file holds, read from its header alone: no weights, no pickle.

Layout: 8 bytes with the header's length (little endian), the header as JSON, the numbers.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from embodied_iqa.errors import InputError

__all__ = ["WeightsSize", "read_size"]

_MOST_HEADER_BYTES: Final = 100_000_000
"""The limit of the safetensors library itself."""
_BITS: Final = {
    "BOOL": 8, "U8": 8, "I8": 8, "F8_E5M2": 8, "F8_E4M3": 8, "F8_E8M0": 8, "F8_E4M3FNUZ": 8, "F8_E5M2FNUZ": 8,
    "F4": 4, "F6_E2M3": 6, "F6_E3M2": 6, "I16": 16, "U16": 16, "F16": 16, "BF16": 16, "I32": 32, "U32": 32,
    "F32": 32, "C64": 64, "F64": 64, "I64": 64, "U64": 64,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class WeightsSize:
    """How large weights are.

    Attributes:
        parameters: How many numbers.
        stored_bytes: What they take on disk.
    """

    parameters: int = 0
    stored_bytes: int = 0

    def __add__(self, other: WeightsSize) -> WeightsSize:
        return WeightsSize(self.parameters + other.parameters, self.stored_bytes + other.stored_bytes)


def read_size(file: Path) -> WeightsSize:
    """Read how large the weights of a file are.

    Raises:
        InputError: It is no whole safetensors file.
    """
    try:
        whole = file.stat().st_size
        with file.open("rb") as stream:
            length = int.from_bytes(stream.read(8), "little")
            if not 2 <= length <= min(_MOST_HEADER_BYTES, whole - 8):
                raise InputError(f"{file} is no safetensors file")
            header = json.loads(stream.read(length))
    except OSError as error:
        raise InputError(f"cannot read {file}: {error.strerror}") from None
    except ValueError:
        raise InputError(f"{file} is no safetensors file") from None
    if not isinstance(header, dict):
        raise InputError(f"{file} is no safetensors file")
    tensors = [value for key, value in header.items() if key != "__metadata__"]
    size = sum((_size_of(tensor, file) for tensor in tensors), WeightsSize())
    if size.stored_bytes != whole - 8 - length:
        raise InputError(
            f"{file} is cut short or damaged",
            expected=f"{8 + length + size.stored_bytes} bytes",
            got=whole,
        )
    return size


def _size_of(tensor: Any, file: Path) -> WeightsSize:
    match tensor:
        case {"dtype": str(kind), "shape": list(shape), "data_offsets": [int(), int()]} if kind in _BITS:
            if all(type(side) is int and side >= 0 for side in shape):
                number = math.prod(shape)
                return WeightsSize(number, (number * _BITS[kind] + 7) // 8)
    raise InputError(f"{file} holds something that is no tensor")
