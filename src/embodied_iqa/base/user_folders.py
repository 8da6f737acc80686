"""Folders for the user's files, by the XDG base directory specification."""

from __future__ import annotations

import os
from pathlib import Path

_NAME = "embodied-iqa"


def data_folder() -> Path:
    """Return the folder of measurements: ``$XDG_DATA_HOME/embodied-iqa``."""
    return _base("XDG_DATA_HOME", ".local/share") / _NAME


def cache_folder() -> Path:
    """Return the folder of caches: ``$XDG_CACHE_HOME/embodied-iqa``."""
    return _base("XDG_CACHE_HOME", ".cache") / _NAME


def _base(variable: str, below_home: str) -> Path:
    given = os.environ.get(variable, "")
    return Path(given) if Path(given).is_absolute() else Path.home() / below_home
