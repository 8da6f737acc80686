"""A distortion of the catalogue: its operator, its five levels and the source of their parameters."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from functools import cache, partial
from importlib.resources import files
from typing import Any, TypeAlias

from numpy.random import Generator

from embodied_iqa.imaging.distortions.image import Image

Operator: TypeAlias = Callable[..., Image]
"""``operator(image, rng, *parameters) -> image``, pure; ``rng`` is a ``numpy.random.Generator``."""


class DistortionClass(StrEnum):
    """Class of a distortion, named as in the paper (the last two as in MIQD)."""

    BLUR = "Blur"
    """Loss of detail by a lens or by motion."""
    CHROMINANCE = "Chrominance"
    """Changes of colour."""
    COMPRESSION = "Compression"
    """Artefacts of JPEG and its relatives."""
    NOISE = "Noise"
    """Noise, and what denoising leaves."""
    LUMINANCE = "Luminance"
    """Changes of brightness."""
    SPATIAL = "Spatial"
    """Lost, repeated or displaced blocks, jitter, and coarse pixels or grey levels."""
    OTHERS = "Others"
    """Sharpness and contrast."""
    DIGITAL = "Digital"
    """MIQD: contrast, JPEG and large pixels."""
    ENVIRONMENT = "Environment"
    """MIQD: darkness, fog and snow."""


class Source(StrEnum):
    """Source of the level parameters."""

    PAPER = "paper"
    """The paper of Embodied-IQA."""
    KADID = "KADID-10k"
    """The database KADID-10k."""
    CALIBRATION = "own calibration"
    """`embodied-iqa distort calibrate`."""
    MIQD = "MIQD"
    """The machine-vision catalogue."""
    OWN = "own"
    """A distortion of your own."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A distortion of the catalogue.

    Attributes:
        id: ``"01"`` to ``"30"``, or ``"miqd:"`` and the name. Of your own: any word, which
            ``"python:module:name"`` replaces when it is loaded.
        name: Lower case with hyphens, such as ``gaussian-blur``.
        distortion_class: The class in the paper.
        parameter_names: Names of the operator's parameters.
        parameters: One row per level, 1 to 5; one value per name.
        unit: Unit of the parameters.
        source: Source of the parameters.
        operator: The pure function ``operator(image, rng, *parameters) -> image``: the image ``(H, W, 3)``
            uint8 RGB, which it must not change, a ``numpy.random.Generator`` for all that is random, and the
            values of a level by the order of ``parameter_names``; it returns an image of the same shape.
        remark: Differences from the source.
        coherent: True where the few random draws set the look of the whole image (a direction), so that
            all cameras of one robot must share them; False for what differs between sensors, such as noise.
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
        """Distort a checked image at ``level`` 1 to 5."""
        return self.operator(image, rng, *self.parameters[level - 1])

    def named_parameters(self, level: int) -> dict[str, float]:
        """Return the parameters of ``level`` 1 to 5 by name."""
        return dict(zip(self.parameter_names, self.parameters[level - 1], strict=True))


def _published(  # noqa: PLR0917 - a row of the catalogue
    source: Source,
    distortion_id: str,
    distortion_class: DistortionClass,
    operator: Operator,
    unit: str,
    remark: str = "",
    *,
    coherent: bool = False,
    **levels: tuple[float, ...],
) -> Entry:
    """Return the entry of an operator, whose name it has, with five values for each parameter."""
    name = operator.__name__.replace("_", "-")
    names, rows = tuple(levels), tuple(zip(*levels.values(), strict=True))
    return Entry(distortion_id, name, distortion_class, names, rows, unit, source, operator, remark, coherent)


kadid = partial(_published, Source.KADID)
"""Returns an entry with the levels of KADID-10k."""
miqd = partial(_published, Source.MIQD)
"""Returns an entry with the levels of MIQD."""


@cache
def _calibrated_levels() -> dict[str, list[float]]:
    text = files("embodied_iqa.imaging.distortions").joinpath("calibrated.json").read_text(encoding="utf-8")
    levels: dict[str, list[float]] = json.loads(text)["levels"]
    return levels


def calibrated(  # noqa: PLR0917 - a row of the catalogue
    distortion_id: str,
    distortion_class: DistortionClass,
    operator: Operator,
    parameter: str,
    unit: str,
    remark: str,
    *,
    coherent: bool = False,
) -> Entry:
    """Return an entry with the levels that `embodied-iqa distort calibrate` found (``calibrated.json``)."""
    levels: dict[str, Any] = {parameter: tuple(map(float, _calibrated_levels()[distortion_id]))}
    entry = (distortion_id, distortion_class, operator, unit, remark)
    return _published(Source.CALIBRATION, *entry, coherent=coherent, **levels)
