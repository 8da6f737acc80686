"""The whole page from the tasks of a run."""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence
from pathlib import Path

from embodied_iqa import __version__
from embodied_iqa.errors import InputError
from embodied_iqa.images.frame import View
from embodied_iqa.recording.reader import TrialReader
from embodied_iqa.reports.kit.formatting import ABSENT, clean_text, number, plural
from embodied_iqa.reports.kit.picture_encoding import bytes_for_each
from embodied_iqa.reports.trial.headline import headline
from embodied_iqa.reports.trial.page_model import Page, RunPage, TaskPage, Tile
from embodied_iqa.reports.trial.page_pictures import moment_of
from embodied_iqa.reports.trial.page_runs import run_page
from embodied_iqa.reports.trial.page_scores import mean_share, recipes
from embodied_iqa.reports.trial.recorded_shots import Shot, Window, shots_at
from embodied_iqa.reports.trial.report_input import ReportedTask, RunContext
from embodied_iqa.scoring.execution import Outcome
from embodied_iqa.trial.record import RunRecord
from embodied_iqa.trial.scores import RunScores

__all__ = ["build_page"]


def build_page(tasks: Sequence[ReportedTask], folder: Path, context: RunContext) -> Page:
    """Put the page together; pictures are read from the recordings.

    Args:
        tasks: What was run.
        folder: Where the page will lie; recordings are named from there.
        context: Where it comes from.
    """
    most_bytes = bytes_for_each(_picture_count(tasks))
    date = context.date
    return Page(
        run_id=context.run_id,
        headline=headline(tasks),
        subtitle=_subtitle(tasks),
        date=date.strftime("%-d %B %Y, %H:%M %Z").strip() if date else "Date not recorded",
        machine_date=date.isoformat() if date else "",
        tiles=_tiles(tasks),
        remarks=context.remarks,
        tasks=tuple(_task_page(task, number, folder, most_bytes) for number, task in enumerate(tasks, 1)),
        recipes=recipes(),
        versions=tuple(context.versions.items()),
        seeds=tuple((name, str(seed)) for name, seed in context.seeds.items()),
        command_line=context.command_line,
        git_hash=context.git_hash,
        config_text=clean_text(context.config_text),
        generator=f"embodied-iqa {__version__}",
    )


def _picture_count(tasks: Sequence[ReportedTask]) -> int:
    return sum(len(View) * (1 if run.distortion is None else 2) for task in tasks for run in task.record.runs)


def _subtitle(tasks: Sequence[ReportedTask]) -> str:
    every = [run for task in tasks for run in task.record.runs]
    names = [a.subject for run in every for a in run.answers] + [
        c.subject for run in every for c in run.chunks
    ]
    subjects = dict.fromkeys(filter(None, names))
    named = f" with {' and '.join(subjects)}" if subjects else ""
    return f"{plural(len(tasks), 'task')}, {plural(len(every), 'run')}{named}"


def _tiles(tasks: Sequence[ReportedTask]) -> tuple[Tile, ...]:
    """Return the means over the distorted runs, and what the gate let through."""
    pairs = [pair for task in tasks for pair in task.pairs if pair[0].distortion is not None]
    means = (
        ("Cognition", [s.cognition.score if s.cognition else None for _, s in pairs], 1.0, 2, "of 1"),
        ("Decision", [s.decision.score if s.decision else None for _, s in pairs], 1.0, 2, "of 1"),
        ("Execution", [s.execution.score for _, s in pairs], 100.0, 0, "of 100"),
    )
    tiles = []
    for title, values, whole, digits, scale in means:
        mean = mean_share(values, whole)
        known = sum(value is not None for value in values)
        text = ABSENT if mean is None else number(mean * whole / 100, digits)
        tiles.append(Tile(title, text, f"{scale}, mean of {plural(known, 'distorted run')}", mean))
    return (*tiles, _gate_tile([scores for _, scores in pairs]), _success_tile([run for run, _ in pairs]))


def _gate_tile(scores: Sequence[RunScores]) -> Tile:
    passed = sum(s.gate.passed for s in scores)
    total = passed + sum(s.gate.hold + s.gate.reject for s in scores)
    if total == 0:
        return Tile("Gate", ABSENT, "no distorted frame was judged", None)
    part = 100 * passed / total
    return Tile("Gate", number(part, 0, "%"), f"passed, of {plural(total, 'distorted frame')}", part)


def _success_tile(runs: Sequence[RunRecord]) -> Tile:
    if not runs:
        return Tile("Success", ABSENT, "no distorted run", None)
    done = sum(run.outcome is Outcome.SUCCESS for run in runs)
    return Tile("Success", f"{done}", f"of {plural(len(runs), 'distorted run')}", 100 * done / len(runs))


def _task_page(task: ReportedTask, count: int, folder: Path, most_bytes: int) -> TaskPage:
    recording = _name_from(task.recording, folder)
    shots, remarks = _shots(task, recording)
    runs: list[RunPage] = []
    for place, (run, scores) in enumerate(task.pairs):
        anchor = f"task-{count}-run-{place}"
        page = run_page(run, scores, task.reference, shots[place], anchor=anchor, most_bytes=most_bytes)
        runs.append(page)
    if task.reference is None:
        remarks.append("The recording has no reference run: nothing can be compared with it.")
    return TaskPage(
        anchor=f"task-{count}",
        title=task.record.task or "No instruction",
        detail=f"Scene seed {task.record.scene_seed}, recorded in {recording}",
        rescore_command=f"embodied-iqa rescore {shlex.quote(recording)}",
        runs=tuple(runs),
        remarks=tuple(remarks),
    )


def _shots(task: ReportedTask, name: str) -> tuple[list[dict[View, Shot]], list[str]]:
    """Return what the cameras saw at each run's moment, and what hinders to read it."""
    found: list[dict[View, Shot]] = [{} for _ in task.record.runs]
    try:
        with TrialReader(task.recording) as reader:
            for place, run in enumerate(task.record.runs):
                window = Window(moment_of(run).stamp_ns, run.start_ns, max(run.end_ns, run.start_ns))
                found[place] = shots_at(reader, window)
    except InputError as error:
        return found, [f"Pictures cannot be read: {str(error).replace(str(task.recording), name)}."]
    return found, []


def _name_from(recording: Path, folder: Path) -> str:
    """Return the recording's path from the page's folder; its name alone where it lies elsewhere."""
    relative = os.path.relpath(recording.resolve(), folder.resolve())
    return recording.name if relative.startswith("..") else relative
