"""Numbers, durations and names as text."""

from __future__ import annotations

import math
import re
from typing import Final

from embodied_iqa.base.errors import UsageError
from embodied_iqa.base.units import SECOND_NS
from embodied_iqa.data.analysis.resampling import FEWEST_REFERENCES
from embodied_iqa.imaging.distortions import entry
from embodied_iqa.imaging.distortions.spec import DistortionSpec

ABSENT: Final = "\N{EM DASH}"
"""Shown in place of a value that does not exist."""
_CONTROL: Final = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")
_PROPER_NAMES: Final = {
    "jpeg": "JPEG",
    "jpeg2000": "JPEG 2000",
    "webp": "WebP",
    "hsv": "HSV",
    "lab": "Lab",
    "cnn": "CNN",
}
_BRITISH: Final = {"color": "colour", "gray": "grey"}
"""Names of distortions are words of code; pages spell them as their prose does."""


def number(value: float | None, digits: int = 2, unit: str = "") -> str:
    """Return a number with its unit; ABSENT for None, and words for NaN and infinity."""
    if value is None:
        return ABSENT
    if not math.isfinite(value):
        return "not a number" if math.isnan(value) else "infinite"
    text = f"{value:.{digits}f}".replace("-", "\N{MINUS SIGN}")
    return f"{text}\N{NO-BREAK SPACE}{unit}" if unit else text


def seconds(duration_ns: int, digits: int = 2) -> str:
    """Return a duration such as "3.25 s"."""
    return number(duration_ns / SECOND_NS, digits, "s")


def share(value: float | None, whole: float) -> float | None:
    """Return a value in percent of the whole, in [0, 100]; None without a finite value."""
    if value is None or not math.isfinite(value):
        return None
    return round(min(100.0, max(0.0, 100 * value / whole)), 1)


def plural(count: int, noun: str) -> str:
    """Return a count with its noun: "1 frame", "3,000 frames"."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def interval_words(low: float | None, high: float | None, references: int) -> str:
    """Return a 95 % interval in words; why there is none where it was withheld."""
    if low is None or high is None or not (math.isfinite(low) and math.isfinite(high)):
        few = references < FEWEST_REFERENCES
        return f"no interval: {plural(references, 'reference')}" + f", {FEWEST_REFERENCES} are needed" * few
    return f"95\N{NO-BREAK SPACE}% {number(low)} to {number(high)}"


def certain_word(low: float | None, *, certain: bool) -> str:
    """Return whether a difference is certain; unknown without an interval."""
    return "unknown" if low is None else "yes" if certain else "no"


def clean_text(text: str) -> str:
    """Replace what HTML forbids: control characters and lone surrogates."""
    return _CONTROL.sub("\N{REPLACEMENT CHARACTER}", text)


def distortion_name(spec: DistortionSpec | None) -> str:
    """Return such as "Lens blur"; the number of an unknown distortion, "Reference run" for None."""
    if spec is None:
        return "Reference run"
    try:
        words = entry(spec.id).name.replace("_", "-").split("-")
    except UsageError:
        return f"Distortion {spec.id}"
    text = " ".join(_PROPER_NAMES.get(word, _BRITISH.get(word, word)) for word in words)
    return text if words[0] in _PROPER_NAMES else text[0].upper() + text[1:]


def distortion_label(distortion_id: str) -> str:
    """Return number and name: "02 Lens blur"."""
    return f"{distortion_id} {distortion_name(DistortionSpec(distortion_id, 1))}"
