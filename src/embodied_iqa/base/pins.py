"""Pinned requirements, and their replacements where an installed ROS is sourced.

Set-up reads them before anything is installed, so this module needs only the standard library.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from embodied_iqa.base.errors import InputError

_PIN = re.compile(
    r"^(?P<name>[A-Za-z0-9._-]+)(?P<extras>\[[A-Za-z0-9,._-]+\])?==(?P<version>[A-Za-z0-9.!+_-]+)"
    r"(?:\s*;\s*(?P<marker>.+))?$"
)


@dataclass(frozen=True, slots=True)
class Pin:
    """One line of a requirements file: `name[extras]==version; marker`, extras and marker optional."""

    name: str
    extras: str
    version: str
    marker: str = ""

    @property
    def key(self) -> str:
        """The normalised name."""
        return re.sub(r"[-_.]+", "-", self.name).lower()

    def __str__(self) -> str:
        condition = f"; {self.marker}" if self.marker else ""
        return f"{self.name}{self.extras}=={self.version}{condition}"


def read_pins(file: Path) -> list[Pin]:
    """Read a requirements file in which every line is one exact pin, with or without hashes.

    Raises:
        InputError: A line is not an exact pin.
    """
    pins = []
    for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), start=1):
        text = line.split("#", 1)[0].split(" --hash=", 1)[0].strip()
        if not text:
            continue
        match = _PIN.match(text)
        if match is None:
            raise InputError(f"{file.name}:{number} is not a pin", expected="name==version", got=text)
        pins.append(Pin(match["name"], match["extras"] or "", match["version"], match["marker"] or ""))
    return pins


def replace_pins(pins: Iterable[Pin], replacements: Iterable[Pin]) -> list[Pin]:
    """Return `pins` with those swapped that `replacements` names too; other replacements are left out."""
    by_key = {pin.key: pin for pin in replacements}
    return [by_key.get(pin.key, pin) for pin in pins]
