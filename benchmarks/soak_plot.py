"""Plot of `bench_soak.py`: memory of each process and latencies over time."""

from __future__ import annotations

from itertools import groupby
from typing import Final

import numpy as np
from soak_results import Soak

_COLOURS: Final = (
    "#2c7b5a",
    "#c43c30",
    "#3056a5",
    "#b8860b",
    "#7b3fa0",
    "#1f9bb0",
    "#8a5a2b",
    "#d0579b",
    "#555555",
)
_WIDTH, _HEIGHT, _LEFT, _PLOT = 820, 250, 60, 540


def plot(soak: Soak) -> str:
    """Return memory relative to the first warm part, and latencies of each minute, over time as an SVG."""
    minutes = [sample.at_s / 60.0 for sample in soak.samples]
    memory = {
        name: [
            (at, 100.0 * next((p.rss_mib for p in sample.processes if p.name == name), np.nan) / base)
            for at, sample in zip(minutes, soak.samples, strict=True)
        ]
        for name in soak.names
        if (base := soak.rss_mib(name, soak.warm)) > 0
    }
    latency: dict[str, list[tuple[float, float]]] = {"p50": [], "p99": []}
    for minute, samples in groupby(soak.samples, key=lambda sample: int(sample.at_s // 60)):
        values = [value for sample in samples for value in sample.latency_ms]
        if values:
            for name, value in zip(latency, np.percentile(values, [50, 99]), strict=True):
                latency[name].append((minute, float(value)))
    end = max(minutes[-1], 1e-3)
    size = f'width="{_WIDTH}" height="{2 * _HEIGHT}"'
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="sans-serif" font-size="11">',
        '<rect width="100%" height="100%" fill="white"/>',
        *_panel("resident memory [% of the warm part]", memory, end, 0, 50.0),
        *_panel("latency from world to verdict [ms]", latency, end, _HEIGHT, 0.0),
        f'<text x="{_LEFT + _PLOT / 2}" y="{2 * _HEIGHT - 6}" text-anchor="middle">time [min]</text></svg>\n',
    ]
    return "".join(parts)


def _panel(
    title: str, curves: dict[str, list[tuple[float, float]]], end: float, top: float, low: float
) -> list[str]:
    """Draw curves over a common axis, with their names on the right."""
    values = [y for curve in curves.values() for _, y in curve if np.isfinite(y)]
    high = 1.05 * max(values, default=1.0)
    floor, ceiling = top + _HEIGHT - 30, top + 24

    def place(x: float, y: float) -> str:
        return f"{_LEFT + _PLOT * x / end:.1f},{floor - (floor - ceiling) * (y - low) / (high - low):.1f}"

    parts = [f'<text x="8" y="{top + 14}" font-weight="bold" font-size="13">{title}</text>']
    for share in (0.0, 0.25, 0.5, 0.75, 1.0):
        x, across = place(end * share, low + (high - low) * share).split(",")
        value = low + (high - low) * share
        parts.append(
            f'<path d="M{_LEFT},{across}H{_LEFT + _PLOT}" stroke="#dddddd"/>'
            f'<text x="{_LEFT - 6}" y="{across}" text-anchor="end">{value:.0f}</text>'
            f'<text x="{x}" y="{floor + 14}" text-anchor="middle">{end * share:.0f}</text>'
        )
    for number, (name, curve) in enumerate(curves.items()):
        colour = _COLOURS[number % len(_COLOURS)]
        points = " ".join(place(x, max(y, low)) for x, y in curve if np.isfinite(y))
        y = ceiling + 4 + 16 * number
        parts.append(
            f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="1.3"/>'
            f'<text x="{_LEFT + _PLOT + 12}" y="{y}" fill="{colour}">{name}</text>'
        )
    return parts
