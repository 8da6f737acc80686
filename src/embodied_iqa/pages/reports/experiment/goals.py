"""Goals of a gate under bursts, and what each gate reaches of them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from embodied_iqa.pages.reports.kit.formatting import number, plural
from embodied_iqa.pages.reports.kit.page import Chapter, Part
from embodied_iqa.pages.reports.kit.table import Column, Table
from embodied_iqa.runs.experiment.arms import OFF
from embodied_iqa.runs.experiment.gate_arms import ALL, CLEAN, Comparison, Measure

_PERCENT: Final = 100.0
_ENOUGH_SCENES: Final = 100


@dataclass(frozen=True, slots=True)
class Goal:
    """A goal and what a gate reaches of it.

    Attributes:
        gate: Name of the arm.
        what: What is measured.
        percent: Measured; NaN where it cannot be, such as a cut of what does not happen without a gate.
        bound: Of the goal [%].
        at_least: Whether the value shall be at least the bound, else at most.
    """

    gate: str
    what: str
    percent: float
    bound: float
    at_least: bool

    @property
    def words(self) -> str:
        """The goal."""
        return f"at {'least' if self.at_least else 'most'} {self.bound:g} %"

    @property
    def met(self) -> bool | None:
        """Whether it is reached; None where it cannot be measured."""
        if math.isnan(self.percent):
            return None
        return self.percent >= self.bound if self.at_least else self.percent <= self.bound


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
        off, own = (comparison.of(ALL, name, measure).estimate.value for name in (OFF.name, arm))
        cut = _PERCENT * (1 - own / off) if off > 0 else math.nan
        yield Goal(arm, what, cut, 80.0, at_least=True)
    off = comparison.of(ALL, OFF.name, Measure.TIME_TO_FINISH).estimate.value
    longer = comparison.of(ALL, arm, Measure.TIME_TO_FINISH).difference
    share = math.nan if longer is None else _PERCENT * longer.value / off
    yield Goal(arm, "longer time to finish, median", share, 10.0, at_least=False)
    lost = comparison.of(CLEAN, arm, Measure.SUCCESS).difference
    share = math.nan if lost is None else 0.0 - _PERCENT * lost.value
    yield Goal(arm, "success lost on undistorted runs", share, 1.0, at_least=False)


def goals_table(goals: Sequence[Goal]) -> Table:
    """Return the goals as a table."""
    return Table.of(
        "Goals",
        goals,
        {
            Column("Gate"): lambda goal: goal.gate,
            Column("Goal"): lambda goal: f"{goal.what}: {goal.words}",
            Column("Measured (%)", 1): lambda goal: goal.percent,
            Column("Reached"): lambda goal: {True: "yes", False: "no", None: None}[goal.met],
        },
        name="gate_goals",
    )


def chapter(goals: Sequence[Goal], scenes: int) -> Chapter:
    """Return the chapter; ``scenes`` is the number of finished ones."""
    few = f"Missed: {plural(scenes, 'scene')}, goal at least {_ENOUGH_SCENES}."
    words = [*([few] if scenes < _ENOUGH_SCENES else []), *missed(goals)]
    return Chapter("goals", "Against the goals", " ".join(words), "", (Part("", (goals_table(goals),)),))


def missed(goals: Sequence[Goal]) -> Iterator[str]:
    """Yield each missed goal, and each that could not be measured, in words."""
    for goal in goals:
        if goal.met is False:
            yield f"Missed by `{goal.gate}`: {goal.what} {number(goal.percent, 1)} %, goal {goal.words}."
    unknown = sorted({goal.what for goal in goals if goal.met is None})
    if unknown:
        yield f"Not measured, because none happened without a gate: {', '.join(unknown)}."
