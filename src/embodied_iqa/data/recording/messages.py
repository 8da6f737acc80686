"""Messages without ROS: fields to serialised bytes (CDR) and back, for any type with a definition."""

from __future__ import annotations

import struct
from functools import lru_cache
from typing import Any, Final

import numpy as np
from rosbags.interfaces import Nodetype
from rosbags.serde import SerdeError
from rosbags.typesys import Stores, TypesysError, get_types_from_msg, get_typestore
from rosbags.typesys.base import normalize_fieldname
from rosbags.typesys.store import Typestore

from embodied_iqa.base.errors import InputError
from embodied_iqa.base.units import SECOND_NS
from embodied_iqa.data.recording.definitions import MessageDefinitions

_ENCAPSULATION_BYTES = 4
_DTYPES = {"bool": "bool", "byte": "uint8", "char": "uint8", "octet": "uint8"}
_NO_TYPES: Final = get_typestore(Stores.EMPTY)


class TypeStore:
    """Message classes by type name, made from definitions on first use.

    Fields are attributes; arrays of numbers are numpy arrays, other sequences are lists. Constants of the
    definition are attributes of the class.

    Args:
        definitions: Source of the definitions; None for `MessageDefinitions` with its defaults.
    """

    def __init__(self, definitions: MessageDefinitions | None = None) -> None:
        self.definitions = definitions or MessageDefinitions()
        self._store = _NO_TYPES

    def message_class(self, type_name: str) -> Any:
        """Return the class of messages of a type, such as ``sensor_msgs/msg/Image``.

        Raises:
            InputError: The type has no definition.
        """
        if type_name not in self._store.types:
            self.learn(type_name, self.definitions.full_text(type_name))
        return self._store.types[type_name]

    def learn(self, type_name: str, full_text: str) -> None:
        """Register a type, and the types that it contains, from a concatenated definition.

        Raises:
            InputError: The text cannot be parsed, or contradicts a registered type.
        """
        try:
            self._store = _with_type(self._store, type_name, full_text)
        except TypesysError as error:
            raise InputError(f"bad definition of message type {type_name}: {error}") from error

    def new(self, type_name: str, **values: Any) -> Any:
        """Return a message; other fields are zero, empty or false, regardless of the definition's defaults.

        Args:
            type_name: Such as ``sensor_msgs/msg/Image``.
            values: Fields; sequences of numbers may be lists, bytes or arrays.

        Raises:
            InputError: The type is unknown, or has no such field.
        """
        cls = self.message_class(type_name)
        kinds = dict(self._kinds(type_name))
        unknown = values.keys() - kinds.keys()
        if unknown:
            raise InputError(f"{type_name} has no such field", got=min(unknown), available=kinds)
        every = {
            name: _as_stored(kind, values[name]) if name in values else self._zero(kind)
            for name, kind in kinds.items()
        }
        return cls(**every)

    def header(self, stamp_ns: int, frame_id: str = "") -> Any:
        """Return a ``std_msgs/msg/Header``."""
        return self.new("std_msgs/msg/Header", stamp=self.time(stamp_ns), frame_id=frame_id)

    def time(self, stamp_ns: int) -> Any:
        """Return a ``builtin_interfaces/msg/Time``."""
        sec, nanosec = divmod(stamp_ns, SECOND_NS)
        return self.new("builtin_interfaces/msg/Time", sec=sec, nanosec=nanosec)

    def serialise(self, message: Any) -> bytes:
        """Return the CDR bytes (little-endian, with encapsulation header) of a message.

        Raises:
            InputError: A field has a value that its type cannot hold.
        """
        try:
            return bytes(self._store.serialize_cdr(message, message.__msgtype__))
        except (SerdeError, struct.error, AttributeError, TypeError, ValueError) as error:
            raise InputError(f"cannot serialise a {message.__msgtype__}: {error}") from error

    def deserialise(self, cdr: bytes | memoryview, type_name: str) -> Any:
        """Return the message in CDR bytes; arrays are views of them.

        Bytes after the message are ignored: Fast CDR appends some after empty sequences, which rosbags' own
        entry point refuses.

        Raises:
            InputError: The type is unknown or the bytes are not of that type.
        """
        self.message_class(type_name)
        view = memoryview(cdr)
        if len(view) < _ENCAPSULATION_BYTES or view[0] != 0 or view[1] > 1:
            raise InputError(f"the bytes are not a {type_name}: not plain CDR")
        definition = self._store.get_msgdef(type_name)
        read = definition.deserialize_cdr_le if view[1] == 1 else definition.deserialize_cdr_be
        try:
            message, _ = read(view[_ENCAPSULATION_BYTES:], 0, definition.cls, self._store)
        except (SerdeError, struct.error, ValueError, IndexError) as error:
            raise InputError(f"the bytes are not a {type_name}: {error}") from error
        return message

    def type_hash(self, type_name: str) -> str:
        """Return the type's hash (REP 2016), such as ``RIHS01_...``.

        Raises:
            InputError: The type has no definition, or has wide strings, which rosbags cannot hash.
        """
        self.message_class(type_name)
        try:
            return str(self._store.hash_rihs01(type_name))
        except KeyError as error:
            raise InputError(f"cannot hash message type {type_name}: it has a {error}") from error

    def _kinds(self, type_name: str) -> list[tuple[str, Any]]:
        """Return name and rosbags' description of each field."""
        _, described = self._store.fielddefs[type_name]
        return [(normalize_fieldname(name), kind) for name, kind in described]

    def _zero(self, kind: Any) -> Any:
        node, detail = kind
        if node == Nodetype.NAME:
            return self.new(detail)
        if node == Nodetype.BASE:
            return _zero_scalar(detail[0])
        element, size = detail
        length = size if node == Nodetype.ARRAY else 0
        dtype = _dtype(element)
        return [self._zero(element) for _ in range(length)] if dtype is None else np.zeros(length, dtype)


@lru_cache(maxsize=512)
def _with_type(store: Typestore, type_name: str, full_text: str) -> Typestore:
    """Return a store of rosbags with a further type, and what that contains; ``store`` stays as it is.

    Recordings have the same types, nearly always in the same order: one store serves all of them, whose
    definitions are then parsed, and compiled into readers of bytes, once.

    Raises:
        TypesysError: The text cannot be parsed, or contradicts a registered type.
    """
    grown = get_typestore(Stores.EMPTY)
    grown.types.update(store.types)
    grown.fielddefs.update(store.fielddefs)
    grown.cache.update(store.cache)
    grown.register(get_types_from_msg(full_text, type_name))
    return grown


def _zero_scalar(name: str) -> Any:
    if name in {"string", "wstring"}:
        return ""
    if name == "bool":
        return False
    return 0.0 if name.startswith("float") else 0


def _dtype(element: Any) -> str | None:
    """Return the numpy type of a sequence's elements; None where the sequence is a list."""
    node, detail = element
    if node != Nodetype.BASE or detail[0] in {"string", "wstring"}:
        return None
    return str(_DTYPES.get(detail[0], detail[0]))


def _as_stored(kind: Any, value: Any) -> Any:
    node, detail = kind
    if node not in {Nodetype.ARRAY, Nodetype.SEQUENCE}:
        return value
    dtype = _dtype(detail[0])
    if dtype is None:
        return list(value)
    if isinstance(value, bytes | bytearray | memoryview):
        return np.frombuffer(value, dtype)
    return np.ascontiguousarray(value, dtype).reshape(-1)
