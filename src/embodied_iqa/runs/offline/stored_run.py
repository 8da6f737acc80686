"""Input of a report: tasks with scores and recordings, and their origin; read from the folder of a run.

A session that was interrupted, killed or stopped by a full disk is read as far as it was recorded.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from embodied_iqa.base.errors import InputError, UsageError
from embodied_iqa.base.records import structure
from embodied_iqa.base.units import SECOND_NS
from embodied_iqa.base.user_files.json_files import load_json
from embodied_iqa.base.user_files.texts import read_text
from embodied_iqa.base.user_files.yaml_files import MOST_YAML_BYTES, parse_yaml
from embodied_iqa.data.recording.errors import RecordingReadError
from embodied_iqa.data.recording.repair.recover import readable_file
from embodied_iqa.data.recording.trial_reading import NoRunError, read_trial
from embodied_iqa.data.recording.trial_record import RunRecord, TrialRecord
from embodied_iqa.runs.graph.arm_parameters import RobotKind
from embodied_iqa.runs.graph.session_results import ScoredSubjects, SubjectScore, score_session
from embodied_iqa.runs.trial.scores import RunScores

_RECORDING: Final = "trial.mcap"
_SCORES: Final = "scores.json"
_CONFIG: Final = "config.yaml"
_DATES_NS: Final = range(
    *(int(datetime(year, 1, 1, tzinfo=UTC).timestamp()) * SECOND_NS for year in (2000, 2100))
)
"""Stamps that are dates: those of files count images, those of a world or a device begin near 0."""


@dataclass(frozen=True, slots=True, eq=False)
class ReportedTask:
    """One task.

    Attributes:
        record: Of the trial.
        scores: One for each run of the record, in the same order.
        recording: The MCAP file with the raw images; the report says so if it cannot be read.
        without: Scores that the rescoring left out.

    Raises:
        UsageError: There are more or fewer scores than runs.
    """

    record: TrialRecord
    scores: tuple[RunScores, ...]
    recording: Path
    without: tuple[SubjectScore, ...] = ()

    def __post_init__(self) -> None:
        if len(self.scores) != len(self.record.runs):
            raise UsageError(
                f"scores and runs of {self.record.task!r} do not match",
                expected=f"{len(self.record.runs)} scores",
                got=len(self.scores),
            )

    @property
    def scored_runs(self) -> tuple[tuple[RunRecord, RunScores], ...]:
        """Every run with its scores."""
        return tuple(zip(self.record.runs, self.scores, strict=True))

    @property
    def reference(self) -> RunRecord | None:
        """The reference run, or None if the recording has none."""
        return next((run for run in self.record.runs if run.index == 0), None)


@dataclass(frozen=True, slots=True)
class RunContext:
    """Origin of a report; empty fields are shown as "not recorded".

    Attributes:
        run_id: Name of the run's folder.
        date: Start of the run, with its time zone; where no session noted it, that of the first stamp.
        versions: Version of each part (package, subject, library).
        seeds: Seed for each purpose.
        command_line: As typed.
        git_hash: Of the checkout, followed by ``+`` if files were changed.
        config_text: The resolved configuration, YAML.
        remarks: What went wrong without ending the run.
        arm: Which arm moved, as recorded.
    """

    run_id: str
    date: datetime | None = None
    versions: Mapping[str, str] = field(default_factory=dict)
    seeds: Mapping[str, int] = field(default_factory=dict)
    command_line: str = ""
    git_hash: str = ""
    config_text: str = ""
    remarks: tuple[str, ...] = ()
    arm: str = ""


@dataclass(frozen=True, slots=True)
class StoredScores:
    """Content of a scores.json: scores in the order of the file, versions, remarks, and what was left out."""

    runs: tuple[RunScores, ...] = ()
    versions: Mapping[str, str] = field(default_factory=dict)
    remarks: tuple[str, ...] = ()
    without: tuple[SubjectScore, ...] = ()


def load_run(folder: Path, skip: Collection[Path] = ()) -> tuple[tuple[ReportedTask, ...], RunContext]:
    """Read a run.

    Args:
        folder: Holds `trial.mcap` or, for several tasks, folders that each hold one; beside them optionally
            `scores.json` and `config.yaml`. Missing scores are computed from the recording; a recording that
            was cut short is read from `trial.recovered.mcap` beside it.
        skip: Recordings that are left out, such as one that is being written; not all of them.

    Raises:
        InputError: No recording with a run is found, or the scores do not match.
    """
    session = load_scores(folder / _SCORES) if (folder / _SCORES).is_file() else None
    loaded = _Loaded()
    for recording in recordings_of(folder):
        if recording not in skip:
            loaded.add(recording, session)
    if not loaded.tasks:
        raise loaded.empty[0]
    tasks = loaded.tasks
    if session is not None:
        tasks.sort(key=lambda task: _place(session.runs, task.record))
    return tuple(tasks), _context(folder, session or StoredScores(), tasks, loaded.remarks)


@dataclass(slots=True, eq=False)
class _Loaded:
    """What the recordings of a run hold; one without a run, or that cannot be read, is left out."""

    tasks: list[ReportedTask] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    empty: list[InputError] = field(default_factory=list)

    def add(self, recording: Path, session: StoredScores | None) -> None:
        try:
            task, remarks = _task(readable_file(recording), session)
        except (NoRunError, RecordingReadError) as error:
            self.empty.append(error)
            place = str(recording.parent)
            self.remarks.append(f"{recording.parent.name}: {str(error).replace(place + os.sep, '')}")
        else:
            self.tasks.append(task)
            self.remarks += remarks


def load_scores(path: Path) -> StoredScores:
    """Read a scores.json.

    Raises:
        InputError: It is missing or broken, or its entries are not those of this version.
    """
    tree = load_json(path, "the scores")
    if not isinstance(tree, dict) or not isinstance(tree.get("runs"), list):
        raise InputError(f"{path} contains no scores", expected="JSON with a list `runs`")
    known = {name: tree[name] for name in ("versions", "remarks", "without") if name in tree}
    return structure(
        StoredScores, {**known, "runs": [_as_record(entry) for entry in tree["runs"]]}, str(path)
    )


def _as_record(entry: Any) -> Any:
    """Undo what `trial.scores.as_json` does to an entry; fields that older files lack are None."""
    if isinstance(entry, dict) and isinstance(gate := entry.get("gate"), dict):
        entry = entry | {"gate": {"passed" if key == "pass" else key: value for key, value in gate.items()}}
    if isinstance(entry, dict) and isinstance(spec := entry.get("distortion"), dict):
        entry = entry | {"distortion": {key: value for key, value in spec.items() if key != "name"}}
    if isinstance(entry, dict) and isinstance(decision := entry.get("decision"), dict):
        entry = entry | {"decision": {"refused": None} | decision}
    return entry


def recordings_of(folder: Path) -> list[Path]:
    """Return the recordings of a run, whole or not.

    Raises:
        InputError: There is none.
    """
    if not folder.is_dir():
        raise InputError(f"{folder} is not a folder", expected="the folder of a run")
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


def _task(recording: Path, session: StoredScores | None) -> tuple[ReportedTask, tuple[str, ...]]:
    """Return a task and, where its scores were not stored, remarks about their computation."""
    own = recording.parent / _SCORES
    stored = load_scores(own) if own.is_file() else session
    record = read_trial(recording)
    if stored is None:
        fresh = score_session(recording.parent.name, record)
        return ReportedTask(record, fresh.runs, recording), fresh.remarks
    modes = {run.gate_mode for run in record.runs}
    scores = [run for run in stored.runs if _is_of(run, record) and run.gate.mode in modes]
    if [run.distortion for run in scores] != [run.distortion for run in record.runs]:
        raise InputError(
            f"the scores of {recording} belong to other runs",
            expected=f"{len(record.runs)} runs of {record.task!r}",
            got=f"{len(scores)} that match it",
        )
    return ReportedTask(record, tuple(scores), recording, stored.without), ()


def _is_of(run: RunScores, record: TrialRecord) -> bool:
    """Return whether scores may be those of a recording; older ones have a seed where no scene was made."""
    return run.task == record.task and run.scene_seed in {record.scene, record.scene_seed}


def _place(runs: Sequence[RunScores], record: TrialRecord) -> int:
    return next((place for place, run in enumerate(runs) if _is_of(run, record)), len(runs))


def _context(
    folder: Path, session: StoredScores, tasks: Sequence[ReportedTask], remarks: Sequence[str]
) -> RunContext:
    """Return the origin of the run, as far as config.yaml, scores.json and the recordings contain it."""
    text, config = _config(folder / _CONFIG)
    run, versions = config.get("run"), config.get("versions")
    run = run if isinstance(run, Mapping) else {}
    versions = versions if isinstance(versions, Mapping) else session.versions
    subjects = ScoredSubjects.of(task.record for task in tasks)
    return RunContext(
        run_id=str(run.get("id") or folder.resolve().name),
        date=_date(run.get("started")) or _recorded_date(tasks),
        versions={str(name): str(version) for name, version in versions.items()} | subjects.by_name,
        seeds=_seeds(tasks),
        command_line=str(run.get("command") or ""),
        git_hash=str(run.get("git_hash") or ""),
        config_text=text,
        remarks=tuple(dict.fromkeys((*session.remarks, *remarks, *_unfinished(config, tasks)))),
        arm=", ".join(dict.fromkeys(arm for task in tasks if (arm := _arm(task.record.metadata)))),
    )


def _arm(metadata: Mapping[str, str]) -> str:
    """Return which arm moved, such as "simulated ur5e"; empty where that was not recorded."""
    robot = metadata.get("arm_node.robot", "")
    if robot == RobotKind.SIM:
        model = metadata.get("sim_node.arm_model", "")
        return f"simulated {model}" if model else ""
    return "none" if robot == RobotKind.NONE else metadata.get("arm_node.model", "")


def _unfinished(config: Mapping[str, Any], tasks: Sequence[ReportedTask]) -> Iterator[str]:
    """Say how many of the planned runs were recorded to their end, where some are missing."""
    planned, distortions = config.get("tasks"), config.get("distortions")
    if isinstance(planned, list) and isinstance(distortions, list):
        total = len(planned) * (1 + len(distortions))
        if config.get("burst") is not None:  # of the last task, which is repeated with it and the gate
            total += 3
        done = sum(run.outcome is not None or bool(run.reason) for task in tasks for run in task.record.runs)
        if done < total:
            yield f"The session did not finish: {done} of {total} runs were recorded to their end."


def _config(path: Path) -> tuple[str, Mapping[str, Any]]:
    if not path.exists():
        return "", {}
    text = read_text(path, "the configuration", most_bytes=MOST_YAML_BYTES)
    tree = parse_yaml(text, f"the configuration {path}")
    return text, tree if isinstance(tree, Mapping) else {}


def _date(value: object) -> datetime | None:
    try:
        return datetime.fromisoformat(str(value))
    except ValueError:
        return None


def _recorded_date(tasks: Sequence[ReportedTask]) -> datetime | None:
    """Return when the first run began; None where stamps are no dates, as those of a simulated world."""
    first_ns = min((run.start_ns for task in tasks for run in task.record.runs), default=0)
    return datetime.fromtimestamp(first_ns // SECOND_NS, UTC) if first_ns in _DATES_NS else None


def _seeds(tasks: Sequence[ReportedTask]) -> dict[str, int]:
    scenes = {task.record.task: task.record.scene for task in tasks}
    seeds = {f"scene of {task!r}": seed for task, seed in scenes.items() if seed is not None}
    for task in tasks:
        for run in task.record.runs:
            if (spec := run.distortion) is not None:
                seeds[f"distortion {spec.id}:{spec.level} {spec.schedule}".rstrip()] = spec.seed
    return seeds
