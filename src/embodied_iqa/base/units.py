"""Nanoseconds in a day, a second and a millisecond."""

from __future__ import annotations

from typing import Final

SECOND_NS: Final = 1_000_000_000
MILLISECOND_NS: Final = 1_000_000
DAY_NS: Final = 24 * 3600 * SECOND_NS
