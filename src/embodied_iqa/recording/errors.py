"""The two things that go wrong with a recording: it cannot be written, it cannot be read."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from embodied_iqa.errors import InputError

__all__ = ["RecordingReadError", "RecordingWriteError"]


class _RecordingError(InputError):
    """An input error that quotes the file it is about.

    Args:
        path: The file.
        message: What is wrong with it, without a full stop.
        expected: What a right value looks like.
        got: What came instead.
        available: The values that exist, listed for the user.
    """

    def __init__(
        self,
        path: Path | str,
        message: str,
        *,
        expected: str | None = None,
        got: object = None,
        available: Iterable[object] | None = None,
    ) -> None:
        super().__init__(f"{str(path)!r}: {message}", expected=expected, got=got, available=available)
        self.path = Path(path)


class RecordingReadError(_RecordingError):
    """A recording is missing, cut short, damaged, of another kind, or lacks what was asked for."""


class RecordingWriteError(_RecordingError):
    """A recording cannot be opened or continued: it exists, the folder is closed to us, the disk is full."""
