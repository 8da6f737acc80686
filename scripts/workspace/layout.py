"""Where things lie in a working copy, and the error that ends a set-up."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

__all__ = ["MAIN_ENVIRONMENT", "Layout", "SetupError"]

MAIN_ENVIRONMENT = ".venv"
_TAKEN = "pyiqa|libero"
"""`make pyiqa` and `make libero` have environments of their own."""
_ENVIRONMENT = re.compile(rf"\.venv(-(?!({_TAKEN})$)[A-Za-z0-9][A-Za-z0-9.]*)?")


class SetupError(Exception):
    """Set-up cannot go on; the message is one line for the user."""


@dataclass(frozen=True, slots=True)
class Layout:
    """Paths of one working copy.

    Args:
        root: The top of the working copy, which holds pyproject.toml.
        environment: Name of the folder of the virtual environment in it: .venv, or .venv-NAME beside it, so
            that one working copy can hold several Pythons.

    Raises:
        SetupError: Another name.
    """

    root: Path
    environment: str = MAIN_ENVIRONMENT

    def __post_init__(self) -> None:
        if not _ENVIRONMENT.fullmatch(self.environment):
            raise SetupError(f"VENV must be .venv or .venv-NAME; got {self.environment!r}")

    @property
    def venv(self) -> Path:
        """The virtual environment."""
        return self.root / self.environment

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
        """Build trees and logs of this environment."""
        name = self.environment.removeprefix(MAIN_ENVIRONMENT).removeprefix("-")
        return self.root / ".build" / name

    @property
    def shared_lock(self) -> Path:
        """Held by what set-ups of several environments must not do at once."""
        return self.root / ".build" / "shared.lock"

    @property
    def generated(self) -> Path:
        """Generated sources that the environments of the working copy share."""
        return self.root / ".build" / "generated"

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
