"""From the record of a trial to its scores."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from embodied_iqa.arm.verdict import GateMode, Verdict
from embodied_iqa.base.errors import UsageError
from embodied_iqa.data.recording.trial_record import (
    AnswerRecord,
    ChunkRecord,
    RunRecord,
    TrialRecord,
    VerdictRecord,
)
from embodied_iqa.imaging.distortions import DistortionSpec
from embodied_iqa.imaging.images.assembler import Source
from embodied_iqa.imaging.images.frame import View
from embodied_iqa.models.scoring.constants import SubjectConstants, UncalibratedError
from embodied_iqa.models.scoring.execution_score import Outcome
from embodied_iqa.models.scoring.frequencies import document_frequencies
from embodied_iqa.models.subjects.catalogue import Role
from embodied_iqa.runs.graph.session_results import undecided_runs
from embodied_iqa.runs.trial.scores import RunScores, as_json, score_trial, unscored_subjects
from embodied_iqa.world.protocols import ChunkStatus

D_MAX_M = 0.4
DARK = DistortionSpec("19", 5)


def constants(subject: str, _version: str) -> SubjectConstants:
    words = document_frequencies(["a red cube on the table", "the blue ball"])
    return SubjectConstants(subject, "1", "by hand", 2, d_max_m=D_MAX_M, frequencies=words)


def answer(source: Source, text: str) -> AnswerRecord:
    return AnswerRecord(1, View.TOP, source, text, "vlm", "1", 10.0)


def chunk(source: Source, x: float = 0.1, sequence: int = 1, **changes: Any) -> ChunkRecord:
    increments = np.array([[x, 0, 0, 0.1, 0, 0, 1.0]])
    record = ChunkRecord(
        stamp_ns=sequence,
        view=View.TOP,
        source=source,
        sequence=sequence,
        step=0,
        status=ChunkStatus.ACT,
        increments=increments,
        reason="sees it",
        target_px=None,
        seen=None,
        T_base_tool=np.eye(4),
        gripper=0.0,
        subject="vla",
        subject_version="1",
        latency_ms=5.0,
    )
    return replace(record, **changes)


def pair(x: float = 0.1, **changes: Any) -> tuple[ChunkRecord, ChunkRecord]:
    return chunk(Source.RAW), chunk(Source.DISTORTED, x, **changes)


def run(index: int = 0, **changes: Any) -> RunRecord:
    T = np.eye(4)
    T[0, 3] = 0.1 * index
    record = RunRecord(
        index=index,
        distortion=None if index == 0 else DARK,
        start_ns=0,
        end_ns=10,
        outcome=Outcome.SUCCESS,
        reason="done",
        T_base_tool=T,
        frames_published=3,
        frames_received=3,
        gate_mode=GateMode.ON,
        answers=(answer(Source.RAW, "a red cube"), answer(Source.DISTORTED, "a red cube")),
        chunks=pair(),
        verdicts=(VerdictRecord(1, View.TOP, Verdict.PASS, "", 2.0),),
        tool_path=np.zeros((0, 4)),
    )
    return replace(record, **changes)


def scores(*runs: RunRecord) -> tuple[RunScores, ...]:
    return score_trial(TrialRecord("pick the red cube", 7, runs, {}), constants)


def test_what_is_the_same_on_both_images_scores_in_full() -> None:
    (reference,) = scores(run())
    assert reference.cognition is not None
    assert reference.decision is not None
    assert (reference.cognition.score, reference.cognition.cider) == (1.0, 10.0)
    assert (reference.decision.score, reference.decision.position_error_mm) == (1.0, 0.0)
    assert (reference.execution.score, reference.execution.distance_cm) == (100.0, 0.0)


def test_the_decision_is_scored_against_the_raw_image_not_the_other_way_round() -> None:
    (_, distorted) = scores(run(), run(1, chunks=pair(0.1 + D_MAX_M / 4)))
    assert distorted.decision is not None
    assert distorted.decision.position == pytest.approx(0.75)
    assert distorted.decision.position_error_mm == pytest.approx(250 * D_MAX_M)


def test_a_failure_loses_a_point_a_centimetre_from_the_reference_run() -> None:
    (_, distorted) = scores(run(), run(1, outcome=Outcome.FAILURE))
    assert distorted.execution.score == pytest.approx(90.0)
    assert distorted.execution.distance_cm == pytest.approx(10.0)


def test_an_emergency_stop_scores_nothing() -> None:
    (_, distorted) = scores(run(), run(1, outcome=Outcome.EMERGENCY_STOP))
    assert distorted.execution.score == 0.0


def test_a_failed_reference_run_has_no_score_of_its_own() -> None:
    reference, distorted = scores(run(outcome=Outcome.FAILURE), run(1))
    assert (reference.execution.outcome, reference.execution.score) == ("failure", None)
    assert distorted.execution.score == 100.0


def test_a_run_without_an_end_has_no_score() -> None:
    reference, distorted = scores(run(outcome=None, reason=""), run(1))
    assert reference.execution.reason == "the run has no end"
    assert (reference.execution.score, distorted.execution.score) == (None, None)


@pytest.mark.parametrize("missing", [Source.RAW, Source.DISTORTED])
def test_half_a_pair_is_not_scored(missing: Source) -> None:
    whole = run()
    (half,) = scores(
        replace(
            whole,
            answers=tuple(a for a in whole.answers if a.source is not missing),
            chunks=tuple(c for c in whole.chunks if c.source is not missing),
        )
    )
    assert half.cognition is None
    assert half.decision is None


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_numbers_that_no_arm_takes_count_as_no_action(bad: float) -> None:
    broken = scores(run(chunks=pair(bad)))[0].decision
    nothing = scores(run(chunks=pair(increments=np.empty((0, 7)), status=ChunkStatus.NO_TARGET)))[0].decision
    assert broken is not None
    assert nothing is not None
    assert broken == replace(nothing, refused=False)
    assert nothing.refused
    assert broken.score < 0.6


@pytest.mark.parametrize(
    "changes", [{"status": None, "increments": np.empty((0, 7))}, {"increments": np.full((1, 7), np.nan)}]
)
def test_a_reference_that_is_no_decision_leaves_nothing_to_score(changes: dict[str, Any]) -> None:
    both = (chunk(Source.RAW, **changes), chunk(Source.DISTORTED, **changes))
    assert scores(run(chunks=both))[0].decision is None


def test_a_later_decision_does_not_stand_in_for_the_first_whose_reference_was_skipped() -> None:
    second = (chunk(Source.RAW, sequence=2), chunk(Source.DISTORTED, sequence=2))
    assert scores(run(chunks=(chunk(Source.DISTORTED), *second)))[0].decision is None


def test_later_decisions_are_kept_one_each() -> None:
    second = (chunk(Source.RAW, sequence=2), chunk(Source.DISTORTED, 0.1 + D_MAX_M, sequence=2))
    decision = scores(run(chunks=(*pair(), *second)))[0].decision
    assert decision is not None
    assert decision.score == 1.0, "the first decision is the run's"
    assert [later.stamp_ns for later in decision.later] == [2]
    assert decision.later[0].position_error_mm == pytest.approx(1000 * D_MAX_M)


def test_verdicts_frames_and_latencies_are_counted() -> None:
    kinds = [Verdict.PASS, Verdict.HOLD, Verdict.HOLD, Verdict.REJECT]
    verdicts = tuple(VerdictRecord(n, View.TOP, kind, "", float(n)) for n, kind in enumerate(kinds))
    counted = scores(run(verdicts=verdicts, frames_published=6, frames_received=4))[0]
    assert (counted.gate.passed, counted.gate.hold, counted.gate.reject) == (1, 2, 1)
    assert (counted.frames.published, counted.frames.received, counted.frames.lost) == (6, 4, 2)
    assert (counted.latency_ms.gate, counted.latency_ms.vlm, counted.latency_ms.vla) == (1.5, 10.0, 5.0)


def test_time_held_is_that_of_the_policys_camera_under_an_obeyed_gate() -> None:
    kinds = [Verdict.HOLD, Verdict.PASS, Verdict.HOLD, Verdict.REJECT, Verdict.PASS, Verdict.HOLD]
    reasons = ["dark", "repaired (exposure): dark", "dark", "black", "dark", "repaired (exposure): dark"]
    own = [
        VerdictRecord(n * 10**9, View.TOP, kind, words, 1.0)
        for n, (kind, words) in enumerate(zip(kinds, reasons, strict=True))
    ]
    other = [replace(verdict, view=View.WRIST, verdict=Verdict.HOLD, reason="") for verdict in own]
    for mode, held_s in ((GateMode.ON, 3.5), (GateMode.SHADOW, 0.0)):
        record = run(verdicts=(*own, *other), gate_mode=mode, start_ns=0, end_ns=5_500_000_000)
        gate = scores(record)[0].gate
        assert (gate.held_s, gate.repaired) == (held_s, 1)
        assert record.held_s == held_s
    gate = scores(run(verdicts=(*own, *other), gate_mode=GateMode.OFF))[0].gate
    assert (gate.passed, gate.held_s, gate.repaired) == (None, None, None), "mode off judges nothing"


def test_nothing_measured_is_none_never_nan() -> None:
    empty = run(answers=(), chunks=(), verdicts=(VerdictRecord(1, View.TOP, Verdict.PASS, "", math.nan),))
    tree = as_json(scores(empty)[0])
    json.dumps(tree, allow_nan=False)
    assert tree["latency_ms"] == {"gate": None, "vlm": None, "vla": None}
    assert (tree["cognition"], tree["decision"]) == (None, None)


def test_the_entry_of_scores_json_has_the_documented_form() -> None:
    reference, distorted = (as_json(one) for one in scores(run(), run(1)))
    assert set(reference) == {
        *("task", "scene_seed", "distortion", "cognition", "decision"),
        *("execution", "gate", "frames", "latency_ms"),
    }
    assert reference["distortion"] is None
    assert {"id": "19", "level": 5, "seed": 0}.items() <= distorted["distortion"].items()
    assert distorted["distortion"]["name"]
    parts = {
        "cognition": {"bleu", "rouge", "cider", "score", "answer", "reference_answer"},
        "decision": {"position", "rotation", "state", "score", "position_error_mm"},
        "execution": {"outcome", "score", "distance_cm"},
        "gate": {"mode", "pass", "hold", "reject"},
        "frames": {"published", "received", "lost"},
    }
    for part, keys in parts.items():
        assert keys <= set(distorted[part]), part
    assert json.loads(json.dumps(distorted)) == json.loads(json.dumps(distorted, allow_nan=False))


def test_subjects_without_constants_are_named_once_with_the_reason() -> None:
    def none(subject: str, version: str, role: Role) -> SubjectConstants:
        raise UncalibratedError(f"no constants of {subject} {version} as a {role}")

    record = TrialRecord("pick", 7, (run(), run(1)), {})
    assert unscored_subjects(record, none) == (
        "not scored: no constants of vlm 1 as a vlm",
        "not scored: no constants of vla 1 as a vla",
    )
    assert unscored_subjects(record, lambda name, version, _role: constants(name, version)) == ()


def test_a_policy_with_cameras_that_the_simulated_cell_has_not_is_not_told_to_be_calibrated() -> None:
    def none(subject: str, _version: str, _role: Role | None = None) -> SubjectConstants:
        raise UncalibratedError(
            f"{subject} has no constants: run `embodied-iqa subjects calibrate {subject}`"
        )

    for views in ({"view": View("front")}, {"other_frames": ((View("front"), 1),)}):
        record = TrialRecord("pick", 7, (run(chunks=(chunk(Source.RAW, **views),)),), {})
        assert unscored_subjects(record, none)[-1] == (
            "not scored: vla has no constants: they are measured on images of the simulated cell's cameras "
            "(wrist, top, side), and it sees front"
        )
    known = TrialRecord("pick", 7, (run(chunks=(chunk(Source.RAW),)),), {})
    assert unscored_subjects(known, none)[-1].endswith("run `embodied-iqa subjects calibrate vla`")


def test_subjects_that_this_installation_does_not_know_are_not_scored() -> None:
    def unknown(subject: str, _version: str, _role: Role | None = None) -> SubjectConstants:
        raise UsageError("unknown subject", got=subject)

    record = TrialRecord("pick", 7, (run(), run(1)), {})
    assert unscored_subjects(record, unknown)[0] == "not scored: unknown subject; got 'vlm'"
    assert [scores.cognition for scores in score_trial(record, unknown)] == [None, None]


def test_a_failure_after_a_failed_reference_run_has_a_distance_and_no_score() -> None:
    failed = Outcome.FAILURE
    reference, distorted = scores(run(outcome=failed), run(1, outcome=failed))
    assert (reference.execution.score, reference.execution.distance_cm) == (None, 0.0)
    assert (distorted.execution.score, distorted.execution.distance_cm) == (None, pytest.approx(10.0))
    assert distorted.execution.reason == "done (no score: the reference run failed)"


def test_a_run_in_which_the_policy_failed_at_every_decision_says_nothing_of_the_image() -> None:
    broken = {"status": None, "increments": np.empty((0, 7)), "reason": "TypeError: no frames"}
    failed = run(1, outcome=Outcome.FAILURE, chunks=(chunk(Source.DISTORTED, **broken),))
    execution = scores(run(), failed)[1].execution
    assert (execution.outcome, execution.score) == (Outcome.FAILURE, None)
    assert execution.reason == "done (no score: no decision came)"
    stopped = scores(run(), replace(failed, outcome=Outcome.EMERGENCY_STOP))[1].execution
    assert stopped.score == 0.0


def test_runs_in_which_the_policy_failed_at_every_decision_are_named_with_the_first_line_of_its_error() -> (
    None
):
    broken = {"status": None, "increments": np.empty((0, 7)), "reason": "TypeError: no frames\nhint: none"}
    failed = (chunk(Source.RAW), chunk(Source.DISTORTED, **broken), chunk(Source.DISTORTED, **broken))
    partly = (chunk(Source.DISTORTED, **broken), chunk(Source.DISTORTED))
    runs = [replace(run(index), chunks=chunks) for index, chunks in enumerate((failed, partly, failed, ()))]
    remarks = undecided_runs(TrialRecord("pick the red cube", 7, tuple(runs), {}))
    assert remarks == ("run 0, 2: no decision came: vla failed: TypeError: no frames",)
