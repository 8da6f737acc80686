"""Calibration: the parameters that make level k look equally degraded for every type.

The drop of an image is the mean over the metrics of ``(perfect - value) / (perfect - worst)``: 0 for the
reference, about 1 where nothing of it is left. A level's target is the median over the types whose parameters
are published (KADID-10k) of their mean drop over the reference images. A parameter is then read off the
type's own curve of mean drop against parameter.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from zlib import crc32

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from embodied_iqa.base.errors import UsageError
from embodied_iqa.imaging.distortions.catalogue import catalogue
from embodied_iqa.imaging.distortions.entry import Entry, Source
from embodied_iqa.imaging.distortions.image import Image
from embodied_iqa.imaging.distortions.references import Reference
from embodied_iqa.imaging.distortions.spec import LEVELS
from embodied_iqa.quality.metrics import built_in

METRICS = MappingProxyType({"ssim": 0.0, "gmsd-colour": 0.35})
"""The metrics whose mean is aligned, each with its value where nothing of the reference is left."""

_REACHABLE = 0.92
"""A target above this share of the largest drop of a type counts as out of its reach."""


@dataclass(frozen=True, slots=True)
class Search:
    """Range in which a type's parameter is searched.

    Attributes:
        mildest: The end at which the image hardly changes.
        severest: The other end.
        logarithmic: Whether steps are equal ratios.
        whole: Whether the parameter is an integer.
    """

    mildest: float
    severest: float
    logarithmic: bool = True
    whole: bool = False

    def grid(self, count: int) -> NDArray[np.float64]:
        """Return ``count`` parameters from mildest to severest."""
        space = np.geomspace if self.logarithmic else np.linspace
        values = np.asarray(space(self.mildest, self.severest, count), dtype=np.float64)
        return np.unique(np.rint(values))[:: self.direction] if self.whole else values

    @property
    def direction(self) -> int:
        """1 where a larger parameter is more severe, else -1."""
        return 1 if self.severest > self.mildest else -1


SEARCHES = MappingProxyType(
    {
        "01": Search(0.4, 12.0),
        "03": Search(2.0, 60.0),
        "08": Search(1.1, 20.0),
        "11": Search(98.0, 1.0, logarithmic=False, whole=True),
        "17": Search(0.0001, 0.3),
        "20": Search(0.01, 0.7),
        "21": Search(0.01, 0.7),
        "23": Search(0.003, 3.0),
        "24": Search(0.003, 0.95),
        "25": Search(0.003, 0.95),
        "26": Search(0.003, 0.95),
        "30": Search(-0.15, 2.0, logarithmic=False),
    }
)
"""The calibrated types."""


@dataclass(frozen=True, slots=True)
class Curve:
    """Drop of a type by parameter, and its calibrated levels.

    Attributes:
        id: The type.
        parameters: From mildest to severest.
        drops: Mean drop at each parameter.
        levels: The parameter of levels 1 to 5.
        reached: Mean drop of each level, measured.
        out_of_reach: Levels whose target the type cannot reach; they are spaced evenly.
    """

    id: str
    parameters: tuple[float, ...]
    drops: tuple[float, ...]
    levels: tuple[float, ...]
    reached: tuple[float, ...]
    out_of_reach: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Calibration:
    """Result of a calibration.

    Attributes:
        references: Names of the images.
        targets: Target of the mean drop at levels 1 to 5.
        published: Mean drop at levels 1 to 5 of each type with published parameters.
        curves: One per calibrated type.
    """

    references: tuple[str, ...]
    targets: tuple[float, ...]
    published: MappingProxyType[str, tuple[float, ...]]
    curves: tuple[Curve, ...]


def _drop(name: str, reference: Image, distorted: Image) -> float:
    metric, worst = built_in(name), METRICS[name]
    value = metric.measure(distorted, reference)
    return (metric.info.perfect - value) / (metric.info.perfect - worst)


def _generator(distortion_id: str, reference: str) -> Generator:
    return np.random.default_rng([crc32(distortion_id.encode()), crc32(reference.encode())])


def mean_drop(kind: Entry, parameters: Sequence[float], references: Sequence[Reference]) -> float:
    """Return the mean drop of a distortion with the given parameters over the references.

    The same random numbers are used at every parameter, so that the curve is smooth.
    """
    drops = []
    for reference in references:
        distorted = kind.operator(reference.image, _generator(kind.id, reference.name), *parameters)
        drops.append(np.mean([_drop(name, reference.image, distorted) for name in METRICS]))
    return float(np.mean(drops))


def calibrate(references: Sequence[Reference], steps: int, on_type: Callable[[str], None]) -> Calibration:
    """Measure the published types, set the targets, and fit every calibrated type.

    Args:
        references: Clean images.
        steps: Parameters tried on each type's curve, at least 5.
        on_type: Called with the id of each finished type.

    Raises:
        UsageError: Too few steps or no images.
    """
    if steps < len(LEVELS) or not references:
        got = f"{len(references)} images, {steps} steps"
        raise UsageError("calibration needs images and at least 5 steps", got=got)
    published = {}
    for kind in catalogue():
        if kind.source is not Source.CALIBRATION:
            published[kind.id] = tuple(mean_drop(kind, row, references) for row in kind.parameters)
            on_type(kind.id)
    targets = np.median(np.array(list(published.values())), axis=0)
    curves = []
    for kind in catalogue():
        if kind.source is Source.CALIBRATION:
            curves.append(_fit(kind, SEARCHES[kind.id], targets, references, steps))
            on_type(kind.id)
    names = tuple(reference.name for reference in references)
    return Calibration(names, tuple(targets.tolist()), MappingProxyType(published), tuple(curves))


def _fit(
    kind: Entry,
    search: Search,
    targets: NDArray[np.float64],
    references: Sequence[Reference],
    steps: int,
) -> Curve:
    grid = search.grid(steps)
    drops = np.array([mean_drop(kind, (value,), references) for value in grid])
    aims = reachable_targets(targets, float(drops[0]), float(drops.max()))
    levels = _read_off(grid, drops, aims, search)
    return Curve(
        id=kind.id,
        parameters=tuple(grid.tolist()),
        drops=tuple(drops.tolist()),
        levels=tuple(levels.tolist()),
        reached=tuple(mean_drop(kind, (value,), references) for value in levels),
        out_of_reach=tuple(level for level in LEVELS if abs(aims[level - 1] - targets[level - 1]) > 1e-12),
    )


def reachable_targets(targets: NDArray[np.float64], smallest: float, largest: float) -> NDArray[np.float64]:
    """Return the targets, with those that a type cannot reach replaced by equal steps from or to its end."""
    below = int(np.count_nonzero(targets < smallest))
    kept = int(np.count_nonzero(targets <= _REACHABLE * largest))
    start = targets[kept - 1] if kept else smallest
    above = np.linspace(start, largest, len(targets) - kept + 1)[1:]
    aims = np.concatenate([targets[:kept], above])
    aims[:below] = np.linspace(smallest, aims[below], below + 1)[:-1] if below < len(aims) else smallest
    return aims


def _read_off(
    grid: NDArray[np.float64], drops: NDArray[np.float64], aims: NDArray[np.float64], search: Search
) -> NDArray[np.float64]:
    """Return the parameters at which the curve, made monotonic, reaches the aims; integers stay distinct."""
    rising = np.maximum.accumulate(drops) + np.arange(len(drops)) * 1e-9
    axis = np.log(grid) if search.logarithmic else grid
    found = np.interp(aims, rising, axis)
    levels = np.exp(found) if search.logarithmic else found
    if search.whole:
        levels = np.rint(levels)
        for index in range(1, len(levels)):
            if (levels[index] - levels[index - 1]) * search.direction < 1.0:
                levels[index] = levels[index - 1] + search.direction
        return levels
    return np.array([float(f"{level:.4g}") for level in levels])
