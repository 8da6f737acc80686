"""Level of a distortion over time, of all views or of one: bursts, ramps, flicker, random faults.

A time course maps the time since a distortion was set to its level; 0 is no distortion. It depends on its
arguments only, so that the live node, a headless run and rescoring agree on every image.
"""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, Protocol

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.base.errors import UsageError
from embodied_iqa.base.units import SECOND_NS
from embodied_iqa.imaging.images.frame import parse_view

_SHORTEST_S: Final = 0.001
_LONGEST_S: Final = 86_400.0
_DRAWS: Final = 256
"""Spans of a random course that are drawn at a time."""
_FORMER_VIEW: Final = "camera"
FORMER_VIEW_NOTE: Final = "camera= of a schedule is now view=; version 0.2.0 no longer reads camera="


class TimeCourse(Protocol):
    """Level of a distortion over time."""

    @property
    def view(self) -> str:
        """The only view that is distorted; empty: every view."""
        ...

    def level_at(self, elapsed_ns: int, level: int) -> int:
        """Return the level at a time, from 0 (none) to ``level``.

        Args:
            elapsed_ns: Time since the distortion was set; before that the level is 0.
            level: The distortion's level.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class _OfView:
    """A time course of all views, or of one.

    Attributes:
        view: The only view that is distorted, such as top; empty: every view.
    """

    view: str = ""


@dataclass(frozen=True, slots=True)
class Burst(_OfView):
    """Distorted for a while, once or again and again.

    Attributes:
        start: Begin of the first burst [s].
        length: Length of a burst [s].
        every: From the begin of a burst to that of the next [s]; 0: only one.
    """

    start: float = 1.0
    length: float = 1.0
    every: float = 0.0

    def __post_init__(self) -> None:
        _check(self, "length")
        if self.every and self.every <= self.length:
            raise UsageError("bursts overlap", expected=f"every above length={self.length:g}", got=self.every)

    def level_at(self, elapsed_ns: int, level: int) -> int:
        """Return ``level`` during a burst, else 0."""
        since_ns = elapsed_ns - _ns(self.start)
        if self.every and since_ns >= 0:
            since_ns %= _ns(self.every)
        return level if 0 <= since_ns < _ns(self.length) else 0


@dataclass(frozen=True, slots=True)
class Ramp(_OfView):
    """Level after level in equal steps, up to the distortion's own, which stays.

    Attributes:
        start: Begin of level 1 [s].
        length: From there to the begin of the highest level [s].
    """

    start: float = 1.0
    length: float = 4.0

    def __post_init__(self) -> None:
        _check(self, "length")

    def level_at(self, elapsed_ns: int, level: int) -> int:
        """Return 0 before the start, then 1, 2, and so on."""
        since_ns = elapsed_ns - _ns(self.start)
        if since_ns < 0:
            return 0
        return min(level, 1 + since_ns * (level - 1) // _ns(self.length))


@dataclass(frozen=True, slots=True)
class Flicker(_OfView):
    """Periodically on and off, beginning with on.

    Attributes:
        period: Length of a period [s].
        on: Share of the period that is distorted, in (0, 1).
    """

    period: float = 0.5
    on: float = 0.5

    def __post_init__(self) -> None:
        _check(self, "period")
        if not 0 < self.on < 1:
            raise UsageError("wrong share of the flicker", expected="on between 0 and 1", got=self.on)

    def level_at(self, elapsed_ns: int, level: int) -> int:
        """Return ``level`` in the first part of each period, else 0."""
        period_ns = _ns(self.period)
        return level if elapsed_ns >= 0 and elapsed_ns % period_ns < round(self.on * period_ns) else 0


@dataclass(frozen=True, slots=True)
class Markov(_OfView):
    """Faults that come and go at random: a two-state Markov process in continuous time, beginning without.

    Attributes:
        on: Mean length of a fault [s].
        off: Mean length of the time between two faults [s].
        seed: Of the lengths, which are drawn from exponential distributions.
    """

    on: float = 0.5
    off: float = 2.0
    seed: int = 0

    def __post_init__(self) -> None:
        _check(self, "on", "off")
        if not 0 <= self.seed < 2**63:
            raise UsageError("seed out of range", expected="0 to 2**63 - 1", got=self.seed)

    def level_at(self, elapsed_ns: int, level: int) -> int:
        """Return ``level`` during a fault, else 0."""
        if elapsed_ns < 0:
            return 0
        block, ends_ns = 0, _span_ends_ns(self, 0)
        while ends_ns[-1] <= elapsed_ns:
            block += 1
            ends_ns = ends_ns[-1] + _span_ends_ns(self, block)
        return level if int(np.searchsorted(ends_ns, elapsed_ns, side="right")) % 2 else 0


KINDS: Final[Mapping[str, type[Burst | Ramp | Flicker | Markov]]] = {
    "burst": Burst,
    "ramp": Ramp,
    "flicker": Flicker,
    "markov": Markov,
}
"""Time courses by name."""


@lru_cache(maxsize=256)
def parse_time_course(word: str) -> TimeCourse:
    """Parse ``burst:start=2,length=1,every=5,view=top``; what is left out has its default.

    ``camera=top`` is the former word for ``view=top``.

    Raises:
        UsageError: Unknown course or parameter, or a wrong value.
    """
    name, _, rest = word.strip().partition(":")
    if name not in KINDS:
        raise UsageError("unknown schedule", got=name, available=KINDS)
    kind = KINDS[name]
    types = {field.name: str(field.type) for field in dataclasses.fields(kind)}
    types["view"] = types.pop("view")  # named last
    values: dict[str, float | int | str] = {}
    for part in filter(None, rest.split(",")):
        key, equals, text = (piece.strip() for piece in part.partition("="))
        if key == _FORMER_VIEW:
            warnings.warn(FORMER_VIEW_NOTE, DeprecationWarning, stacklevel=2)
            key = "view"
        if not equals or key not in types or key in values:
            raise UsageError(
                f"wrong parameter of {name}",
                expected="each once, as name=value",
                got=part,
                available=[*types],
            )
        values[key] = _value(f"{name}:{key}", text, types[key])
    return kind(**values)  # type: ignore[arg-type]  # each is checked against its field


def name_of(course: TimeCourse) -> str:
    """Return the word that `parse_time_course` reads as this course."""
    name = next(name for name, kind in KINDS.items() if isinstance(course, kind))
    values = dataclasses.asdict(course)  # type: ignore[call-overload]  # all kinds are dataclasses
    view = values.pop("view")
    words = [f"{key}={value!r}" for key, value in values.items()]
    if view:
        words.append(f"view={view}")
    return f"{name}:" + ",".join(words)


def canonical_schedule(word: str) -> str:
    """Return a schedule as `name_of` writes it, so that equal schedules are equal words; empty for none.

    Raises:
        UsageError: See `parse_time_course`.
    """
    return name_of(parse_time_course(word)) if word.strip() else ""


def has_former_word(word: str) -> bool:
    """Return whether a schedule names its view by the former word, ``camera=``."""
    parts = word.partition(":")[2].split(",")
    return any(part.partition("=")[0].strip() == _FORMER_VIEW for part in parts)


def _value(what: str, text: str, kind: str) -> float | int | str:
    if kind == "str":
        return str(parse_view(text))
    try:
        return int(text) if kind == "int" else float(text)
    except ValueError:
        expected = "a whole number" if kind == "int" else "a number"
        raise UsageError(f"wrong value of {what}", expected=expected, got=text) from None


def _check(course: _OfView, *positive: str) -> None:
    """Check the view of a course, and its times: those named must not be 0."""
    if course.view:
        parse_view(course.view)
    for field in dataclasses.fields(course):
        value = getattr(course, field.name)
        lowest = _SHORTEST_S if field.name in positive else 0.0
        if field.type == "float" and not lowest <= value <= _LONGEST_S:
            expected = f"{field.name} from {lowest:g} to {_LONGEST_S:g} s"
            raise UsageError("wrong schedule", expected=expected, got=value)


def _ns(seconds: float) -> int:
    return round(seconds * SECOND_NS)


@lru_cache(maxsize=256)
def _span_ends_ns(course: Markov, block: int) -> NDArray[np.int64]:
    """Return ``(_DRAWS,)`` ends of spans without and with a fault in turn, from the begin of the block."""
    rng = np.random.default_rng([course.seed, block])
    lengths_s = rng.exponential((course.off, course.on), (_DRAWS // 2, 2)).ravel()
    ends: NDArray[np.int64] = (
        (np.maximum(lengths_s, _SHORTEST_S) * SECOND_NS).round().astype(np.int64).cumsum()
    )
    ends.flags.writeable = False
    return ends
