"""How the folder of an annotated database is recognised, without what reads one."""

from __future__ import annotations

from pathlib import Path
from typing import Final

RECORD_FILE: Final = "dataset.json"


def is_database(path: Path) -> bool:
    """Return whether a folder is a database, finished or not."""
    return (path / RECORD_FILE).is_file()
