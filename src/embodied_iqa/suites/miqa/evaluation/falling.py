"""Does a score fall when the levels of a distortion rise? By type, within each reference."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.data.analysis.paired import mean_of
from embodied_iqa.data.analysis.resampling import References
from embodied_iqa.imaging.distortions.region import region_combinations
from embodied_iqa.models.vision.predictions import VisionTask
from embodied_iqa.suites.miqa.evaluation.evaluation_results import ALL_TYPES, FallRow, Share
from embodied_iqa.suites.miqa.rows import MiqaRow

Array = NDArray[np.float64]
_FEWEST = 2
"""Images that can be in order."""


@dataclass(frozen=True, slots=True)
class _Order:
    """Scores of one type on one reference.

    Attributes:
        reference: Name of the reference.
        ordered: Share of the comparable pairs of images in which the worse one has the lower score.
        monotone: 1 if the score falls from each uniform level to the next, else 0.
    """

    reference: str
    ordered: float
    monotone: float


def fall_rows(
    task: VisionTask, rows: Sequence[MiqaRow], scores: dict[str, Array], *, draws: int = 500
) -> Iterator[FallRow]:
    """Yield a row for each metric and type, after each metric's row of all types.

    One image is worse than another of the same reference and type if neither level is lower and one is
    higher; images of which each has a higher level somewhere are not compared.

    Args:
        task: Of the labels.
        rows: N images.
        scores: ``(N,)`` of each metric, higher is better; NaN does not count.
        draws: Draws of references, for the intervals.
    """
    groups: dict[str, dict[str, list[int]]] = defaultdict(lambda: defaultdict(list))
    for place, row in enumerate(rows):
        groups[row.kind][row.reference].append(place)
    levels = np.array([(row.roi_level, row.background_level) for row in rows])
    kinds = np.array([row.kind for row in rows])
    for name, values in scores.items():
        orders = {
            kind: [_order(one, levels[places], values[places]) for one, places in sorted(of_kind.items())]
            for kind, of_kind in sorted(groups.items())
        }
        every = [order for kind in orders.values() for order in kind]
        for kind, found in ((ALL_TYPES, every), *orders.items()):
            chosen = (kinds == kind) | (kind == ALL_TYPES)
            means = _means(levels[chosen], values[chosen])
            ordered, monotone = _shares(found, draws)
            yield FallRow(name, task, kind, means, ordered, monotone, _references(found))


def _order(reference: str, levels: NDArray[np.int64], values: Array) -> _Order:
    known = np.isfinite(values)
    levels, values = levels[known], values[known]
    steps = levels[None] - levels[:, None]
    worse = (steps >= 0).all(axis=2) & (steps > 0).any(axis=2)
    falls = values[:, None] > values[None]
    ordered = float(falls[worse].mean()) if worse.any() else np.nan
    uniform = np.flatnonzero(levels[:, 0] == levels[:, 1])
    line = values[uniform[np.argsort(levels[uniform, 0])]]
    monotone = float((np.diff(line) < 0).all()) if len(line) >= _FEWEST else np.nan
    return _Order(reference, ordered, monotone)


def _means(levels: NDArray[np.int64], values: Array) -> tuple[float | None, ...]:
    """Return the mean at each pair of levels; None without an image."""
    known = np.isfinite(values)
    of_pairs = (values[known & (levels == pair).all(axis=1)] for pair in region_combinations())
    return tuple(float(found.mean()) if len(found) else None for found in of_pairs)


def _shares(orders: Sequence[_Order], draws: int) -> Iterator[Share]:
    references = References.drawn(np.array([order.reference for order in orders]), draws=draws)
    for word in ("ordered", "monotone"):
        mean = mean_of(np.array([getattr(order, word) for order in orders], np.float64), references)
        known = (end if np.isfinite(end) else None for end in (mean.value, mean.low, mean.high))
        yield Share(*known)


def _references(orders: Sequence[_Order]) -> int:
    return len({order.reference for order in orders if np.isfinite(order.monotone)})
