"""Goals of a gate under bursts, and what each gate reaches of them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from embodied_iqa.data.analysis.paired import Estimate
from embodied_iqa.pages.reports.kit.formatting import number, plural
from embodied_iqa.pages.reports.kit.page import Chapter, Part
from embodied_iqa.pages.reports.kit.table import Column, Table
from embodied_iqa.runs.experiment.arms import OFF
from embodied_iqa.runs.experiment.gate_arms import ALL, CLEAN, Comparison, Measure

_PERCENT: Final = 100.0
_ENOUGH_SCENES: Final = 100
NOT_SHOWN: Final = "not shown"
"""The measured value reaches a goal, but its interval does not."""


@dataclass(frozen=True, slots=True)
class Goal:
    """A goal and what a gate reaches of it.

    Attributes:
        gate: Name of the arm.
        what: What is measured.
        percent: Measured, with the ends of its 95 % interval; NaN where it cannot be, such as a cut of what
            does not happen without a gate, or the ends of a cut of what may as well not happen.
        bound: Of the goal [%].
        at_least: Whether the value shall be at least the bound, else at most.
    """

    gate: str
    what: str
    percent: Estimate
    bound: float
    at_least: bool

    @property
    def interval(self) -> str:
        """Both ends; empty where they are not known."""
        low, high = self.percent.low, self.percent.high
        return "" if math.isnan(low) or math.isnan(high) else f"{number(low, 1)} to {number(high, 1)}"

    @property
    def words(self) -> str:
        """The goal."""
        return f"at {'least' if self.at_least else 'most'} {self.bound:g} %"

    @property
    def reached(self) -> str | None:
        """``yes`` if the whole interval is, ``no`` if the measured value is not; None if not measured."""
        if math.isnan(self.percent.value):
            return None
        if not self._holds(self.percent.value):
            return "no"
        return "yes" if self._holds(self.percent.low if self.at_least else self.percent.high) else NOT_SHOWN

    def _holds(self, percent: float) -> bool:
        return percent >= self.bound if self.at_least else percent <= self.bound


def goals_of(comparison: Comparison) -> list[Goal]:
    """Return the goals of every gate; none without the arm ``off``, or where no match counts."""
    if OFF.name not in comparison.arms or all(item.group != CLEAN for item in comparison.measured):
        return []
    return [goal for arm in comparison.arms if arm != OFF.name for goal in _of(comparison, arm)]


def _of(comparison: Comparison, arm: str) -> Iterator[Goal]:
    for measure, what in (
        (Measure.WRONG_MOTIONS, "wrong motions cut"),
        (Measure.EMERGENCY_STOPS, "emergency stops cut"),
    ):
        off, own = (comparison.of(ALL, name, measure).estimate for name in (OFF.name, arm))
        yield Goal(arm, what, _cut(off, own), 80.0, at_least=True)
    off = comparison.of(ALL, OFF.name, Measure.TIME_TO_FINISH).estimate
    longer = comparison.of(ALL, arm, Measure.TIME_TO_FINISH).difference
    yield Goal(arm, "longer time to finish, median", _share(longer, off.value), 10.0, at_least=False)
    lost = _share(comparison.of(CLEAN, arm, Measure.SUCCESS).difference, -1.0)
    yield Goal(arm, "success lost on undistorted runs", lost, 1.0, at_least=False)


def _cut(off: Estimate, own: Estimate) -> Estimate:
    """Return by how much an arm cuts what happens without a gate [%].

    Each end combines opposite ends of both intervals, which covers at least 95 %.
    """
    value = 1 - own.value / off.value if off.value > 0 else math.nan
    ends = (1 - own.high / off.low, 1 - own.low / off.high) if off.low > 0 else (math.nan, math.nan)
    return Estimate(*(_PERCENT * share for share in (value, *ends)))


def _share(difference: Estimate | None, whole: float) -> Estimate:
    """Return a difference with its ends as a share of a number [%]."""
    if difference is None:
        return Estimate(math.nan, math.nan, math.nan)
    value, *ends = (
        _PERCENT * one / whole + 0.0 for one in (difference.value, difference.low, difference.high)
    )  # + 0.0: no minus zero
    return Estimate(value, min(ends), max(ends))


def goals_table(goals: Sequence[Goal]) -> Table:
    """Return the goals as a table."""
    return Table.of(
        "Goals",
        goals,
        {
            Column("Gate"): lambda goal: goal.gate,
            Column("Goal"): lambda goal: f"{goal.what}: {goal.words}",
            Column("Measured (%)", 1): lambda goal: goal.percent.value,
            Column("95 % interval (%)", name="interval"): lambda goal: goal.interval,
            Column("Reached"): lambda goal: goal.reached,
        },
        name="gate_goals",
    )


def chapter(goals: Sequence[Goal], scenes: int) -> Chapter:
    """Return the chapter; ``scenes`` is the number of finished ones."""
    few = f"Missed: {plural(scenes, 'scene')}, goal at least {_ENOUGH_SCENES}."
    words = [*([few] if scenes < _ENOUGH_SCENES else []), *missed(goals)]
    return Chapter("goals", "Against the goals", " ".join(words), "", (Part("", (goals_table(goals),)),))


def missed(goals: Sequence[Goal]) -> Iterator[str]:
    """Yield each goal that is missed, not shown or not measured, in words."""
    for goal in goals:
        if goal.reached == "no":
            value = number(goal.percent.value, 1)
            yield f"Missed by `{goal.gate}`: {goal.what} {value} %, goal {goal.words}."
    unsure = dict.fromkeys(goal.what for goal in goals if goal.reached == NOT_SHOWN)
    if unsure:
        yield f"Not shown, because the interval does not reach the goal: {', '.join(unsure)}."
    unknown = sorted({goal.what for goal in goals if goal.reached is None})
    if unknown:
        yield f"Not measured, as none happened without a gate or nothing tells: {', '.join(unknown)}."
