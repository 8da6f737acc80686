"""The loss over the epochs as a picture."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from embodied_iqa.panel.training.training_state import EpochResult

__all__ = ["save_curve"]

_WIDTH, _HEIGHT, _MARGIN = 420, 240, 40
_DECADES: Final = 0.05
"""Space above and below the curve, in decades."""


def save_curve(results: Sequence[EpochResult], title: str, path: Path) -> None:
    """Draw the loss (logarithmic) over the epochs as SVG, whole or not at all; nothing without epochs."""
    if not results:
        return
    logs = [math.log10(max(result.loss, 1e-6)) for result in results]
    low, high = min(logs) - _DECADES, max(logs) + _DECADES
    points = " ".join(
        f"{_x(index, len(logs)):.1f},{_y(value, low, high):.1f}" for index, value in enumerate(logs)
    )
    labels = "".join(
        f'<text x="4" y="{_y(value, low, high):.1f}">{10**value:.3g}</text>'
        for value in (min(logs), max(logs))
    )
    text = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{_HEIGHT}" '
        f'font-family="sans-serif" font-size="11"><rect width="100%" height="100%" fill="white"/>'
        f'<text x="{_WIDTH / 2}" y="16" text-anchor="middle" font-weight="bold">{title}: loss</text>{labels}'
        f'<text x="{_WIDTH / 2}" y="{_HEIGHT - 8}" text-anchor="middle">epoch 1 to {len(logs)}</text>'
        f'<polyline points="{points}" fill="none" stroke="#1f6fb4" stroke-width="2"/></svg>\n'
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_suffix(".partial")
    partial.write_text(text, encoding="utf-8")
    partial.replace(path)


def _x(index: int, count: int) -> float:
    return _MARGIN + (_WIDTH - 2 * _MARGIN) * index / max(1, count - 1)


def _y(value: float, low: float, high: float) -> float:
    return _HEIGHT - _MARGIN - (_HEIGHT - 2 * _MARGIN) * (value - low) / (high - low)
