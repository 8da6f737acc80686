"""Files of a session: config.yaml and scores.json."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any, Final

from embodied_iqa.base.config import Scalar
from embodied_iqa.data.recording.trial_reading import read_trial
from embodied_iqa.data.recording.trial_record import TrialRecord
from embodied_iqa.models.subjects.constants_files import constants_of
from embodied_iqa.runs.graph.parameters import GraphParameters
from embodied_iqa.runs.graph.session_plan import SessionPlan, TaskFolder
from embodied_iqa.runs.trial.run_folder import git_hash, versions, write_json, write_yaml
from embodied_iqa.runs.trial.scores import (
    RECIPES,
    RunScores,
    as_json,
    score_trial,
    unscored_subjects,
)

SCHEMA = 1
"""Version of the layout of scores.json."""

_NO_VLM: Final = "the trial has no VLM: no run has a cognition score"


@dataclass(frozen=True, slots=True)
class SessionInfo:
    """Provenance of a session.

    Attributes:
        run_folder: Folder of the session.
        started: Start time, ISO 8601.
        command: The command line.
    """

    run_folder: Path
    started: str
    command: tuple[str, ...]

    def write_config(self, settings: SessionPlan) -> None:
        """Write config.yaml, the resolved configuration, before anything starts.

        The parameters of a graph that runs already stand in the recordings only.
        """
        tree = {
            "run": {
                "id": self.run_folder.name,
                "started": self.started,
                "command": shlex.join(self.command),
                "git_hash": git_hash(),
            },
            "tasks": list(settings.tasks),
            "scene_seed": settings.scene_seed,
            "distortions": [asdict(spec) for spec in settings.distortions],
            **({} if settings.burst is None else {"burst": asdict(settings.burst)}),
            "versions": versions(),
            "parameters": None if settings.attach else in_force(settings.graph),
        }
        write_yaml(self.run_folder / "config.yaml", tree)


def in_force(graph: GraphParameters) -> dict[str, dict[str, Scalar]]:
    """Return the parameters by node, without the period of a real arm, which follows from its model."""
    values = graph.values()
    if graph.arm_node.robot.is_real:
        del values["arm_node"]["controller.dt_s"]
    return values


class SubjectScore(StrEnum):
    """A score that needs a subject, and that a rescoring may leave out."""

    COGNITION = "cognition"
    DECISION = "decision"


@dataclass(frozen=True, slots=True)
class ScoredSubjects:
    """Subjects whose answers and decisions are scored: name to version; empty where there are none."""

    vlm: Mapping[str, str] = field(default_factory=dict)
    vla: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, records: Iterable[TrialRecord]) -> ScoredSubjects:
        """Return those of records."""
        runs = [run for record in records for run in record.runs]
        return cls(
            {one.subject: one.subject_version for run in runs for one in run.answers},
            {one.subject: one.subject_version for run in runs for one in run.chunks},
        )

    def instead_of(self, before: ScoredSubjects) -> tuple[str, ...]:
        """Return which are not those of a trial, such as another policy at the same address, in words."""
        pairs = {"answers": (before.vlm, self.vlm), "decisions": (before.vla, self.vla)}
        return tuple(
            f"the {what} are of {_named(new)}, those of the trial were of {_named(old)}"
            for what, (old, new) in pairs.items()
            if old and new and dict(old) != dict(new)
        )

    @property
    def by_name(self) -> dict[str, str]:
        """Version of every subject."""
        return {**self.vlm, **self.vla}


def _named(subjects: Mapping[str, str]) -> str:
    return ", ".join(f"{name} {version}".rstrip() for name, version in subjects.items())


@dataclass(frozen=True, slots=True)
class SessionScores:
    """Content of a scores.json.

    Attributes:
        run_id: Name of the session.
        runs: Scores of every run.
        remarks: What the scores leave out and why.
        without: Scores that `rescore --without` left out.
        subjects: Whose answers and decisions are scored.
    """

    run_id: str
    runs: tuple[RunScores, ...]
    remarks: tuple[str, ...]
    without: tuple[SubjectScore, ...] = ()
    subjects: ScoredSubjects = field(default_factory=ScoredSubjects)

    def tree(self) -> dict[str, Any]:
        """Return the file's content as plain data."""
        return {
            "schema": SCHEMA,
            "run": self.run_id,
            "recipes": RECIPES,
            "versions": versions(),
            "subjects": asdict(self.subjects),
            "remarks": list(self.remarks),
            "without": list(self.without),
            "runs": [as_json(run) for run in self.runs],
        }

    def write(self, folder: Path) -> None:
        """Write scores.json into a folder."""
        write_json(folder / "scores.json", self.tree())


def score_session(
    run_id: str, record: TrialRecord, remarks: Sequence[str] = (), without: Sequence[SubjectScore] = ()
) -> SessionScores:
    """Score a trial; what is left out, runs without a decision, and missing constants and VLM add remarks.

    Args:
        run_id: Name of the session.
        record: The trial, without what ``without`` needs.
        remarks: More of them, which come first.
        without: Scores that are left out, because nobody asked the subject again.
    """
    left_out = (f"{part} is not scored: --without {part}" for part in without)
    unasked = () if record.has_vlm else (_NO_VLM,)
    unscored = (*undecided_runs(record), *unscored_subjects(record, constants_of))
    every = (*remarks, *left_out, *unasked, *unscored)
    subjects = ScoredSubjects.of([record])
    return SessionScores(run_id, score_trial(record, constants_of), every, tuple(without), subjects)


def joined_scores(run_id: str, parts: Sequence[SessionScores], remarks: Sequence[str] = ()) -> SessionScores:
    """Return the scores of several recordings as those of one session; each remark once, its own first."""
    vlm = {name: version for part in parts for name, version in part.subjects.vlm.items()}
    vla = {name: version for part in parts for name, version in part.subjects.vla.items()}
    return SessionScores(
        run_id,
        tuple(run for part in parts for run in part.runs),
        tuple(dict.fromkeys([*remarks, *(remark for part in parts for remark in part.remarks)])),
        subjects=ScoredSubjects(vlm, vla),
    )


def undecided_runs(record: TrialRecord) -> tuple[str, ...]:
    """Return in which runs the VLA failed at every decision, and how: their outcome is not its choice."""
    runs: dict[str, list[str]] = {}
    for run in record.runs:
        if run.failure:
            runs.setdefault(run.failure, []).append(str(run.index))
    return tuple(
        f"run {', '.join(numbers)}: no decision came: {failure}" for failure, numbers in runs.items()
    )


def finish_session(info: SessionInfo, folders: Sequence[TaskFolder], remarks: Sequence[str]) -> SessionScores:
    """Score the recordings; write scores.json of each task and of the session.

    Raises:
        InputError: A recording cannot be read.
    """
    tasks = []
    for folder in folders:
        tasks.append(score_session(info.run_folder.name, read_trial(folder.recording), remarks))
        tasks[-1].write(folder.folder)
    whole = joined_scores(info.run_folder.name, tasks, remarks)
    whole.write(info.run_folder)
    return whole
