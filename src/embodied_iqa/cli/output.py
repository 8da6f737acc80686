"""Console of the sub-commands."""

from __future__ import annotations

import sys
from typing import Final

from rich.console import Console

_FILE_WIDTH: Final = 200


def console() -> Console:
    """Return a console as wide as the terminal, or wide enough for every table in a file or pipe."""
    return Console(width=None if sys.stdout.isatty() else _FILE_WIDTH)
