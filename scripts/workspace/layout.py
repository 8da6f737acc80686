"""Where things lie in a working copy, and the error that ends a set-up."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

__all__ = ["Layout", "SetupError"]


class SetupError(Exception):
    """Set-up cannot go on; the message is one line for the user."""


@dataclass(frozen=True, slots=True)
class Layout:
    """Paths of one working copy.

    Args:
        root: The folder that holds setup.py.
    """

    root: Path

    @property
    def venv(self) -> Path:
        """The virtual environment."""
        return self.root / ".venv"

    @property
    def python(self) -> Path:
        """The virtual environment's Python."""
        return self.venv / "bin" / "python"

    @property
    def stamps(self) -> Path:
        """Stamps live in the environment: whoever deletes .venv starts afresh."""
        return self.venv / ".stamps"

    @property
    def build(self) -> Path:
        """Build trees and logs."""
        return self.root / ".build"

    @property
    def log(self) -> Path:
        """What the commands of the last set-up printed."""
        return self.build / "setup.log"

    @property
    def requirements(self) -> Path:
        """The pinned sets."""
        return self.root / "requirements"

    @property
    def messages(self) -> Path:
        """The interface package."""
        return self.root / "msg"
