"""JSON with NumPy arrays, the format of OpenVLA's server (package json-numpy), read with strict limits.

An array is an object ``{"__numpy__": base64, "dtype": "<f8", "shape": [..]}``.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from typing import Any, Final

import numpy as np

from embodied_iqa.models.subjects.wire.arrays import array_from, checked_array
from embodied_iqa.models.subjects.wire.errors import ProtocolError

_MARK: Final = "__numpy__"
_MOST_DEPTH: Final = 32
_BRACKET: Final = re.compile(r'"(?:[^"\\]|\\.)*+"|[\[{\]}]')


def pack(value: object) -> bytes:
    """Return the JSON of numbers, text, arrays, lists and maps.

    Raises:
        ProtocolError: A value cannot be sent.
    """
    try:
        return json.dumps(value, default=_to_object).encode()
    except (TypeError, ValueError) as error:
        raise ProtocolError(f"a message cannot be packed: {error}") from None


def unpack(text: bytes | str, most_bytes: int) -> Any:
    """Return the content of a JSON text.

    Raises:
        ProtocolError: It is too long, not JSON, nested too deeply, or holds an array that is not allowed.
    """
    if len(text) > most_bytes:
        raise ProtocolError("a message is too long", expected=f"at most {most_bytes} bytes", got=len(text))
    try:
        words = text.decode() if isinstance(text, bytes) else text
        _check_depth(words)
        return json.loads(words, object_hook=_from_object)
    except ProtocolError:
        raise
    except (ValueError, RecursionError) as error:
        raise ProtocolError(f"a message is not readable JSON: {error}") from None


def _check_depth(text: str) -> None:
    """Count brackets before parsing, because the parser recurses as deeply as the message nests."""
    depth = 0
    for found in _BRACKET.finditer(text):
        word = found.group()
        if word in "[{":
            depth += 1
        elif word in "]}":
            depth -= 1
        if depth > _MOST_DEPTH:
            raise ProtocolError("a message is nested too deeply", expected=f"at most {_MOST_DEPTH} levels")


def _to_object(value: object) -> object:
    if isinstance(value, np.ndarray):
        array = checked_array(value)
        data = base64.b64encode(array.tobytes()).decode()
        return {_MARK: data, "dtype": array.dtype.str, "shape": array.shape}
    if isinstance(value, np.generic):
        return value.item()
    raise ProtocolError("a message cannot hold this", got=type(value).__name__)


def _from_object(items: dict[str, Any]) -> object:
    if _MARK not in items:
        return items
    data = items[_MARK]
    try:
        decoded = base64.b64decode(data, validate=True) if isinstance(data, str) else data
    except (binascii.Error, ValueError):
        raise ProtocolError("an array is not base64") from None
    return array_from(decoded, items.get("dtype"), items.get("shape"))
