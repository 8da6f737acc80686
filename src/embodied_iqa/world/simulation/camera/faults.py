"""Images that a camera drops, or delivers twice."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from embodied_iqa.base.config import ranged
from embodied_iqa.imaging.images.frame import View
from embodied_iqa.world.scenes.dimensions import CELL_VIEWS
from embodied_iqa.world.simulation.camera.sensor import seeded


class Fault(StrEnum):
    """What is wrong with the delivery of an image."""

    DROPPED = "dropped"
    """It never arrives."""
    REPEATED = "repeated"
    """The image before it arrives instead, with the new stamp."""


@dataclass(frozen=True, slots=True)
class FaultRates:
    """How often the delivery of an image fails.

    Attributes:
        dropped: Probability that an image is dropped.
        repeated: Probability that the image before it is delivered again.
    """

    dropped: float = ranged(0.0, 0.0, 0.5)
    repeated: float = ranged(0.0, 0.0, 0.5)

    @property
    def never(self) -> bool:
        """Whether every image is delivered once."""
        return self.dropped == self.repeated == 0

    def fault(self, seed: int, view: View, stamp_ns: int) -> Fault | None:
        """Return the fault of an image; it depends on the arguments only."""
        drawn = float(seeded((seed, CELL_VIEWS.index(view), stamp_ns, "delivery")).random())
        if drawn < self.dropped:
            return Fault.DROPPED
        return Fault.REPEATED if drawn < self.dropped + self.repeated else None
