"""Files of a session: config.yaml and scores.json."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from embodied_iqa.graph.session_plan import SessionPlan, TaskFolder
from embodied_iqa.subjects.constants_files import constants_of
from embodied_iqa.trial.reading import read_trial
from embodied_iqa.trial.run_folder import git_hash, versions, write_json, write_yaml
from embodied_iqa.trial.scores import RECIPES, as_json, score_trial, unscored_subjects

SCHEMA = 1
"""Version of the layout of scores.json."""


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
        """Write config.yaml, the resolved configuration, before anything starts."""
        tree = {
            "run": {
                "id": self.run_folder.name,
                "started": self.started,
                "command": shlex.join(self.command),
                "git_hash": git_hash(),
            },
            "tasks": list(settings.tasks),
            "scene_seed": settings.scene_seed,
            "distortions": [
                {"id": spec.id, "level": spec.level, "seed": spec.seed, "frozen": spec.frozen}
                for spec in settings.distortions
            ],
            "versions": versions(),
            "parameters": settings.graph.values(),
        }
        write_yaml(self.run_folder / "config.yaml", tree)


def scores_tree(run_id: str, runs: Sequence[dict[str, Any]], remarks: Sequence[str]) -> dict[str, Any]:
    """Return the content of scores.json."""
    return {
        "schema": SCHEMA,
        "run": run_id,
        "recipes": RECIPES,
        "versions": versions(),
        "remarks": list(remarks),
        "runs": list(runs),
    }


def finish_session(
    info: SessionInfo, folders: Sequence[TaskFolder], remarks: Sequence[str]
) -> dict[str, Any]:
    """Score the recordings; write scores.json of each task and of the session.

    Returns:
        The session's scores.json.

    Raises:
        InputError: A recording cannot be read.
    """
    every: list[dict[str, Any]] = []
    remarked = list(remarks)
    for folder in folders:
        record = read_trial(folder.recording)
        runs = [as_json(scores) for scores in score_trial(record, constants_of)]
        own = [*remarks, *unscored_subjects(record, constants_of)]
        write_json(folder.folder / "scores.json", scores_tree(info.run_folder.name, runs, own))
        remarked += [remark for remark in own if remark not in remarked]
        every += runs
    tree = scores_tree(info.run_folder.name, every, remarked)
    write_json(info.run_folder / "scores.json", tree)
    return tree
