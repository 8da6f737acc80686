"""Decisions of a run against what was done at its frames: a second reference of its scores."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from statistics import fmean

from embodied_iqa.data.recording.trial_record import RunRecord
from embodied_iqa.imaging.images.assembler import Source
from embodied_iqa.models.scoring.constants import SubjectConstants
from embodied_iqa.models.scoring.decision import score_decisions
from embodied_iqa.world.protocols import ChunkStatus


@dataclass(frozen=True, slots=True)
class RecordedAction:
    """Decisions against what was done, over the moments where that is known or the policy refused.

    A refusal (`no_target`) is no motion to compare: it is counted, and its moment is in no mean.

    Attributes:
        convention: What the actions mean: a name of `models.subjects.actions.table`; None where none was
            known.
        moments: Decisions that were compared, and refusals.
        score: Mean of the decisions on the images of this run; None without one.
        reference_score: Mean of the decisions on the undistorted images of the same moments; likewise.
        position_error_mm: Mean distance from the points that were reached; likewise.
        refused: Moments at which the policy refused the image of this run. None in older files, which
            compared a refusal as if the arm were to stand still.
        reference_refused: Moments at which it refused the undistorted image; likewise.
    """

    convention: str | None
    moments: int
    score: float | None
    reference_score: float | None
    position_error_mm: float | None
    refused: int | None = None
    reference_refused: int | None = None


def recorded_action(
    run: RunRecord, scale_of: Callable[[str, str], SubjectConstants | None]
) -> RecordedAction | None:
    """Compare the decisions of a run with what was done; return None where nobody asked.

    Args:
        run: The run; a decision that failed is left out.
        scale_of: Name and version of a subject to its constants; None where it has none.
    """
    if run.recorded is None:
        return None
    done = {one.sequence: one for one in run.recorded}
    own = Source.RAW if run.distortion is None else Source.DISTORTED
    decided = {(chunk.sequence, chunk.source): chunk for chunk in run.chunks if chunk.is_decision}
    refused, means = [], []
    for raw in (chunk for (_, source), chunk in decided.items() if source is Source.RAW):
        seen, target = decided.get((raw.sequence, own)), done.get(raw.sequence)
        scale = scale_of(raw.subject, raw.subject_version)
        if seen is None or scale is None or scale.d_max_m is None:
            continue
        saw_none = seen.status is ChunkStatus.NO_TARGET, raw.status is ChunkStatus.NO_TARGET
        if saw_none[1] or (saw_none[0] and target is not None):
            refused.append(saw_none)
        elif target is not None:
            chunks = [seen.increments, raw.increments]
            score, reference = score_decisions(
                chunks, target.increments, scale.d_max_m, gripper=target.gripper
            )
            means.append((score.score, reference.score, score.position_error_mm))
    return RecordedAction(
        run.recorded[0].subject_version if run.recorded else None,
        len(means) + len(refused),
        *(map(fmean, zip(*means, strict=True)) if means else (None, None, None)),
        *(sum(column) for column in zip(*refused, strict=True)) if refused else (0, 0),
    )
