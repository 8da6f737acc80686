"""What the report of a trial run is made from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from embodied_iqa.errors import UsageError
from embodied_iqa.trial.record import RunRecord, TrialRecord
from embodied_iqa.trial.scores import RunScores

__all__ = ["ReportedTask", "RunContext"]


@dataclass(frozen=True, slots=True, eq=False)
class ReportedTask:
    """One task: what happened, what it is worth, and where its pictures are.

    Attributes:
        record: Of the trial.
        scores: One for each run of the record, in the same order.
        recording: The MCAP file with the raw pictures; the report says so where it cannot be read.

    Raises:
        UsageError: There are more or fewer scores than runs.
    """

    record: TrialRecord
    scores: tuple[RunScores, ...]
    recording: Path

    def __post_init__(self) -> None:
        if len(self.scores) != len(self.record.runs):
            raise UsageError(
                f"scores and runs of {self.record.task!r} do not match",
                expected=f"{len(self.record.runs)} scores",
                got=len(self.scores),
            )

    @property
    def pairs(self) -> tuple[tuple[RunRecord, RunScores], ...]:
        """Every run with its scores."""
        return tuple(zip(self.record.runs, self.scores, strict=True))

    @property
    def reference(self) -> RunRecord | None:
        """The reference run, or None where the recording has none."""
        return next((run for run in self.record.runs if run.index == 0), None)


@dataclass(frozen=True, slots=True)
class RunContext:
    """Where a report comes from; what is empty or None is told as "not recorded".

    Attributes:
        run_id: Name of the run's folder.
        date: When the run was started, with its time zone.
        versions: Name of a part (package, subject, library) to its version.
        seeds: What a seed is for, to the seed.
        command_line: As it was typed.
        git_hash: Of the checkout, with ``+`` behind it where files were changed.
        config_text: The resolved configuration, YAML.
        remarks: What went wrong without ending the run.
    """

    run_id: str
    date: datetime | None = None
    versions: Mapping[str, str] = field(default_factory=dict)
    seeds: Mapping[str, int] = field(default_factory=dict)
    command_line: str = ""
    git_hash: str = ""
    config_text: str = ""
    remarks: tuple[str, ...] = ()
