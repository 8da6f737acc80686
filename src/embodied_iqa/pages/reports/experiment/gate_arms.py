"""Chapter: what each gate prevents, and what it costs."""

from __future__ import annotations

import math
from collections.abc import Collection
from typing import Final

from embodied_iqa.data.analysis.paired import Estimate
from embodied_iqa.pages.reports.kit.formatting import ABSENT, number
from embodied_iqa.pages.reports.kit.page import Chapter, Part
from embodied_iqa.pages.reports.kit.scatter_plot import Point, ScatterPlot, place_points
from embodied_iqa.pages.reports.kit.table import Column, Table
from embodied_iqa.runs.experiment.gate_arms import ALL, CLEAN, Comparison, Measure, MeasuredArm

TITLES: Final = {
    Measure.SUCCESS: "success",
    Measure.WRONG_MOTIONS: "wrong motions a run",
    Measure.EMERGENCY_STOPS: "emergency stops a run",
    Measure.PEAK_CONTACT: "peak contact force (N)",
    Measure.TIME_TO_FINISH: "median time to finish (s)",
    Measure.TIME_HELD: "time held (s)",
    Measure.FALSE_HOLDS: "undistorted frames held",
}
LEAD: Final = (
    "Runs of one match have the same subject, task, scene, distortion, seed and schedule; a match does not "
    "count if the policy fails on undistorted images without the gate. Intervals: 95 % from drawing scenes "
    "again with replacement, the same draw for all gates; where all runs are alike, that of a share of which "
    "no scene differs (Clopper and Pearson). Differences are the gate minus off in the same "
    "runs; p is that of McNemar's exact test. The oracle passes exactly while the level in force is 0."
)
TIMES: Final = (
    "Time to finish: median over the successful runs of a gate; its differences are medians over the "
    "runs that succeed both with it and with off."
)
_DISTORTED: Final = "All distorted runs"
_UNDISTORTED: Final = "Undistorted runs"
_MAIN: Final = {Measure.SUCCESS, Measure.WRONG_MOTIONS, Measure.EMERGENCY_STOPS, Measure.FALSE_HOLDS}
_AVAILABILITY: Final = (
    "Frames after a burst count as undistorted: a gate that recovers late has a low availability."
)
_AVAILABILITY_STEP, _RISK_STEP = 0.1, 0.1


def chapter(comparison: Comparison) -> Chapter:
    """Return the chapter."""
    plots = tuple(filter(None, [risk_against_availability(comparison)]))
    groups = dict.fromkeys(item.group for item in comparison.measured)
    parts = [
        Part(
            _DISTORTED,
            (_table(comparison, ALL, "gate_arms", _DISTORTED, TIMES), _availability(comparison)),
            scatters=plots,
        ),
        *(
            [Part(_UNDISTORTED, (_table(comparison, CLEAN, "gate_arms_clean", _UNDISTORTED),))]
            if CLEAN in groups
            else []
        ),
        Part(
            "By distortion",
            (
                _by_distortion(comparison, _MAIN, "gate_arms_by_distortion", "By distortion"),
                _by_distortion(
                    comparison, set(Measure) - _MAIN, "gate_arms_by_distortion_more", "Force and times"
                ),
            ),
        ),
    ]
    return Chapter("gate", "What does the gate prevent, and what does it cost?", LEAD, "", tuple(parts))


def risk_against_availability(comparison: Comparison) -> ScatterPlot | None:
    """Return the plot of wrong motions a run against the share of undistorted frames that pass."""
    points = []
    for arm in comparison.arms:
        risk = comparison.of(ALL, arm, Measure.WRONG_MOTIONS).estimate
        available = 1.0 - comparison.of(ALL, arm, Measure.FALSE_HOLDS).estimate.value
        text = f"{arm}: {estimate_text(risk)} wrong motions a run, {number(available, 3)} available"
        points.append(Point(available, risk.value, arm, text))
    plot = ScatterPlot(
        "Risk against availability", "decision",
        "share of undistorted frames that pass", "wrong motions a run", tuple(points),
    )  # fmt: skip
    return place_points(plot, _AVAILABILITY_STEP, _RISK_STEP)


def _availability(comparison: Comparison) -> Table:
    """Return the numbers of the plot of the risk against the availability."""
    risk = {arm: comparison.of(ALL, arm, Measure.WRONG_MOTIONS).estimate for arm in comparison.arms}
    held = {arm: comparison.of(ALL, arm, Measure.FALSE_HOLDS).estimate for arm in comparison.arms}
    return Table.of(
        "Risk against availability",
        comparison.arms,
        {
            Column("Gate"): lambda arm: arm,
            Column("Wrong motions a run", name="risk"): lambda arm: estimate_text(risk[arm]),
            Column("Undistorted frames that pass", name="availability"): lambda arm: estimate_text(
                Estimate(1 - held[arm].value, 1 - held[arm].high, 1 - held[arm].low)
            ),
        },
        _AVAILABILITY,
        name="gate_availability",
    )


def _table(comparison: Comparison, group: str, name: str, title: str, note: str = "") -> Table:
    items = [item for item in comparison.measured if item.group == group]
    order = list(Measure)
    items.sort(key=lambda item: order.index(item.measure))
    return Table.of(
        title,
        items,
        {Column("Measure"): lambda item: TITLES[item.measure], Column("Gate"): lambda item: item.arm}
        | _NUMBERS,
        note,
        name=name,
    )


def _by_distortion(comparison: Comparison, shown: Collection[Measure], name: str, title: str) -> Table:
    items = [item for item in comparison.measured if item.group not in {ALL, CLEAN} and item.measure in shown]
    return Table.of(
        title,
        items,
        {
            Column("Distortion"): lambda item: item.group,
            Column("Measure"): lambda item: TITLES[item.measure],
            Column("Gate"): lambda item: item.arm,
        }
        | _NUMBERS,
        name=name,
    )


def _cell(estimate: Estimate | None) -> float | None:
    return None if estimate is None else estimate.value


_NUMBERS: Final = {
    Column("Runs"): lambda item: item.runs,
    Column("Scenes"): lambda item: item.scenes,
    Column("Value", 3): lambda item: item.estimate.value,
    Column("95 %", name="interval"): lambda item: _interval(item.estimate),
    Column("Minus off", 3): lambda item: _cell(item.difference),
    Column("95 % of the difference", name="difference_interval"): lambda item: _interval(item.difference),
    Column("p", 4): lambda item: item.p_value,
    Column("Minus oracle", 3): lambda item: _cell(item.to_oracle),
    Column("95 % of the distance", name="oracle_interval"): lambda item: _interval(item.to_oracle),
}


def _interval(estimate: Estimate | None) -> str:
    if estimate is None or math.isnan(estimate.low):
        return ""
    return f"{number(estimate.low, 3)} to {number(estimate.high, 3)}"


def estimate_text(estimate: Estimate) -> str:
    """Return an estimate with its interval: "0.200 (0.000 to 0.400)"; `ABSENT` where it is undefined."""
    if math.isnan(estimate.value):
        return ABSENT
    between = _interval(estimate)
    return number(estimate.value, 3) + (f" ({between})" if between else "")


def headline(comparison: Comparison) -> str:
    """Return the main result in one sentence."""
    gates = [arm for arm in comparison.arms if arm not in {"off", "oracle"}]
    risks = {arm: comparison.of(ALL, arm, Measure.WRONG_MOTIONS) for arm in gates}
    known: list[MeasuredArm] = [item for item in risks.values() if not math.isnan(item.estimate.value)]
    if not known:
        return f"{len(comparison.arms)} gates on the same runs."
    best = min(known, key=lambda item: (item.estimate.high, item.estimate.value))
    if math.isnan(best.estimate.high):
        return f"Too few scenes for an interval; {best.arm}: {number(best.estimate.value, 3)} wrong motions."
    fewer = best.difference
    against = "" if fewer is None else f", and at least {number(-fewer.high, 3)} fewer than without a gate"
    if fewer is not None and fewer.high >= 0:
        against = ", which need not be fewer than without a gate"
    return (
        f"With {best.arm} at most {number(best.estimate.high, 3)} wrong motions a run{against} "
        f"(ends of 95 % intervals; measured: {number(best.estimate.value, 3)})."
    )
