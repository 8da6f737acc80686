"""Decoding of recorded messages by the definitions in their recording."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from embodied_iqa.base.errors import InputError
from embodied_iqa.data.recording.definitions import MessageDefinitions
from embodied_iqa.data.recording.errors import RecordingReadError
from embodied_iqa.data.recording.messages import TypeStore
from embodied_iqa.data.recording.recorded import NO_DEFINITION, RecordedMessage


class RecordedTypes:
    """Message types of one recording; those of installed packages are not used.

    Args:
        path: The recording, for error messages.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._types = TypeStore(MessageDefinitions(prefixes=(), sources=()))
        self._learned: set[str] = set()

    def decode(self, message: RecordedMessage, definition: str) -> Any:
        """Return a message's fields as attributes (see `TypeStore`).

        Args:
            message: Of this recording.
            definition: Concatenated definition of its type.

        Raises:
            RecordingReadError: The definition or the bytes are damaged.
        """
        if definition == NO_DEFINITION:
            raise RecordingReadError(
                self._path, f"topic {message.topic}: no definition of the type {message.type_name}"
            )
        try:
            if message.topic not in self._learned:
                self._types.learn(message.type_name, definition)
                self._learned.add(message.topic)
            return self._types.deserialise(message.cdr, message.type_name)
        except InputError as error:
            raise RecordingReadError(self._path, f"topic {message.topic}: {error}") from error
