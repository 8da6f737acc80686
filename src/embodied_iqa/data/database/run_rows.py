"""Runs of an experiment as rows of a Parquet file: the columns, writing and reading."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from embodied_iqa.base.files import write_whole
from embodied_iqa.base.tables import read_table, rows_of, schema_of


@dataclass(frozen=True, slots=True)
class GateEffects:
    """Columns of `RunRow`, see there."""

    wrong_motions: int | None
    peak_contact_n: float | None
    held_s: float
    clean_frames: int
    false_holds: int
    distorted_frames: int
    passed_distorted: int


@dataclass(frozen=True, slots=True)
class RunRow:
    """One run.

    Attributes:
        subject: Name of the VLA.
        subject_version: Its version.
        task: The instruction.
        scene_seed: Seed of the scene.
        distortion_id: Two digits; empty for the reference run.
        distortion_name: Its name; empty for the reference run.
        level: 1 to 5, the highest one of a schedule; 0 for the reference run.
        distortion_seed: Seed of the distortion.
        schedule: Its level over time; empty for a constant level.
        gate_mode: on, shadow or off.
        arm: The gate by name, see `runs.experiment.arms`.
        outcome: success, failure, no_target, held_by_the_gate or emergency_stop.
        reason: Why the run ended.
        duration_s: ROS time from the run's start to its end [s].
        tool_x_m: Final position of the tool centre point in the base frame [m].
        tool_y_m: See tool_x_m.
        tool_z_m: See tool_x_m.
        decisions: Number of decisions.
        refusals: Number of decisions without a motion, because the policy saw no target.
        frames_pass: Frames with verdict PASS.
        frames_hold: Frames with verdict HOLD.
        frames_reject: Frames with verdict REJECT.
        wrong_motions: Decisions that moved the arm elsewhere than that on the undistorted image would,
            see `runs.experiment.gate_effects`; null where it is unknown which decisions moved it.
        peak_contact_n: Highest force on table, wall or floor [N]; null without a simulation.
        held_s: Time in which the gate withheld the lease of the camera behind the decisions [s].
        clean_frames: Frames of that camera while the level in force was 0.
        false_holds: Of these, those that the gate held.
        distorted_frames: Frames of that camera while the level in force was above 0.
        passed_distorted: Of these, those that passed.
        decision_position: Score of the first decision, distorted against raw image, 0 to 1 (best).
        decision_rotation: See decision_position.
        decision_state: See decision_position.
        decision_score: Mean of the three; null without a decision.
        decision_error_mm: Distance between the two decisions' end points [mm].
        cognition_score: Score of the VLM's answer for the first frame; null without a VLM.
    """

    subject: str
    subject_version: str
    task: str
    scene_seed: int
    distortion_id: str
    distortion_name: str
    level: int
    distortion_seed: int
    schedule: str
    gate_mode: str
    arm: str
    outcome: str
    reason: str
    duration_s: float
    tool_x_m: float
    tool_y_m: float
    tool_z_m: float
    decisions: int
    refusals: int
    frames_pass: int
    frames_hold: int
    frames_reject: int
    wrong_motions: int | None
    peak_contact_n: float | None
    held_s: float
    clean_frames: int
    false_holds: int
    distorted_frames: int
    passed_distorted: int
    decision_position: float | None
    decision_rotation: float | None
    decision_state: float | None
    decision_score: float | None
    decision_error_mm: float | None
    cognition_score: float | None

    @property
    def is_reference(self) -> bool:
        """Whether the images were not distorted."""
        return not self.distortion_id


@dataclass(frozen=True, slots=True)
class ScoredRow:
    """A run compared with its reference run.

    Attributes:
        run: The run.
        reference_outcome: Outcome of the reference run.
        distance_cm: Between the final tool positions of the two runs [cm].
        execution_score: 0 to 100, higher is better; null for a held run and a failed reference run.
    """

    run: RunRow
    reference_outcome: str
    distance_cm: float
    execution_score: float | None


_ROW_SCHEMA: Final = schema_of(RunRow)
_OWN: Final = [field for field in schema_of(ScoredRow) if field.name != "run"]
_SCORED_SCHEMA: Final = pa.schema([*_ROW_SCHEMA, *_OWN])
COLUMNS: Final[tuple[str, ...]] = tuple(_SCORED_SCHEMA.names)
"""Columns of the results, in order."""


def write_rows(rows: Sequence[RunRow] | Sequence[ScoredRow], path: Path) -> None:
    """Write Parquet (zstd) atomically; the same rows give the same bytes."""
    dictionaries = [_flat(row) for row in rows]
    scored = bool(rows) and isinstance(rows[0], ScoredRow)
    table = pa.Table.from_pylist(dictionaries, schema=_SCORED_SCHEMA if scored else _ROW_SCHEMA)
    write_whole(path, lambda fresh: pq.write_table(table, fresh, compression="zstd"))


def read_rows(path: Path) -> list[RunRow]:
    """Read rows that `write_rows` wrote.

    Raises:
        InputError: The file is damaged or has other columns.
    """
    return rows_of(RunRow, read_table(path, _ROW_SCHEMA.names))


def _flat(row: RunRow | ScoredRow) -> dict[str, Any]:
    if isinstance(row, RunRow):
        return dataclasses.asdict(row)
    return dataclasses.asdict(row.run) | {field.name: getattr(row, field.name) for field in _OWN}
