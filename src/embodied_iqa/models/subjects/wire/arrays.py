"""Arrays in messages: numbers only, and exactly as many bytes as the shape needs."""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.models.subjects.wire.errors import ProtocolError

NUMBERS: Final = frozenset(
    {"|b1", "|i1", "|u1"}
    | {f"{order}{kind}" for order in "<>" for kind in ("i2", "i4", "i8", "u2", "u4", "u8", "f2", "f4", "f8")}
)
"""Element types allowed in messages: booleans, integers and floats."""

_MOST_DIMENSIONS: Final = 8


def array_from(data: object, dtype: object, shape: object) -> NDArray[Any]:
    """Return the read-only array of a message.

    Args:
        data: Its elements in C order.
        dtype: Element type in NumPy's short form, one of `NUMBERS`.
        shape: Its dimensions.

    Raises:
        ProtocolError: The parts contradict each other, or the elements are not numbers.
    """
    if not isinstance(dtype, str) or dtype not in NUMBERS:
        raise ProtocolError(
            "an array has elements that are not allowed", expected="booleans, integers or floats", got=dtype
        )
    if not isinstance(shape, list | tuple) or len(shape) > _MOST_DIMENSIONS:
        raise ProtocolError(
            "an array has no usable shape", expected=f"up to {_MOST_DIMENSIONS} sizes", got=shape
        )
    if not all(isinstance(size, int) and not isinstance(size, bool) and size >= 0 for size in shape):
        raise ProtocolError("an array has no usable shape", expected="sizes of 0 and more", got=shape)
    element = np.dtype(dtype)
    expected = math.prod(shape) * element.itemsize
    if not isinstance(data, bytes) or len(data) != expected:
        got = len(data) if isinstance(data, bytes) else type(data).__name__
        raise ProtocolError(f"an array of shape {tuple(shape)} needs {expected} bytes", got=got)
    return np.frombuffer(data, dtype=element).reshape(tuple(shape))


def checked_array(array: NDArray[Any]) -> NDArray[Any]:
    """Return an array whose elements may be sent.

    Raises:
        ProtocolError: They are not numbers.
    """
    if array.dtype.str not in NUMBERS:
        raise ProtocolError(
            "an array cannot be sent", expected="booleans, integers or floats", got=array.dtype.str
        )
    return array
