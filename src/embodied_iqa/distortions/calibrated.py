"""The parameters that `embodied-iqa distort calibrate` found: `calibrated.json`, next to this file."""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files

__all__ = ["calibrated_levels"]


@cache
def _table() -> dict[str, list[float]]:
    text = files("embodied_iqa.distortions").joinpath("calibrated.json").read_text(encoding="utf-8")
    table: dict[str, list[float]] = json.loads(text)["levels"]
    return table


def calibrated_levels(distortion_id: str) -> tuple[tuple[float, ...], ...]:
    """Return the calibrated parameter of each level, one row a level."""
    return tuple((float(value),) for value in _table()[distortion_id])
