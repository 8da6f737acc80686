"""Recorded messages of earlier definitions as messages of today."""

from __future__ import annotations

from typing import Any, TypeVar

MessageT = TypeVar("MessageT")


def current_message(recorded: Any, kind: type[MessageT]) -> MessageT:
    """Return a recorded message as its type is defined today; fields that it lacks have their defaults.

    Args:
        recorded: With its fields as attributes, as `TrialReader.decode` returns it.
        kind: Message class without sequences.
    """
    message: Any = kind()
    for name in message.get_fields_and_field_types():
        if hasattr(recorded, name):
            value, default = getattr(recorded, name), type(getattr(message, name))
            nested = hasattr(default, "get_fields_and_field_types")
            setattr(message, name, current_message(value, default) if nested else default(value))
    current: MessageT = message
    return current
