"""Uploaded scripts: splitting the stream, and the name, register offset and path of moves of each."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.arm.emulator.link import Link, Peer

CONTROL_SCRIPT = "rtde_control"
"""Name of the script that the client library `ur_rtde` uploads."""

_LONGEST_SCRIPT = 1 << 22
_NAME = re.compile(r"^\s*(?:def|sec)\s+(\w+)\s*\(", re.MULTILINE)
_END = re.compile(r"^end[ \t]*\r?\n", re.MULTILINE)
_OFFSET = re.compile(r"reg_offset_int = # int register offset\s*\n\s*(\d+)")
_PATH = re.compile(r"def exec_move_path\(\):(.*?)\n    end", re.DOTALL)
_MOVE = re.compile(r"(movej|movel|movep)\((p?)\[([^\]]+)\],a=([^,]+),v=([^,]+),r=([^)]+)\)")


@dataclass(frozen=True, slots=True, eq=False)
class Waypoint:
    """One move of a path.

    Attributes:
        kind: In joint space or along a line.
        is_pose: Whether the target is a pose (m, rad) or joint angles (rad).
        target: ``(6,)``.
        speed: rad/s or m/s.
        acceleration: rad/s2 or m/s2.
    """

    kind: Literal["movej", "movel"]
    is_pose: bool
    target: NDArray[np.float64]
    speed: float
    acceleration: float


@dataclass(frozen=True, slots=True)
class UploadedScript:
    """The parts of a script that the emulator uses.

    Attributes:
        name: Name of the outermost function; empty if there is none.
        register_offset: First register: 0 or 24.
        path: Moves that the client inserted.
    """

    name: str
    register_offset: int
    path: tuple[Waypoint, ...]

    @classmethod
    def parse(cls, text: str) -> UploadedScript:
        """Parse a complete script."""
        name, offset, path = _NAME.search(text), _OFFSET.search(text), _PATH.search(text)
        return cls(
            name[1] if name else "",
            int(offset[1]) if offset else 0,
            tuple(_waypoint(match) for match in _MOVE.finditer(path[1])) if path else (),
        )


def split_scripts(text: str) -> tuple[list[str], str]:
    """Split received text into complete scripts (up to an unindented ``end``) and the rest."""
    scripts, start = [], 0
    for match in _END.finditer(text):
        scripts.append(text[start : match.end()])
        start = match.end()
    return scripts, text[start:]


def _waypoint(match: re.Match[str]) -> Waypoint:
    kind, pose, values, acceleration, speed, _ = match.groups()
    target = np.array([float(value) for value in values.split(",")])
    return Waypoint(
        "movej" if kind == "movej" else "movel", bool(pose), target, float(speed), float(acceleration)
    )


class ScriptPeer(Peer):
    """A client that uploads programs as text.

    Args:
        link: Its network.
        load: Called with each complete program.
    """

    def __init__(self, link: Link, load: Callable[[str], None]) -> None:
        super().__init__(link)
        self._load = load
        self._rest = ""

    def take(self, data: bytes) -> None:
        """Load every complete program."""
        scripts, self._rest = split_scripts(self._rest + data.decode("utf-8", "replace"))
        for text in scripts:
            self._load(text)
        if len(self._rest) > _LONGEST_SCRIPT:
            self.transport.abort()
