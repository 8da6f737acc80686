"""Table of the scores of a trial."""

from __future__ import annotations

from collections.abc import Sequence

from rich.table import Table

from embodied_iqa.cli.output import console
from embodied_iqa.distortions import entry
from embodied_iqa.trial.scores import Cognition, Decision, Execution, RunScores


def results_table(runs: Sequence[RunScores]) -> None:
    """Print the scores of runs, one table per task."""
    tables: dict[str, Table] = {}
    for run in runs:
        if run.task not in tables:
            title = f"{run.task} (scene {run.scene_seed})"
            table = tables[run.task] = Table(title=title, title_justify="left", header_style="bold")
            table.add_column("run")
            for name in ("cognition", "decision", "execution", "pass/hold/reject", "lost"):
                table.add_column(name, justify="right")
            table.add_column("outcome")
        tables[run.task].add_row(*_cells(run))
    for table in tables.values():
        console().print(table)


def _cells(run: RunScores) -> list[str]:
    spec, gate, execution = run.distortion, run.gate, run.execution
    return [
        "reference" if spec is None else f"{spec.id}:{spec.level} {entry(spec.id).name}",
        _number(run.cognition, 3),
        _number(run.decision, 3),
        _number(execution, 1),
        f"{gate.passed}/{gate.hold}/{gate.reject}",
        str(run.frames.lost),
        (execution.outcome or "not executed").replace("_", " "),
    ]


def _number(part: Cognition | Decision | Execution | None, digits: int) -> str:
    return "-" if part is None or part.score is None else f"{part.score:.{digits}f}"
