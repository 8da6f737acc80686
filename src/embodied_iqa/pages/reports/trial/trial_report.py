"""The report of a trial run: `report.html`, one page that needs nothing but a browser."""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from embodied_iqa.arm.verdict import GateMode
from embodied_iqa.base.errors import InputError
from embodied_iqa.base.files import write_text_whole
from embodied_iqa.data.recording.reader import TrialReader
from embodied_iqa.data.recording.trial_record import TrialRecord
from embodied_iqa.imaging.images.frame import View
from embodied_iqa.pages.reports.kit.image_encoding import bytes_for_each
from embodied_iqa.pages.reports.kit.page import Page
from embodied_iqa.pages.reports.kit.render import render_page
from embodied_iqa.pages.reports.trial import header
from embodied_iqa.pages.reports.trial.gate_pairs import GatePair, gate_pairs, guarded_tasks
from embodied_iqa.pages.reports.trial.recorded_frames import RecordedFrame, Window, frames_at
from embodied_iqa.pages.reports.trial.run_images import moment_of
from embodied_iqa.pages.reports.trial.run_page import RunPage, run_page
from embodied_iqa.runs.offline.stored_run import ReportedTask, RunContext, load_run
from embodied_iqa.world.scenes.dimensions import CELL_VIEWS

REPORT: Final = "report.html"


@dataclass(frozen=True, slots=True, eq=False)
class TaskPage:
    """One task.

    Attributes:
        anchor: For links.
        title: Which of the tasks it is, with or without the gate.
        record: Of the trial; the first one of rescored images.
        guarded: Whether the arm obeyed the gate.
        recordings: Paths relative to the page; several of rescored images, which have one for each run.
        rescore_commands: To run in the folder of the page, one for each recording.
        runs: The reference run first.
        remarks: What is missing in the recording.
    """

    anchor: str
    title: str
    record: TrialRecord
    guarded: bool
    recordings: tuple[str, ...]
    rescore_commands: tuple[str, ...]
    runs: tuple[RunPage, ...]
    remarks: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TrialPage(Page):
    """The page.

    Attributes:
        subtitle: What was run.
        tasks: In order.
        pairs: Runs with a gate that the arm obeys, beside the same without it.
        context: Origin of the run.
    """

    subtitle: str
    tasks: tuple[TaskPage, ...]
    pairs: tuple[GatePair, ...]
    context: RunContext

    @property
    def directionless(self) -> int:
        """Runs in which one of the two scored actions turns too little for a direction."""
        return sum(run.hardly_turns for task in self.tasks for run in task.runs)


def report_of_folder(folder: Path | str, out: Path | str | None = None) -> Path:
    """Write the report of a run from its folder.

    Args:
        folder: See `stored_run.load_run`.
        out: The page; None for `report.html` in the folder.

    Returns:
        The page's path.

    Raises:
        InputError: See `stored_run.load_run` and `write_report`.
    """
    tasks, context = load_run(Path(folder))
    page = Path(folder) / REPORT if out is None else Path(out)
    write_report(tasks, page, context)
    return page


def write_report(tasks: Sequence[ReportedTask], out: Path, context: RunContext) -> None:
    """Write the report of a trial run, whole or not at all.

    The page contains its styles and images, and no scripts. It says what a recording lacks.

    Args:
        tasks: In the order of the page.
        out: The HTML file; its folder is created.
        context: Origin of the results.

    Raises:
        InputError: The file cannot be written.
    """
    count = sum(
        max(len(CELL_VIEWS), len({verdict.view for verdict in run.verdicts}))
        * (1 if run.distortion is None else 2)
        for task in tasks
        for run in task.record.runs
    )
    max_bytes = bytes_for_each(count)
    guarded, groups = guarded_tasks(tasks), _of_one_task(tasks)
    titles = header.task_titles([group[0] for group in groups])
    measured = [task for task in tasks if task not in guarded]
    page = TrialPage(
        name=context.run_id,
        headline=header.headline(measured),
        tiles=header.tiles(measured),
        remarks=context.remarks,
        subtitle=header.subtitle(tasks),
        tasks=tuple(
            _task_page(group, title, place, out.parent, max_bytes)
            for place, (group, title) in enumerate(zip(groups, titles, strict=True), 1)
        ),
        pairs=gate_pairs(tasks),
        context=context,
    )
    write_text_whole(out, render_page("trial.html.j2", page))


def _of_one_task(tasks: Sequence[ReportedTask]) -> list[list[ReportedTask]]:
    """Group the recordings of a task: those of rescored images hold a run each, a trial holds all of them."""
    groups: list[list[ReportedTask]] = []
    rescored: dict[str, list[ReportedTask]] = {}
    for task in tasks:
        if not task.record.was_executed and task.record.task in rescored:
            rescored[task.record.task].append(task)
        else:
            groups.append([task])
            if not task.record.was_executed:
                rescored[task.record.task] = groups[-1]
    return [sorted(group, key=lambda task: task.reference is None) for group in groups]


def _task_page(
    group: Sequence[ReportedTask], title: str, place: int, folder: Path, max_bytes: int
) -> TaskPage:
    recordings = tuple(_name_from(task.recording, folder) for task in group)
    reference = group[0].reference
    found = [_frames(task, name) for task, name in zip(group, recordings, strict=True)]
    frames = [seen for of_runs, _ in found for seen in of_runs]
    remarks = [remark for _, of_task in found for remark in of_task]
    if reference is None:
        remarks.append("The recording has no reference run: nothing can be compared with it.")
    anchor, has_vlm = f"task-{place}", group[0].record.has_vlm
    runs = [(*scored, task.without) for task in group for scored in task.scored_runs]
    return TaskPage(
        anchor=anchor,
        title=title,
        record=group[0].record,
        guarded=any(run.gate_mode is GateMode.ON and run.was_executed for run in group[0].record.runs),
        recordings=recordings,
        rescore_commands=tuple(f"embodied-iqa rescore {shlex.quote(name)}" for name in recordings),
        runs=tuple(
            run_page(
                run,
                scores,
                reference,
                seen,
                anchor=f"{anchor}-run-{index}",
                max_bytes=max_bytes,
                has_vlm=has_vlm,
                without=without,
            )
            for index, ((run, scores, without), seen) in enumerate(zip(runs, frames, strict=True))
        ),
        remarks=tuple(remarks),
    )


def _frames(task: ReportedTask, name: str) -> tuple[list[dict[View, RecordedFrame]], list[str]]:
    """Return the frames of each run's moment, and why they cannot be read."""
    found: list[dict[View, RecordedFrame]] = [{} for _ in task.record.runs]
    try:
        with TrialReader(task.recording) as reader:
            for place, run in enumerate(task.record.runs):
                window = Window(moment_of(run).stamp_ns, run.start_ns, max(run.end_ns, run.start_ns))
                found[place] = frames_at(reader, window)
    except InputError as error:
        return found, [f"Images cannot be read: {str(error).replace(str(task.recording), name)}."]
    return found, []


def _name_from(recording: Path, folder: Path) -> str:
    """Return the recording's path relative to the page's folder; its name if it is outside of it."""
    relative = os.path.relpath(recording.resolve(), folder.resolve())
    return recording.name if relative.startswith("..") else relative
