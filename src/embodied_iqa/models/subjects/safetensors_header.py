"""Sizes of safetensors files, read from their headers: no weights, no pickle."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

from safetensors import SafetensorError, safe_open

from embodied_iqa.base.errors import InputError, first_line


@dataclass(frozen=True, slots=True)
class WeightsSize:
    """Size of weights.

    Attributes:
        parameters: Number of parameters.
        stored_bytes: Size on disk [byte].
    """

    parameters: int = 0
    stored_bytes: int = 0

    def __add__(self, other: WeightsSize) -> WeightsSize:
        return WeightsSize(self.parameters + other.parameters, self.stored_bytes + other.stored_bytes)


def read_size(file: Path) -> WeightsSize:
    """Return the size of the weights in a file.

    Raises:
        InputError: It is not a complete safetensors file.
    """
    try:
        with safe_open(file, "np") as content:
            shapes = [content.get_slice(name).get_shape() for name in content.keys()]  # noqa: SIM118 - no iterator
        with file.open("rb") as stream:
            header_bytes = 8 + int.from_bytes(stream.read(8), "little")
    except OSError as error:
        raise InputError(f"cannot read {file}: {error.strerror or first_line(error)}") from None
    except SafetensorError as error:
        raise InputError(f"{file} is damaged or not a safetensors file: {first_line(error)}") from None
    return WeightsSize(sum(map(math.prod, shapes)), file.stat().st_size - header_bytes)
