"""What a gate prevented in a run, and what it cost."""

from __future__ import annotations

from typing import Final

from embodied_iqa.arm.verdict import GateMode, Verdict
from embodied_iqa.data.database.run_rows import GateEffects
from embodied_iqa.data.recording.trial_record import ChunkRecord, RunRecord
from embodied_iqa.models.scoring.decision import score_decision
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
