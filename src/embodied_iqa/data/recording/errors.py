"""Errors of recordings: one for writing, one for reading."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final, Self

from embodied_iqa.base.errors import InputError

_PREDICATES: Final = ("is", "was", "has", "lacks", "cannot", "changed")
"""First words of messages whose subject is the file."""


class _RecordingError(InputError):
    """An input error that quotes its file.

    Args:
        path: The file.
        message: What is wrong with it, without a full stop; quoted content of the file becomes one line.
        details: Expected, received and available values, see `InputError`.
    """

    def __init__(self, path: Path | str, message: str, **details: Any) -> None:
        plain = "".join(letter if letter.isprintable() else " " for letter in message)
        fault = " ".join(plain.split())
        colon = "" if fault.partition(" ")[0] in _PREDICATES else ":"
        super().__init__(f"{str(path)!r}{colon} {fault}", **details)
        self.path = Path(path)


class RecordingReadError(_RecordingError):
    """A recording is missing, cut short, damaged, of another kind, or lacks the requested content."""


class OneImageError(RecordingReadError):
    """One image is damaged, or of another size than its camera; other images can be read.

    Args:
        path: The file.
        message: What is wrong with it, without a full stop.
        stamp_ns: Stamp of the image.
    """

    def __init__(self, path: Path | str, message: str, stamp_ns: int) -> None:
        super().__init__(path, message)
        self.stamp_ns = stamp_ns

    @classmethod
    def of(cls, error: RecordingReadError, stamp_ns: int) -> Self:
        """Return the error of an image as one of this class."""
        fault = str(error).removeprefix(repr(str(error.path))).removeprefix(":").removeprefix(" ")
        return cls(error.path, fault, stamp_ns)


class WrongPoseError(OneImageError):
    """The camera's pose of one image is invalid; other images can be read."""


class RecordingWriteError(_RecordingError):
    """A recording cannot be opened or continued: it exists, the folder is not writable, the disk is full."""
