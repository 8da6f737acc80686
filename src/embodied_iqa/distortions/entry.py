"""One line of the catalogue: a distortion, its five levels, and where their numbers come from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from numpy.random import Generator

from embodied_iqa.distortions.image import Image

__all__ = ["DistortionClass", "Entry", "Operator", "Source"]

Operator = Callable[..., Image]
"""``operator(image, rng, *parameters) -> image``, pure; ``rng`` is a ``numpy.random.Generator``."""


class DistortionClass(StrEnum):
    """What a distortion does to a picture, in the paper's words (and MIQD's, the last three)."""

    BLUR = "Blur"
    CHROMINANCE = "Chrominance"
    COMPRESSION = "Compression"
    NOISE = "Noise"
    LUMINANCE = "Luminance"
    SPATIAL = "Spatial"
    OTHERS = "Others"
    DIGITAL = "Digital"
    ENVIRONMENT = "Environment"


class Source(StrEnum):
    """Where a level's number comes from."""

    PAPER = "paper"
    KADID = "KADID-10k"
    CALIBRATION = "own calibration"
    MIQD = "MIQD"


@dataclass(frozen=True, slots=True)
class Entry:
    """A distortion of the catalogue.

    Attributes:
        id: ``"01"`` to ``"30"``, or ``"miqd:"`` and the name.
        name: Lower case with hyphens, such as ``gaussian-blur``.
        distortion_class: The class that the paper puts it into.
        parameter_names: Name of each parameter of the operator.
        parameters: One row a level, 1 to 5; a row has one value a name.
        unit: Unit of the parameters.
        source: Where the numbers come from.
        remark: What a reader of the numbers has to know.
        coherent: True where the few random draws set the look of the whole picture (a direction), so that
            all cameras of one robot must share them; False for what differs between sensors, such as noise.
        operator: What does it.
    """

    id: str
    name: str
    distortion_class: DistortionClass
    parameter_names: tuple[str, ...]
    parameters: tuple[tuple[float, ...], ...]
    unit: str
    source: Source
    operator: Operator
    remark: str = ""
    coherent: bool = False

    def apply(self, image: Image, level: int, rng: Generator) -> Image:
        """Distort a checked picture at ``level`` 1 to 5."""
        return self.operator(image, rng, *self.parameters[level - 1])


def single(*values: float) -> tuple[tuple[float, ...], ...]:
    """Return the five rows of a distortion that has one parameter."""
    return tuple((value,) for value in values)
