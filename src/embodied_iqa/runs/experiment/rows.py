"""The row of a run, made of its record: also what the gate prevented and cost."""

from __future__ import annotations

import dataclasses
from typing import Final

from embodied_iqa.arm.verdict import GateMode, Verdict
from embodied_iqa.base.errors import InputError
from embodied_iqa.data.database.run_rows import GateEffects, RunRow
from embodied_iqa.data.recording.trial_record import ChunkRecord, RunRecord, TrialRecord
from embodied_iqa.imaging.distortions import entry
from embodied_iqa.imaging.images.assembler import Source
from embodied_iqa.models.scoring.decision import score_decision
from embodied_iqa.models.scoring.execution_score import Outcome
from embodied_iqa.models.subjects.constants_files import constants_of
from embodied_iqa.runs.experiment.experiment_plan import RunKey
from embodied_iqa.runs.trial.scores import score_trial
from embodied_iqa.world.protocols import ChunkStatus

WRONG_FROM_MM: Final = 30.0
"""A motion is wrong where it ends farther than this from that of the undistorted image."""
WRONG_FROM_GRIPPER: Final = 0.5
"""A motion is wrong too where it ends with another state of the gripper, in [0, 1]."""
_ANY_SCALE_M: Final = 1.0
"""Errors do not depend on the scale of the score, so that no constants of the subject are needed."""


def gate_effects(record: RunRecord) -> GateEffects:
    """Return the effects of the gate in a run.

    Frames are those of the camera behind the decisions, whose leases the arm needs. In the modes off and
    shadow the arm is never held, whatever the verdicts.

    Args:
        record: The run, with one or more decisions.
    """
    verdicts = record.verdicts_in_turn
    on = record.gate_mode is GateMode.ON
    passed = [not on or item.verdict is Verdict.PASS for item in verdicts]
    clean = [record.level_at(item.stamp_ns, item.view) == 0 for item in verdicts]
    pairs = list(zip(clean, passed, strict=True))
    return GateEffects(
        wrong_motions=_wrong_motions(record),
        peak_contact_n=record.peak_contact_n,
        held_s=record.held_s,
        clean_frames=sum(clean),
        false_holds=pairs.count((True, False)),
        distorted_frames=len(clean) - sum(clean),
        passed_distorted=pairs.count((False, True)),
    )


def _wrong_motions(record: RunRecord) -> int | None:
    if record.executed is None:
        return None
    moved = [pair for pair in record.decisions() if pair[1].sequence in record.executed]
    return sum(_is_wrong(raw, distorted) for raw, distorted in moved)


def _is_wrong(raw: ChunkRecord, distorted: ChunkRecord) -> bool:
    if distorted.status is not ChunkStatus.ACT or not raw.is_decision:
        return False
    scored = score_decision(distorted.increments, raw.increments, _ANY_SCALE_M, gripper=raw.gripper)
    gripper = scored.steps[-1].state if scored.steps else 0.0
    return scored.position_error_mm > WRONG_FROM_MM or gripper > WRONG_FROM_GRIPPER


def row_of(key: RunKey, record: RunRecord) -> RunRow:
    """Return the row of a run.

    Raises:
        InputError: The run has no end or no decision.
    """
    if record.outcome is None or not record.chunks:
        raise InputError(f"run {key.name} has no {'end' if record.outcome is None else 'decision'}")
    trial = TrialRecord(key.task.task, key.task.scene_seed, (record,), {})
    (scores,) = score_trial(trial, constants_of)
    decision, spec = scores.decision, record.distortion
    x, y, z = (float(value) for value in record.T_base_tool[:3, 3])
    decisions = [chunk for chunk in record.chunks if chunk.source is Source.DISTORTED]
    verdicts = [verdict.verdict for verdict in record.verdicts]
    return RunRow(
        subject=key.subject.text,
        subject_version=record.chunks[0].subject_version,
        task=key.task.task,
        scene_seed=key.task.scene_seed,
        distortion_id="" if spec is None else spec.id,
        distortion_name="" if spec is None else entry(spec.id).name,
        level=0 if spec is None else spec.level,
        distortion_seed=0 if spec is None else spec.seed,
        schedule="" if spec is None else spec.schedule,
        gate_mode=str(record.gate_mode),
        arm=key.arm.name or str(record.gate_mode),
        outcome=Outcome(record.outcome).value,
        reason=record.reason,
        duration_s=(record.end_ns - record.start_ns) / 1e9,
        tool_x_m=x,
        tool_y_m=y,
        tool_z_m=z,
        decisions=len(decisions),
        refusals=sum(chunk.status is ChunkStatus.NO_TARGET for chunk in decisions),
        frames_pass=verdicts.count(Verdict.PASS),
        frames_hold=verdicts.count(Verdict.HOLD),
        frames_reject=verdicts.count(Verdict.REJECT),
        **dataclasses.asdict(gate_effects(record)),
        decision_position=None if decision is None else decision.position,
        decision_rotation=None if decision is None else decision.rotation,
        decision_state=None if decision is None else decision.state,
        decision_score=None if decision is None else decision.score,
        decision_error_mm=None if decision is None else decision.position_error_mm,
        cognition_score=None if scores.cognition is None else scores.cognition.score,
    )
