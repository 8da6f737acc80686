"""msgpack with NumPy arrays, the format of openpi's client and server, read with strict limits.

An array is a map ``{b"__ndarray__": true, b"data": bytes, b"dtype": "<f4", b"shape": [..]}``, a NumPy scalar
``{b"__npgeneric__": true, b"data": value, b"dtype": "<f4"}`` (openpi_client.msgpack_numpy 0.1.2).
"""

from __future__ import annotations

from typing import Any, Final

import msgpack
import numpy as np

from embodied_iqa.models.subjects.wire.arrays import NUMBERS, array_from, checked_array
from embodied_iqa.models.subjects.wire.errors import ProtocolError

MOST_DEPTH: Final = 16
"""Deepest nesting of maps and lists."""
_MOST_ITEMS: Final = 4096
"""Longest list or map: msgpack allocates as many items as a message claims to have."""
_ARRAY, _SCALAR = b"__ndarray__", b"__npgeneric__"
_PLAIN = (str, bytes, bool, int, float, type(None), np.ndarray, np.generic)


def pack(value: object) -> bytes:
    """Return the message of numbers, text, arrays, lists and maps.

    Raises:
        ProtocolError: A value cannot be sent.
    """
    try:
        packed: bytes = msgpack.packb(value, default=_to_map)
    except (TypeError, ValueError, OverflowError) as error:
        raise ProtocolError(f"a message cannot be packed: {error}") from None
    return packed


def unpack(message: bytes, most_bytes: int, what: str = "a message") -> Any:
    """Return the content of a message; arrays are read-only views of its bytes.

    Args:
        message: As it came.
        most_bytes: The longest that is read.
        what: The message in words, for errors.

    Raises:
        ProtocolError: It is longer than ``most_bytes``, malformed, nested too deeply, or holds a type that is
            not allowed.
    """
    if len(message) > most_bytes:
        raise ProtocolError(f"{what} is too long", expected=f"at most {most_bytes} bytes", got=len(message))
    try:
        value = msgpack.unpackb(
            message,
            object_hook=_from_map,
            ext_hook=_refuse_extension,
            max_array_len=_MOST_ITEMS,
            max_map_len=_MOST_ITEMS,
        )
    except ProtocolError:
        raise
    except (ValueError, TypeError, RecursionError, msgpack.exceptions.UnpackException) as error:
        why = str(error) or type(error).__name__
        raise ProtocolError(f"{what} is not readable msgpack: {why}") from None
    _check(value, 0)
    return value


def _to_map(value: object) -> object:
    if isinstance(value, np.ndarray):
        array = checked_array(value)
        return {_ARRAY: True, b"data": array.tobytes(), b"dtype": array.dtype.str, b"shape": array.shape}
    if isinstance(value, np.generic) and value.dtype.str in NUMBERS:
        return {_SCALAR: True, b"data": value.item(), b"dtype": value.dtype.str}
    raise ProtocolError("a message cannot hold this", got=type(value).__name__)


def _from_map(items: dict[Any, Any]) -> object:
    if _ARRAY in items:
        return array_from(items.get(b"data"), _text(items.get(b"dtype")), items.get(b"shape"))
    if _SCALAR in items:
        return _scalar(items.get(b"data"), _text(items.get(b"dtype")))
    return items


def _scalar(data: object, dtype: object) -> object:
    if isinstance(data, str) and isinstance(dtype, str) and dtype[1:2] == "U":
        return data
    if not isinstance(dtype, str) or dtype not in NUMBERS or not isinstance(data, bool | int | float):
        raise ProtocolError("a NumPy scalar is not a number", got=(type(data).__name__, dtype))
    try:
        return np.dtype(dtype).type(data)
    except (OverflowError, ValueError, TypeError) as error:
        raise ProtocolError(f"a NumPy scalar does not fit its type: {error}") from None


def _text(value: object) -> object:
    return value.decode("ascii", "replace") if isinstance(value, bytes) else value


def _refuse_extension(code: int, _data: bytes) -> object:
    raise ProtocolError("a message holds an msgpack extension", got=code)


def _check(value: object, depth: int) -> None:
    if isinstance(value, _PLAIN):
        return
    if depth >= MOST_DEPTH:
        raise ProtocolError("a message is nested too deeply", expected=f"at most {MOST_DEPTH} levels")
    if not isinstance(value, dict | list):
        raise ProtocolError("a message holds a type that is not allowed", got=type(value).__name__)
    for item in value.values() if isinstance(value, dict) else value:
        _check(item, depth + 1)
