"""Calibration of the gate: bounds of a camera, estimated from clean frames of that camera."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.base.errors import InputError, UsageError
from embodied_iqa.imaging.images.frame import View
from embodied_iqa.quality.gate.bounds import SYMPTOMS, Bounds
from embodied_iqa.quality.gate.image_statistics import ImageStatistics, Statistic

MIN_FRAMES: Final = 20
"""Fewer frames do not show the ordinary range."""

_TAIL: Final = 0.005
_TINY: Final = 1e-9
_SHOULDER: Final = 0.1
_LONGEST_TAIL: Final = 3.0
"""Of the distance to the shoulder; 2.0 for a Gaussian, 2.9 for an exponential distribution."""


@dataclass(frozen=True, slots=True)
class Margins:
    """Distance of the bounds from the median.

    The spread of a side is the distance from the median to the 0.5th or 99.5th percentile of the clean
    frames, but at most three times that to the 10th or 90th, so that a few bad frames among the clean ones
    cannot open the gate, and at least the statistic's floor. The soft bound is ``soft`` spreads from the
    median, the hard one ``hard`` spreads; with 1, each statistic would trip on one clean frame in a hundred.

    Attributes:
        soft: Distance of the bound for HOLD in spreads, above 1.
        hard: Distance of the bound for REJECT in spreads, above that for HOLD.
    """

    soft: float = 1.8
    hard: float = 3.2

    def __post_init__(self) -> None:
        if not 1.0 < self.soft < self.hard < math.inf:
            raise UsageError(
                "wrong margins --soft and --hard",
                expected="1 < soft < hard",
                got=f"{self.soft:g}, {self.hard:g}",
            )


@dataclass(frozen=True, slots=True)
class _Scale:
    """Scale on which a statistic is spread, and its least spread.

    Attributes:
        logarithmic: For statistics that are ratios or energies: the bounds are then factors.
        floor: Least spread: of the natural logarithm, or in the statistic's unit.
        smallest: Added before the logarithm, in the statistic's unit.
    """

    logarithmic: bool
    floor: float
    smallest: float = 0.001

    def of(self, value: float) -> float:
        """Return a value on the scale; bounds that are infinite stay so."""
        return math.log(max(value + self.smallest, _TINY)) if self.logarithmic else value

    def back(self, place: float) -> float:
        """Return the value at a place on the scale."""
        return math.exp(place) - self.smallest if self.logarithmic else place


_SCALES: Final[dict[Statistic, _Scale]] = {
    Statistic.SHARPNESS: _Scale(logarithmic=True, floor=0.15, smallest=0.1),
    Statistic.EXPOSURE: _Scale(logarithmic=False, floor=0.02),
    Statistic.CLIPPED_DARK: _Scale(logarithmic=False, floor=0.005),
    Statistic.CLIPPED_BRIGHT: _Scale(logarithmic=False, floor=0.005),
    Statistic.CONTRAST: _Scale(logarithmic=True, floor=0.08, smallest=0.005),
    Statistic.NOISE: _Scale(logarithmic=True, floor=0.2, smallest=0.1),
    Statistic.BLOCKINESS: _Scale(logarithmic=True, floor=0.03),
    Statistic.DETAIL: _Scale(logarithmic=True, floor=0.1),
    Statistic.SPECKS: _Scale(logarithmic=False, floor=0.0005),
    Statistic.TONES: _Scale(logarithmic=False, floor=0.02),
    Statistic.REPEATED: _Scale(logarithmic=False, floor=0.02),
    Statistic.FLAT: _Scale(logarithmic=False, floor=0.004),
    Statistic.CHROMA: _Scale(logarithmic=True, floor=0.08, smallest=1.0),
    Statistic.CHROMA_DETAIL: _Scale(logarithmic=True, floor=0.15, smallest=0.01),
    Statistic.VIVIDNESS: _Scale(logarithmic=True, floor=0.08, smallest=1.0),
}


@dataclass(frozen=True, slots=True)
class GateCalibration:
    """The bounds of one camera at one resolution.

    Attributes:
        view: The camera.
        width_px: Of its images; statistics of another resolution cannot be compared.
        height_px: Of its images.
        bounds: For every statistic. Read-only.
        n_frames: Number of clean frames.
        provenance: Source of the frames.
        tolerated: Ranges of images with a disturbance that the gate lets pass, by its name. Read-only.
    """

    view: View
    width_px: int
    height_px: int
    bounds: Mapping[Statistic, Bounds]
    n_frames: int
    provenance: str
    tolerated: Mapping[str, Mapping[Statistic, Bounds]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        tolerated = {name: self._ordered(bounds) for name, bounds in self.tolerated.items()}
        object.__setattr__(self, "bounds", self._ordered(self.bounds))
        object.__setattr__(self, "tolerated", MappingProxyType(tolerated))

    def _ordered(self, bounds: Mapping[Statistic, Bounds]) -> Mapping[Statistic, Bounds]:
        missing = [statistic for statistic in Statistic if statistic not in bounds]
        if missing:
            raise InputError(f"the {self.view} camera's calibration lacks bounds", got=sorted(missing))
        return MappingProxyType({statistic: bounds[statistic] for statistic in Statistic})

    def tolerates(self, frame: ImageStatistics) -> bool:
        """Return whether an image lies on the way from the clean range to that of a tolerated disturbance.

        There must be one strength in [0, 1] at which every statistic is within the range between the two, on
        the scale on which it is spread. So a weaker disturbance passes too, but not one that resembles it in
        a few statistics only.
        """
        return any(self._strengths(frame, disturbed) for disturbed in self.tolerated.values())

    def excess(self, frame: ImageStatistics) -> float:
        """Return how far an image is beyond its worst bounds: 0 at a soft one, 1 at a hard one."""
        places = [0.0]
        for statistic, bounds in self.bounds.items():
            scale = _SCALES[statistic]
            value, *ends = map(scale.of, (frame.value(statistic), bounds.soft_low, bounds.soft_high))
            hard = map(scale.of, (bounds.hard_low, bounds.hard_high))
            for sign, soft, far in zip((-1.0, 1.0), ends, hard, strict=True):
                if math.isfinite(soft):
                    places.append(sign * (value - soft) / max(sign * (far - soft), _TINY))
        return max(places)

    def nearest(self, frame: ImageStatistics) -> str:
        """Return in words the statistic that is nearest to a soft bound, in floors of its spread."""
        places = []
        for statistic, bounds in self.bounds.items():
            scale, symptom = _SCALES[statistic], SYMPTOMS[statistic]
            value, digits = frame.value(statistic), symptom.digits
            for bound, meaning in ((bounds.soft_low, symptom.low), (bounds.soft_high, symptom.high)):
                if meaning is not None:
                    distance = abs(scale.of(bound) - scale.of(value)) / scale.floor
                    name = statistic.replace("_", " ")
                    places.append((distance, f"{name} {value:.{digits}f} to {bound:.{digits}f}: {meaning}"))
        return min(places)[1]

    def _strengths(self, frame: ImageStatistics, disturbed: Mapping[Statistic, Bounds]) -> bool:
        least, most = 0.0, 1.0
        for statistic in Statistic:
            scale, value = _SCALES[statistic], frame.value(statistic)
            for side, sign in (("soft_low", 1.0), ("soft_high", -1.0)):
                ends = (getattr(bounds[statistic], side) for bounds in (self.bounds, disturbed))
                clean, other = (sign * (scale.of(value) - scale.of(end)) for end in ends)
                if clean < 0 and other < 0:
                    return False
                if clean < 0 or other < 0:  # distances to the bound: zero at clean / (clean - other)
                    zero = clean / (clean - other)
                    least, most = (max(least, zero), most) if clean < 0 else (least, min(most, zero))
        return least <= most


def calibrate(
    view: View,
    frames: Sequence[ImageStatistics],
    provenance: str,
    margins: Margins | None = None,
    tolerated: Mapping[str, Sequence[ImageStatistics]] | None = None,
) -> GateCalibration:
    """Estimate the bounds of a camera.

    Args:
        view: The camera.
        frames: Statistics of clean frames of the camera at work, with the robot and the objects in many
            places; at least 20, hundreds are better.
        provenance: Source of the frames.
        margins: Distance of the bounds.
        tolerated: Statistics of frames with each disturbance that shall pass; as many.

    Raises:
        InputError: Too few frames, or frames of different sizes.
    """
    tolerated = tolerated or {}
    for name, some in (("clean", frames), *tolerated.items()):
        if len(some) < MIN_FRAMES:
            few = f"too few {name} frames of the {view} camera"
            raise InputError(few, expected=f"at least {MIN_FRAMES}", got=len(some))
    sizes = {(frame.width_px, frame.height_px) for frame in frames}
    if len(sizes) > 1:
        raise InputError(
            f"clean frames of the {view} camera differ in size",
            got=", ".join(f"{width}x{height}" for width, height in sorted(sizes)),
        )
    ((width_px, height_px),) = sizes
    bounds, *others = (_ranges(some, margins or Margins()) for some in (frames, *tolerated.values()))
    ranges = dict(zip(tolerated, others, strict=True))
    return GateCalibration(view, width_px, height_px, bounds, len(frames), provenance, ranges)


def seen_ranges(frames: Sequence[ImageStatistics], margin: float) -> dict[Statistic, tuple[float, float]]:
    """Return the lowest and highest value of each statistic, widened on its scale.

    Args:
        frames: Statistics of one image or more.
        margin: Share of the range by which each side is widened, beside the statistic's floor.
    """
    ranges = {}
    for statistic in Statistic:
        scale = _SCALES[statistic]
        places = [scale.of(frame.value(statistic)) for frame in frames]
        more = scale.floor + margin * (max(places) - min(places))
        low, high = scale.back(min(places) - more), scale.back(max(places) + more)
        ranges[statistic] = (max(low, 0.0), high)  # no statistic is negative
    return ranges


def _ranges(frames: Sequence[ImageStatistics], margins: Margins) -> dict[Statistic, Bounds]:
    return {
        statistic: _bounds(statistic, np.array([frame.value(statistic) for frame in frames]), margins)
        for statistic in Statistic
    }


def _bounds(statistic: Statistic, values: NDArray[np.float64], margins: Margins) -> Bounds:
    scale, symptom = _SCALES[statistic], SYMPTOMS[statistic]
    spreadable = np.log(values + scale.smallest) if scale.logarithmic else values
    median = float(np.median(spreadable))
    below, above = _spread(median - spreadable, scale.floor), _spread(spreadable - median, scale.floor)

    def at(side: str | None, distance: float) -> float:
        if side is None:
            return math.copysign(math.inf, distance)
        return scale.back(median + distance)

    return Bounds(
        hard_low=at(symptom.low, -margins.hard * below),
        soft_low=at(symptom.low, -margins.soft * below),
        soft_high=at(symptom.high, margins.soft * above),
        hard_high=at(symptom.high, margins.hard * above),
    )


def _spread(distances: NDArray[np.float64], floor: float) -> float:
    """Return the spread on the side of the median where ``distances`` are positive."""
    shoulder, tail = np.quantile(distances, [1 - _SHOULDER, 1 - _TAIL])
    return max(min(float(tail), _LONGEST_TAIL * float(shoulder)), floor)
