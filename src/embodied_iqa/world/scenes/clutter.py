"""Clutter: flat things on the table that no task names, clear of the objects. They are only visual."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

import numpy as np


class ClutterKind(StrEnum):
    """Kinds of clutter."""

    PAPER = "paper"
    """A printed sheet."""
    CARD = "card"
    """A chequered card."""
    COIN = "coin"
    PEN = "pen"
    BOLT = "bolt"


@dataclass(frozen=True, slots=True)
class Clutter:
    """A flat thing on the table.

    Attributes:
        kind: Its kind.
        x_m: Centre in the base frame.
        y_m: Centre in the base frame.
        yaw_rad: Turn about the vertical.
        rgb: Its colour in [0, 1].
    """

    kind: ClutterKind
    x_m: float
    y_m: float
    yaw_rad: float
    rgb: tuple[float, float, float]


CLUTTER_RADIUS_M: Final[dict[ClutterKind, float]] = {
    ClutterKind.PAPER: 0.065,
    ClutterKind.CARD: 0.045,
    ClutterKind.COIN: 0.012,
    ClutterKind.PEN: 0.070,
    ClutterKind.BOLT: 0.022,
}
_KINDS: Final = tuple(CLUTTER_RADIUS_M)
MOST_OF_A_KIND: Final = 2
_MOST: Final = 4
_X_M: Final = (-0.74, -0.26)
_Y_M: Final = (-0.40, 0.40)
_GAP_M: Final = 0.008
_ATTEMPTS: Final = 20


def draw_clutter(
    rng: np.random.Generator, circles: Sequence[tuple[float, float, float]]
) -> tuple[Clutter, ...]:
    """Draw up to four things, at most two of a kind, where there is room.

    Args:
        rng: Source of the choices.
        circles: Centre and radius (m) of each object on the table.
    """
    taken = list(circles)
    drawn: list[Clutter] = []
    for _ in range(int(rng.integers(_MOST + 1))):
        kind = _KINDS[rng.integers(len(_KINDS))]
        grey, tint = rng.uniform(0.35, 0.9), rng.uniform(-0.08, 0.08, 3)
        red, green, blue = (float(value) for value in np.clip(grey + tint, 0.0, 1.0))
        yaw_rad, radius_m = float(rng.uniform(-np.pi, np.pi)), CLUTTER_RADIUS_M[kind]
        for _ in range(_ATTEMPTS):
            x, y = float(rng.uniform(*_X_M)), float(rng.uniform(*_Y_M))
            if all(np.hypot(x - u, y - v) >= radius_m + radius + _GAP_M for u, v, radius in taken):
                break
        else:
            continue
        if sum(item.kind is kind for item in drawn) < MOST_OF_A_KIND:
            taken.append((x, y, radius_m))
            drawn.append(Clutter(kind, x, y, yaw_rad, (red, green, blue)))
    return tuple(drawn)
