"""Reports of recordings, parsed: what several tests look at."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import lxml.html
from synthetic_trial import constants

from embodied_iqa.data.recording.trial_reading import read_trial
from embodied_iqa.data.recording.trial_record import TrialRecord
from embodied_iqa.pages.reports.trial.trial_report import write_report
from embodied_iqa.runs.offline.stored_run import ReportedTask, RunContext
from embodied_iqa.runs.trial.scores import score_trial

CONTEXT = RunContext(
    "2026-03-04_121530",
    datetime(2026, 3, 4, 12, 15, 30, tzinfo=UTC),
    {"embodied_iqa": "0.1.0", "numpy": "2.4"},
    {"scene": 7},
    "embodied-iqa trial --task 'pick the red cube'",
    "0123456789abcdef",
    "gate_node:\n  judge:\n    mode: on\n",
)


def reported(recording: Path, record: TrialRecord | None = None) -> ReportedTask:
    """A recording with its scores."""
    record = read_trial(recording) if record is None else record
    return ReportedTask(record, score_trial(record, constants), recording)


def page_of(
    tasks: Sequence[ReportedTask], folder: Path, context: RunContext = CONTEXT
) -> lxml.html.HtmlElement:
    """Write the report and parse it."""
    out = folder / "report.html"
    write_report(tasks, out, context)
    return lxml.html.document_fromstring(out.read_text(encoding="utf-8"))


def with_run(record: TrialRecord, index: int, **changes: object) -> TrialRecord:
    """The record with one run changed."""
    runs = tuple(
        dataclasses.replace(run, **changes) if place == index else run
        for place, run in enumerate(record.runs)
    )
    return dataclasses.replace(record, runs=runs)


def words(element: lxml.html.HtmlElement) -> str:
    """Its text with single spaces."""
    return " ".join(element.text_content().split())


def article(page: lxml.html.HtmlElement, run: int, task: int = 1) -> lxml.html.HtmlElement:
    """The part of the page about one run."""
    (found,) = page.xpath(f"//article[@id='task-{task}-run-{run}']")
    return found
