"""Scores of a trial, from its record; the same function live and in rescoring."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict, dataclass
from statistics import median
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.arm.verdict import GateMode, Verdict
from embodied_iqa.base.errors import UsageError
from embodied_iqa.data.recording.trial_record import ChunkRecord, RunRecord, TrialRecord
from embodied_iqa.imaging.distortions import DistortionSpec, entry
from embodied_iqa.imaging.images.assembler import Source
from embodied_iqa.models.scoring.cognition import COGNITION_RECIPE, score_cognition
from embodied_iqa.models.scoring.constants import SubjectConstants, UncalibratedError
from embodied_iqa.models.scoring.decision import DECISION_RECIPE, score_decision
from embodied_iqa.models.scoring.execution_score import (
    EXECUTION_RECIPE,
    UNSUITED_REFERENCES,
    Outcome,
    score_execution,
)
from embodied_iqa.models.subjects.catalogue import Role
from embodied_iqa.quality.gate.repair import says_repaired
from embodied_iqa.runs.trial.recorded_action import RecordedAction, recorded_action
from embodied_iqa.world.protocols import is_refusal
from embodied_iqa.world.scenes.dimensions import CELL_VIEWS

NO_END: Final = "the run has no end"
RECIPES = {"cognition": COGNITION_RECIPE, "decision": DECISION_RECIPE, "execution": EXECUTION_RECIPE}
"""How the scores are computed; stated in every result file."""

_NOT_JUDGED = (None,) * 7
Constants = Callable[[str, str], SubjectConstants]
"""Name and version of a subject to the constants of its scores."""


@dataclass(frozen=True, slots=True)
class Cognition:
    """Scores of the VLM's answers about one frame, raw and distorted; see `models.scoring.cognition`."""

    bleu: float
    rouge: float
    cider: float
    score: float
    answer: str
    reference_answer: str


@dataclass(frozen=True, slots=True)
class LaterDecision:
    """A decision after the first of a run."""

    stamp_ns: int
    score: float
    position_error_mm: float


@dataclass(frozen=True, slots=True)
class Decision:
    """Scores of the VLA's first decision on one frame, raw and distorted; see `models.scoring.decision`."""

    position: float
    rotation: float
    state: float
    score: float
    position_error_mm: float
    refused: bool | None
    """The policy saw no target on the distorted image, and did on the reference: no wrong motion.

    None where it is unknown: older files of scores lack it."""
    answer: str
    reference_answer: str
    later: tuple[LaterDecision, ...]


@dataclass(frozen=True, slots=True)
class Execution:
    """Score of the run against the reference run; None where unknown. See `models.scoring.execution`."""

    outcome: str | None
    score: float | None
    distance_cm: float | None
    reason: str


@dataclass(frozen=True, slots=True)
class Gate:
    """Verdicts of a run; all None where no image was judged.

    Attributes:
        mode: on, shadow or off.
        passed: Frames that passed.
        hold: Frames that were held.
        reject: Frames that were rejected.
        repaired: Frames that passed after a repair.
        held_s: Time held, see `RunRecord.held_s` [s].
        motions: Motions that the second stage judged, after inference.
        motions_held: Those of them that did not pass.
    """

    mode: GateMode
    passed: int | None
    hold: int | None
    reject: int | None
    repaired: int | None = 0
    held_s: float | None = 0.0
    motions: int | None = 0
    motions_held: int | None = 0


@dataclass(frozen=True, slots=True)
class Frames:
    """Images published by the cameras, and judged by the gate."""

    published: int
    received: int
    lost: int


@dataclass(frozen=True, slots=True)
class Latency:
    """Medians [ms] of the live run; None where nothing was measured."""

    gate: float | None
    vlm: float | None
    vla: float | None


@dataclass(frozen=True, slots=True)
class RunScores:
    """All scores of one run; None where a part could not be scored."""

    task: str
    scene_seed: int | None
    distortion: DistortionSpec | None
    cognition: Cognition | None
    decision: Decision | None
    execution: Execution
    gate: Gate
    frames: Frames
    latency_ms: Latency
    recorded_action: RecordedAction | None = None
    """None where nobody asked, and in older files."""


def score_trial(record: TrialRecord, constants: Constants) -> tuple[RunScores, ...]:
    """Score every run of a trial; an uncalibrated subject has no score.

    Args:
        record: Of the live trial, or of its rescoring.
        constants: Name and version of a subject to the constants of its scores.
    """
    reference = next((run for run in record.runs if run.index == 0), None)
    return tuple(
        RunScores(
            task=record.task,
            scene_seed=record.scene,
            distortion=run.distortion,
            cognition=_cognition(run, constants),
            decision=_decision(run, constants),
            execution=_execution(run, reference),
            gate=_gate(run),
            frames=_frames(run),
            latency_ms=_latency(run),
            recorded_action=recorded_action(run, lambda *subject: _scale(constants, *subject)),
        )
        for run in record.runs
    )


def unscored_subjects(
    record: TrialRecord, constants: Callable[[str, str, Role], SubjectConstants]
) -> tuple[str, ...]:
    """Return for each subject that cannot be scored the reason, once; `constants` also takes its role."""
    said = [(item.subject, item.subject_version, Role.VLM) for run in record.runs for item in run.answers]
    did = [(item.subject, item.subject_version, Role.VLA) for run in record.runs for item in run.chunks]
    reasons = []
    for subject, version, role in dict.fromkeys(said + did):
        try:
            constants(subject, version, role)
        except (UncalibratedError, UsageError) as error:  # a name of another installation
            others = _views_elsewhere(record, subject) if isinstance(error, UncalibratedError) else ""
            reasons.append(f"not scored: {others or error}")
    return tuple(reasons)


def _views_elsewhere(record: TrialRecord, policy: str) -> str:
    """Return that a policy cannot have constants, as it sees other cameras than the simulated cell's.

    Empty if it sees only those, or is not a policy.
    """
    chunks = [chunk for run in record.runs for chunk in run.chunks if chunk.subject == policy]
    seen = dict.fromkeys(view for one in chunks for view in (one.view, *dict(one.other_frames)))
    others = [view for view in seen if view not in CELL_VIEWS]
    if not others:
        return ""
    return (
        f"{policy} has no constants: they are measured on images of the simulated cell's cameras "
        f"({', '.join(CELL_VIEWS)}), and it sees {', '.join(others)}"
    )


def as_json(scores: RunScores) -> dict[str, Any]:
    """Return one entry of `runs` in scores.json."""
    tree = asdict(scores)
    spec = scores.distortion
    if spec is not None:
        tree["distortion"]["name"] = entry(spec.id).name
    if scores.recorded_action is None:
        del tree["recorded_action"]
    tree["gate"]["pass"] = tree["gate"].pop("passed")
    return tree


def _cognition(run: RunRecord, constants: Constants) -> Cognition | None:
    distorted, raw = run.answer(Source.DISTORTED), run.answer(Source.RAW)
    if distorted is None or raw is None:
        return None
    scale = _scale(constants, raw.subject, raw.subject_version)
    frequencies = None if scale is None else scale.frequencies
    if frequencies is None:
        return None
    score = score_cognition(distorted.answer, raw.answer, frequencies)
    return Cognition(score.bleu, score.rouge, score.cider, score.score, distorted.answer, raw.answer)


def comparable_decisions(run: RunRecord) -> list[tuple[ChunkRecord, ChunkRecord]]:
    """Return the decisions on raw and distorted images that can be scored; none without the run's first."""
    pairs = run.decisions()
    first = next((chunk for chunk in run.chunks if chunk.source is Source.DISTORTED), None)
    # the first one may lack its reference, which a receding horizon skips: a later one is no substitute
    if not pairs or pairs[0][1] is not first or not pairs[0][0].is_decision:
        return []
    return [(raw, distorted) for raw, distorted in pairs if raw.is_decision]


def _decision(run: RunRecord, constants: Constants) -> Decision | None:
    pairs = comparable_decisions(run)
    if not pairs:
        return None
    scale = _scale(constants, pairs[0][0].subject, pairs[0][0].subject_version)
    d_max_m = None if scale is None else scale.d_max_m
    if d_max_m is None:
        return None
    scored = [
        score_decision(_executable(distorted), raw.increments, d_max_m, gripper=raw.gripper)
        for raw, distorted in pairs
    ]
    score, (raw, distorted) = scored[0], pairs[0]
    return Decision(
        position=score.position,
        rotation=score.rotation,
        state=score.state,
        score=score.score,
        position_error_mm=score.position_error_mm,
        refused=is_refusal(distorted.status, raw.status),
        answer=distorted.reason,
        reference_answer=raw.reason,
        later=tuple(
            LaterDecision(chunk.stamp_ns, later.score, later.position_error_mm)
            for later, (_, chunk) in zip(scored[1:], pairs[1:], strict=True)
        ),
    )


def _scale(constants: Constants, subject: str, version: str) -> SubjectConstants | None:
    try:
        return constants(subject, version)
    except (UncalibratedError, UsageError):
        return None


def _executable(chunk: ChunkRecord) -> NDArray[np.float64]:
    """Return the increments; none where the subject failed or they are not finite."""
    return chunk.increments if chunk.is_decision else np.empty((0, 7))


def _execution(run: RunRecord, reference: RunRecord | None) -> Execution:
    if run.outcome is None or reference is None or reference.outcome is None:
        return Execution(run.outcome, None, None, run.reason or NO_END)
    distance_m = float(np.linalg.norm(run.T_base_tool[:3, 3] - reference.T_base_tool[:3, 3]))
    if run is reference and run.outcome in UNSUITED_REFERENCES:  # the distance to itself would score 100
        return Execution(run.outcome, None, 0.0, run.reason)
    # to end near a failed run earns no score, and what the arm never got to do says nothing of the image
    why = "no decision came" * bool(run.failure)
    why = "the reference run failed" if reference.outcome in UNSUITED_REFERENCES else why
    if why and run.outcome in {Outcome.FAILURE, Outcome.NO_TARGET}:
        return Execution(run.outcome, None, 100.0 * distance_m, f"{run.reason} (no score: {why})")
    score = score_execution(run.outcome, distance_m).score
    return Execution(run.outcome, score, 100.0 * distance_m, run.reason)


def _gate(run: RunRecord) -> Gate:
    if run.gate_mode is GateMode.OFF or not run.verdicts:
        return Gate(run.gate_mode, *_NOT_JUDGED)
    count = Counter(verdict.verdict for verdict in run.verdicts)
    repaired = sum(
        verdict.verdict is Verdict.PASS and says_repaired(verdict.reason) for verdict in run.verdicts
    )
    verdicts = count[Verdict.PASS], count[Verdict.HOLD], count[Verdict.REJECT]
    passes = None if run.motions is None else [motion.verdict is Verdict.PASS for motion in run.motions]
    motions = (None, None) if passes is None else (len(passes), passes.count(False))
    return Gate(run.gate_mode, *verdicts, repaired, round(run.held_s, 3), *motions)


def _frames(run: RunRecord) -> Frames:
    lost = max(0, run.frames_published - run.frames_received)
    return Frames(run.frames_published, run.frames_received, lost)


def _latency(run: RunRecord) -> Latency:
    def middle(values: list[float]) -> float | None:
        finite = [value for value in values if math.isfinite(value)]
        return round(median(finite), 3) if finite else None

    return Latency(
        gate=middle([verdict.latency_ms for verdict in run.verdicts]),
        vlm=middle([answer.latency_ms for answer in run.answers]),
        vla=middle([chunk.latency_ms for chunk in run.chunks]),
    )
