"""What is made of a benchmark, and all that it depends on."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from embodied_iqa.base.config import check_ranges, ranged
from embodied_iqa.base.jobs.engine import EngineOptions
from embodied_iqa.base.number_range import MAX_SEED
from embodied_iqa.suites.static_benchmark.benchmark import ITEMS_VERSION, MADE
from embodied_iqa.world.simulation.camera import DEFAULT_MODEL, CameraModel

ITEMS: Final = 1000
"""Made unless another number is given."""
_MOST_ITEMS: Final = 900_000
"""Indices stay below those of rotations."""


@dataclass(frozen=True, slots=True)
class MakePlan:
    """What is made.

    Attributes:
        items: Their number.
        seed: Of everything random.
        width_px: Of the images.
        height_px: Of the images.
        camera_model: Of the simulated images.
        engine: What runs the jobs; it does not change the items.
    """

    items: int = ranged(ITEMS, 1, _MOST_ITEMS)
    seed: int = ranged(0, 0, MAX_SEED)
    width_px: int = 480
    height_px: int = 360
    camera_model: CameraModel = DEFAULT_MODEL
    engine: EngineOptions = field(default_factory=EngineOptions)

    def __post_init__(self) -> None:
        check_ranges(self)

    @property
    def description(self) -> str:
        """Everything that the items depend on."""
        size = f"{self.width_px}x{self.height_px}"
        start = f"{MADE} {ITEMS_VERSION}, {self.items} items, seed {self.seed}"
        return f"{start}, {size}, camera model {self.camera_model}"
