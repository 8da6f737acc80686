"""Small pieces of MJCF, MuJoCo's model language."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

__all__ = ["HINGED", "OBJECT", "ROBOT", "STATIC", "Vector", "box", "numbers", "rod", "tag"]

Vector = tuple[float, float, float]

STATIC: Final = 'contype="2" conaffinity="5"'
ROBOT: Final = 'contype="1" conaffinity="6" group="3"'
OBJECT: Final = 'contype="4" conaffinity="7"'
HINGED: Final = 'contype="8" conaffinity="5"'
"""Who touches whom: robot, table and objects touch each other; only objects touch their own sort. What moves
in a fixed frame (a drawer, a knob) touches robot and objects, but not its frame.
Group 3 is not drawn: the robot collides with simple bodies beneath what is seen."""

VISUAL: Final = 'contype="0" conaffinity="0" mass="0"'


def numbers(values: Iterable[float]) -> str:
    """Write numbers so that reading them gives the same doubles."""
    return " ".join(repr(float(value)) for value in values)


def tag(name: str, inner: str = "", **attributes: str) -> str:
    """Write one element."""
    words = " ".join(f'{key}="{value}"' for key, value in attributes.items())
    return f"<{name} {words}>{inner}</{name}>" if inner else f"<{name} {words}/>"


def rod(start: Vector, end: Vector, radius: float, material: str) -> str:
    """Draw a cylinder between two points that nothing collides with."""
    return (
        f'<geom type="cylinder" size="{radius!r}" fromto="{numbers((*start, *end))}" '
        f'material="{material}" {VISUAL}/>'
    )


def box(centre: Vector, half: Vector, material: str) -> str:
    """Draw a box that nothing collides with."""
    return f'<geom type="box" size="{numbers(half)}" pos="{numbers(centre)}" material="{material}" {VISUAL}/>'
