"""Scores of a trial on the terminal: notes, subjects, and a table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from rich.table import Table

from embodied_iqa.arm.verdict import GateMode
from embodied_iqa.cli.output import breakable, console, printable, table_of
from embodied_iqa.imaging.distortions import entry
from embodied_iqa.runs.graph.session_results import SessionScores
from embodied_iqa.runs.trial.scores import NO_END, Cognition, Decision, Execution, RunScores

_NUMBERS: Final = ("cognition", "decision", "execution", "pass / hold / reject", "lost")


def print_scores(scores: SessionScores) -> None:
    """Print the notes of a session, whose answers and decisions are scored, and the scores."""
    for remark in scores.remarks:
        print(f"note: {remark}")
    roles = ("VLM", scores.subjects.vlm), ("VLA", scores.subjects.vla)
    if named := [f"{role} {printable(name)}" for role, names in roles for name in names]:
        print(f"subjects: {', '.join(named)}")
    results_table(scores.runs)


def results_table(runs: Sequence[RunScores]) -> None:
    """Print the scores of runs, one table per task."""
    tables: dict[str, Table] = {}
    for run in runs:
        scene = "" if run.scene_seed is None else f"scene {run.scene_seed}"
        about = ", ".join(filter(None, (scene, "gate on" if run.gate.mode is GateMode.ON else "")))
        title = f"{run.task} ({about})" if about else run.task
        if title not in tables:
            tables[title] = table_of("run", *_NUMBERS, "outcome", title=title, right=_NUMBERS)
        tables[title].add_row(*_cells(run))
    for table in tables.values():
        console().print(table)


def _cells(run: RunScores) -> list[str]:
    spec, gate, execution = run.distortion, run.gate, run.execution
    return [
        "reference"
        if spec is None
        else f"{spec.id}:{spec.level} {entry(spec.id).name} {breakable(spec.schedule)}".rstrip(),
        _number(run.cognition, 3),
        _number(run.decision, 3),
        _number(execution, 1),
        "-" if gate.passed is None else f"{gate.passed}/{gate.hold}/{gate.reject}",
        str(run.frames.lost),
        _outcome(execution),
    ]


def _outcome(execution: Execution) -> str:
    if execution.outcome is None:
        return "cut off" if execution.reason == NO_END else "not executed"
    return execution.outcome.replace("_", " ")


def _number(part: Cognition | Decision | Execution | None, digits: int) -> str:
    return "-" if part is None or part.score is None else f"{part.score:.{digits}f}"
