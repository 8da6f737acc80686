"""Which joints each kind of object has, and so where its numbers are among the world's positions."""

from __future__ import annotations

from typing import Final

from embodied_iqa.tasks.vocabulary import Kind

__all__ = ["BEADS", "FIXED_KINDS", "FREE", "INNER_KINDS", "inner_offset", "positions_of"]

FREE: Final = 7
"""Positions of a body that moves freely: three of its centre (m), four of its quaternion (w x y z)."""

BEADS: Final = 10
"""Beads in a cup."""

FIXED_KINDS: Final = frozenset({Kind.SOCKET, Kind.MAT, Kind.KNOB, Kind.DRAWER})
"""Screwed to the table: they have no free joint."""

INNER_KINDS: Final = frozenset({Kind.BUTTON, Kind.KNOB, Kind.DRAWER})
"""They have a joint of their own: a cap's depth (m), a knob's turn (rad), a drawer's way out (m)."""


def inner_offset(kind: Kind) -> int:
    """Return where the kind's own joint is among the positions of such an object."""
    return 0 if kind in FIXED_KINDS else FREE


def positions_of(kind: Kind) -> int:
    """Return how many positions an object of this kind has; a cup's beads come after it."""
    beads = BEADS * FREE if kind is Kind.CUP else 0
    return inner_offset(kind) + (kind in INNER_KINDS) + beads
