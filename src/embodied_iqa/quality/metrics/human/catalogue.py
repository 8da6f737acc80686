"""Human databases by name: ``live:DIR``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Final

from embodied_iqa.base.errors import InputError, UsageError
from embodied_iqa.quality.metrics.human.authentic import read_koniq10k
from embodied_iqa.quality.metrics.human.database import HumanDatabase
from embodied_iqa.quality.metrics.human.live import read_live
from embodied_iqa.quality.metrics.human.synthetic import read_kadid10k, read_tid2013

READERS: Final[Mapping[str, Callable[[Path], HumanDatabase]]] = MappingProxyType(
    {"live": read_live, "tid2013": read_tid2013, "kadid10k": read_kadid10k, "koniq10k": read_koniq10k}
)
"""Readers by name of the database."""


def read_human(text: str) -> HumanDatabase:
    """Read a human database.

    Args:
        text: Its name and its folder, as in ``"live:databaserelease2"``.

    Raises:
        UsageError: Unknown name.
        InputError: The folder has another layout.
    """
    name, colon, folder = text.partition(":")
    if name not in READERS or not colon:
        available = [f"{name}:DIR" for name in READERS]
        raise UsageError("unknown human database", got=text, available=available)
    if not Path(folder).is_dir():
        raise InputError(f"{folder} is not a folder", expected=f"the folder of {name}")
    return READERS[name](Path(folder).resolve())
