"""A report from the folder of a run alone: recordings, scores and configuration as they lie there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, Final

import yaml

from embodied_iqa.errors import InputError
from embodied_iqa.reports.trial.report import write_report
from embodied_iqa.reports.trial.report_input import ReportedTask, RunContext
from embodied_iqa.reports.trial.stored_scores import StoredScores, load_scores
from embodied_iqa.trial.reading import read_trial
from embodied_iqa.trial.record import TrialRecord
from embodied_iqa.trial.scores import RunScores

__all__ = ["REPORT", "load_run", "report_of_folder"]

REPORT: Final = "report.html"
_RECORDING: Final = "trial.mcap"
_SCORES: Final = "scores.json"
_CONFIG: Final = "config.yaml"


def report_of_folder(folder: Path, out: Path | None = None) -> Path:
    """Write the report of a run from its folder.

    Args:
        folder: Holds `trial.mcap` or, for several tasks, folders that each hold one; beside them
            `scores.json` and, where there is one, `config.yaml`.
        out: The page; None for `report.html` in the folder.

    Returns:
        The page's path.

    Raises:
        InputError: There is no recording or no scores, or they do not belong together.
    """
    tasks, context = load_run(folder)
    page = folder / REPORT if out is None else out
    write_report(tasks, page, context)
    return page


def load_run(folder: Path) -> tuple[tuple[ReportedTask, ...], RunContext]:
    """Read the folder of a run; see `report_of_folder`.

    Raises:
        InputError: As there.
    """
    recordings = _recordings(folder)
    session = load_scores(folder / _SCORES) if (folder / _SCORES).is_file() else None
    tasks = [_task(recording, session) for recording in recordings]
    if session is not None:
        order = list(dict.fromkeys((run.task, run.scene_seed) for run in session.runs))
        tasks.sort(key=lambda task: _place(order, task.record))
    return tuple(tasks), _context(folder, session, tasks)


def _recordings(folder: Path) -> list[Path]:
    if not folder.is_dir():
        raise InputError(f"{folder} is no folder", expected="the folder of a run")
    if (folder / _RECORDING).is_file():
        return [folder / _RECORDING]
    found = sorted(folder.glob(f"*/{_RECORDING}"))
    if not found:
        raise InputError(
            f"no recording in {folder}",
            expected=f"{_RECORDING}, or folders that hold one",
            available=sorted(item.name for item in folder.iterdir()),
        )
    return found


def _task(recording: Path, session: StoredScores | None) -> ReportedTask:
    own = recording.parent / _SCORES
    stored = load_scores(own) if own.is_file() else session
    if stored is None:
        raise InputError(f"no {_SCORES} beside {recording}", expected=f"embodied-iqa rescore {recording}")
    record = read_trial(recording)
    return ReportedTask(record, _scores_of(record, stored, recording), recording)


def _scores_of(record: TrialRecord, stored: StoredScores, recording: Path) -> tuple[RunScores, ...]:
    """Return the scores of the recording's runs; they are the entries of its task, in the same order."""
    mine = [run for run in stored.runs if (run.task, run.scene_seed) == (record.task, record.scene_seed)]
    if [run.distortion for run in mine] != [run.distortion for run in record.runs]:
        raise InputError(
            f"the scores of {recording} belong to other runs",
            expected=f"{len(record.runs)} runs of {record.task!r}",
            got=f"{len(mine)} that match it",
        )
    return tuple(mine)


def _place(order: Sequence[tuple[str, int]], record: TrialRecord) -> int:
    key = (record.task, record.scene_seed)
    return order.index(key) if key in order else len(order)


def _context(folder: Path, session: StoredScores | None, tasks: Sequence[ReportedTask]) -> RunContext:
    """Return where the run comes from, as far as config.yaml, scores.json and the recordings tell."""
    text, config = _config(folder / _CONFIG)
    run = config.get("run")
    run = run if isinstance(run, Mapping) else {}
    versions = config.get("versions")
    if not isinstance(versions, Mapping):
        versions = session.versions if session is not None else {}
    return RunContext(
        run_id=str(run.get("id") or folder.resolve().name),
        date=_date(run.get("started")),
        versions={str(name): str(version) for name, version in versions.items()} | _subjects(tasks),
        seeds=_seeds(tasks),
        command_line=str(run.get("command") or ""),
        git_hash=str(run.get("git_hash") or ""),
        config_text=text,
        remarks=session.remarks if session is not None else (),
    )


def _config(path: Path) -> tuple[str, Mapping[str, Any]]:
    try:
        text = path.read_text(encoding="utf-8")
        tree = yaml.safe_load(text)
    except FileNotFoundError:
        return "", {}
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise InputError(f"cannot read the configuration {path}: {error}") from error
    return text, tree if isinstance(tree, Mapping) else {}


def _date(word: object) -> datetime | None:
    if isinstance(word, datetime):  # YAML understands dates itself
        return word
    try:
        return datetime.fromisoformat(str(word))
    except ValueError:
        return None


def _subjects(tasks: Sequence[ReportedTask]) -> dict[str, str]:
    runs = [run for task in tasks for run in task.record.runs]
    answers = {item.subject: item.subject_version for run in runs for item in run.answers}
    return answers | {item.subject: item.subject_version for run in runs for item in run.chunks}


def _seeds(tasks: Sequence[ReportedTask]) -> dict[str, int]:
    seeds = {f"scene of {task.record.task!r}": task.record.scene_seed for task in tasks}
    for task in tasks:
        for run in task.record.runs:
            if run.distortion is not None:
                seeds[f"distortion {run.distortion.id}:{run.distortion.level}"] = run.distortion.seed
    return seeds
