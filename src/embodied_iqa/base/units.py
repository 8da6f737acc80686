"""Nanoseconds in a second and in a millisecond."""

from __future__ import annotations

from typing import Final

SECOND_NS: Final = 1_000_000_000
MILLISECOND_NS: Final = 1_000_000
