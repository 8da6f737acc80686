"""Write the results page of the gate from stored experiments.

python scripts/write_gate_page.py EXPERIMENT --out docs/results/gate.md

`EXPERIMENT` is a folder of `embodied-iqa experiment --gate off,...`, finished or not: tasks that lack a run
of a distortion or a gate are left out, and the page says how many.
"""

from __future__ import annotations

import argparse
import math
import shlex
import sys
import textwrap
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from embodied_iqa.base.files import write_text_whole
from embodied_iqa.data.analysis.paired import Estimate
from embodied_iqa.pages.reports.experiment import detectors
from embodied_iqa.pages.reports.experiment.gate_arms import LEAD, TIMES, TITLES, headline
from embodied_iqa.pages.reports.experiment.goals import goals_of, goals_table, missed
from embodied_iqa.pages.reports.kit.formatting import ABSENT, distortion_label, number, plural
from embodied_iqa.pages.reports.kit.markdown import prose, titled_table
from embodied_iqa.pages.reports.kit.table import Column, Table
from embodied_iqa.runs.experiment.arms import OFF, ORACLE
from embodied_iqa.runs.experiment.folder import StoredExperiment, read_experiment
from embodied_iqa.runs.experiment.gate_arms import ALL, CLEAN, Comparison, Measure, MeasuredArm, compare_arms
from embodied_iqa.runs.experiment.plan import TASKS, ExperimentPlan
from embodied_iqa.runs.graph.node_table import resolve
from embodied_iqa.runs.peers.stored import ComparedDetectors, read_detectors

_NOT_SET: Final = {"vla_node.subject"}
"""Recorded parameters of nodes that other options set."""
_TITLE: Final = "What the gate prevents"
_ENOUGH_SCENES: Final = 100
_POLICIES: Final = (
    "Runs of each policy in the scenes in which it succeeds on undistorted images without a gate, with "
    "intervals at 95 % from drawing scenes. Time held is that of the camera behind the decisions."
)
_OF_POLICY: Final = (
    Measure.SUCCESS,
    Measure.WRONG_MOTIONS,
    Measure.EMERGENCY_STOPS,
    Measure.TIME_TO_FINISH,
    Measure.TIME_HELD,
    Measure.FALSE_HOLDS,
)


def main() -> int:
    """Read, compare, write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("experiment", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--note", default="", help="a sentence about how it was measured")
    parser.add_argument("--title", default=_TITLE, help="of the page")
    arguments = parser.parse_args()
    folder: Path = arguments.experiment
    parts = page(read_experiment(folder), read_detectors(folder), arguments.note, arguments.title)
    write_text_whole(arguments.out, "\n\n".join(parts) + "\n")
    return 0


def page(
    stored: StoredExperiment, peers: ComparedDetectors | None = None, note: str = "", title: str = _TITLE
) -> Iterator[str]:
    """Yield the paragraphs and tables of the page."""
    comparison = compare_arms(stored.rows, [arm.name for arm in stored.plan.arms])
    yield f"# {title}"
    if len(stored.plan.subjects) > 1:
        yield from _measured(stored, comparison, note)
        yield f"## By policy\n\n{prose(_POLICIES)}"
        compared = _compared_alone(stored)
        yield from (titled_table(_by_policy(compared, group)) for group in (ALL, CLEAN))
        return
    yield prose(headline(comparison))
    yield from _measured(stored, comparison, note)
    goals = goals_of(comparison)
    yield f"## Against the goals\n\n{goals_table(goals).markdown()}"
    few = f"Missed: {plural(stored.finished, 'scene')}, goal at least {_ENOUGH_SCENES}."
    misses = [*([few] if stored.finished < _ENOUGH_SCENES else []), *missed(goals)]
    if misses:
        yield "\n".join(prose(f"- {words}", indent="  ") for words in misses)
    yield f"## Each measure\n\n{prose(f'{LEAD} {TIMES}')}"
    for group in dict.fromkeys(item.group for item in comparison.measured):
        yield f"### {_heading(group)}"
        if group == ALL:
            yield titled_table(_availability(comparison))
        yield from (titled_table(table) for table in _tables(comparison, group))
    if peers is not None:
        found = detectors.chapter(peers)
        yield f"## {found.title}\n\n{prose(found.lead)}"
        yield from (titled_table(table) for part in found.parts for table in part.tables)


def _measured(stored: StoredExperiment, comparison: Comparison, note: str) -> Iterator[str]:
    """Yield what was run, what is left out, and the command."""
    plan = stored.plan
    whole = f"{stored.finished} of {plural(len(plan.tasks), 'scene')}"
    scenes = plural(stored.finished, "scene") if stored.finished == len(plan.tasks) else whole
    specs = [f"{distortion_label(spec.id)} at level {spec.level}" for spec in plan.distortions]
    schedules = sorted({spec.schedule or "constant level" for spec in plan.distortions})
    left_out = f" {plural(comparison.left_out, 'situation')} left out." if comparison.left_out else ""
    yield prose(
        f"Headless runs of {', '.join(map(str, plan.subjects))} in {scenes}, undistorted and with "
        f"{', '.join(specs)} ({', '.join(schedules)}), each repeated with {plural(len(plan.arms), 'gate')}: "
        f"{plural(len(stored.rows), 'run')}.{left_out}"
    )
    if note:
        yield prose(note)
    words = textwrap.wrap(
        command_of(plan, stored.parameters), 96, break_long_words=False, break_on_hyphens=False
    )
    yield "```\n" + " \\\n    ".join(words) + "\n```"
    guide = "[Compare gates](../experiment.md#compare-gates) is the guide."
    yield f"{guide}\n`scripts/write_gate_page.py EXPERIMENT --out PAGE` writes this page."


def command_of(plan: ExperimentPlan, parameters: dict[str, Any]) -> str:
    """Return the command of an experiment: its plan, and every parameter that is not the default."""
    tasks = list(dict.fromkeys(task.task for task in plan.tasks))
    usual = tuple(tasks) == TASKS[: len(tasks)]
    which = ["--tasks", str(len(tasks))] if usual else [w for task in tasks for w in ("--task", task)]
    words = ["embodied-iqa", "experiment", "--subjects", ",".join(map(str, plan.subjects)), *which]
    words += ["--scenes", str(len(plan.tasks) // len(tasks)), "--scene-seed", str(plan.tasks[0].scene_seed)]
    ids, levels, schedules = (
        list(dict.fromkeys(getattr(spec, name) for spec in plan.distortions))
        for name in ("id", "level", "schedule")
    )
    words += ["--distortions", ",".join(ids), "--levels", ",".join(map(str, levels))]
    words += [word for schedule in schedules if schedule for word in ("--schedule", schedule)]
    words += ["--gate", ",".join(arm.name for arm in plan.arms)]
    words += [word for setting in _settings(parameters) for word in ("--set", setting)]
    return shlex.join([*words, "--out", "results/gates"])


def _settings(parameters: dict[str, Any]) -> list[str]:
    """Return what `--set` sets; names that no parameter has, such as former ones, would be refused."""
    values = resolve((), {"gate_node.judge.mode": "off"}).values()
    usual = {f"{node}.{name}": value for node, own in values.items() for name, value in own.items()}
    return [
        f"{name}={_word(value)}"
        for name, value in parameters.items()
        if name in usual and name not in _NOT_SET and value != usual[name]
    ]


def _word(value: Any) -> str:
    return f"[{','.join(map(str, value))}]" if isinstance(value, list) else str(value)


def _heading(group: str) -> str:
    """Return the heading of a group of runs."""
    number_of, _, schedule = group.partition(" ")
    known = {ALL: "All distorted runs", CLEAN: "Undistorted runs"}
    return known.get(group) or f"{distortion_label(number_of)}, {schedule or 'constant level'}"


def _tables(comparison: Comparison, group: str) -> Iterator[Table]:
    """Yield values, differences to ``off`` and distances to the oracle, a column for each gate."""
    items = [item for item in comparison.measured if item.group == group]
    runs = f"{plural(items[0].runs, 'situation')} in {plural(items[0].scenes, 'scene')}."
    yield _by_gate(f"Values, {runs}", items, comparison.arms, lambda item: _cell(item.estimate))
    gates = [arm for arm in comparison.arms if arm != OFF.name]
    yield _by_gate("Minus off", items, gates, lambda item: _cell(item.difference, item.p_value))
    gates = [arm for arm in comparison.arms if arm != ORACLE.name]
    yield _by_gate("Distance to the oracle", items, gates, lambda item: _cell(item.to_oracle))


def _by_gate(
    title: str, items: Sequence[MeasuredArm], gates: Sequence[str], cell: Callable[[MeasuredArm], str]
) -> Table:
    cells = {(item.measure, item.arm): cell(item) for item in items}
    rows = [(TITLES[measure], *(cells[measure, gate] for gate in gates)) for measure in Measure]
    return Table("", title, [Column("Measure"), *map(Column, gates)], rows)


def _cell(estimate: Estimate | None, p_value: float | None = None) -> str:
    if estimate is None or math.isnan(estimate.value):
        return ABSENT
    words = number(estimate.value, 3)
    words += "" if math.isnan(estimate.low) else f" [{number(estimate.low, 3)}, {number(estimate.high, 3)}]"
    return words + ("" if p_value is None else f", p {number(p_value, 3)}")


def _compared_alone(stored: StoredExperiment) -> dict[str, Comparison]:
    """Return the gates compared on the runs of each policy."""
    arms = [arm.name for arm in stored.plan.arms]
    return {
        subject: compare_arms([row for row in stored.rows if row.subject == subject], arms)
        for subject in map(str, stored.plan.subjects)
    }


def _by_policy(compared: dict[str, Comparison], group: str) -> Table:
    """Return the main measures of every policy under every gate, over all distorted or the clean runs."""
    rows = []
    for subject, found in compared.items():
        for arm in found.arms:
            measured = [found.of(group, arm, measure) for measure in _OF_POLICY]
            values = (_cell(item.estimate) for item in measured)
            rows.append((subject, arm, str(measured[0].runs), *values))
    names = ["Policy", "Gate", "Runs", *(TITLES[measure] for measure in _OF_POLICY)]
    return Table("", _heading(group), list(map(Column, names)), rows)


def _availability(comparison: Comparison) -> Table:
    """Return the numbers of the plot of the risk against the availability."""
    risk = {arm: comparison.of(ALL, arm, Measure.WRONG_MOTIONS) for arm in comparison.arms}
    held = {arm: comparison.of(ALL, arm, Measure.FALSE_HOLDS).estimate for arm in comparison.arms}
    return Table.of(
        "Risk against availability",
        comparison.arms,
        {
            Column("Gate"): lambda arm: arm,
            Column("Risk: wrong motions a run"): lambda arm: _cell(risk[arm].estimate),
            Column("Availability: undistorted frames that pass"): lambda arm: _cell(_passing(held[arm])),
        },
        "Frames after a burst count as undistorted: a gate that recovers late has a low availability.",
    )


def _passing(held: Estimate) -> Estimate:
    return Estimate(1 - held.value, 1 - held.high, 1 - held.low)


if __name__ == "__main__":
    sys.exit(main())
