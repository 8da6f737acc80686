"""What a gate prevented and what it cost, counted by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from embodied_iqa.arm.verdict import GateMode, Verdict
from embodied_iqa.base.units import SECOND_NS
from embodied_iqa.data.recording.trial_record import ChunkRecord, RunRecord, VerdictRecord
from embodied_iqa.imaging.distortions import DistortionSpec
from embodied_iqa.imaging.images.assembler import Source
from embodied_iqa.imaging.images.frame import View
from embodied_iqa.models.scoring.execution_score import Outcome
from embodied_iqa.runs.experiment.rows import gate_effects
from embodied_iqa.world.protocols import ChunkStatus

_START_NS = 3 * SECOND_NS


def chunk(source: Source, sequence: int, x_m: float, gripper: float = 1.0) -> ChunkRecord:
    return ChunkRecord(
        stamp_ns=_START_NS,
        view=View.TOP,
        source=source,
        sequence=sequence,
        step=0,
        status=ChunkStatus.ACT,
        increments=np.array([[x_m, 0, 0, 0, 0, 0, gripper]]),
        reason="",
        target_px=None,
        seen=None,
        T_base_tool=np.eye(4),
        gripper=0.0,
        subject="vla",
        subject_version="1",
        latency_ms=1.0,
    )


def verdict(at: int, judged: Verdict, view: View = View.TOP) -> VerdictRecord:
    return VerdictRecord(_START_NS + at * SECOND_NS // 10, view, judged, "", 1.0)


def record(chunks: list[ChunkRecord], executed: tuple[int, ...] | None) -> RunRecord:
    held = {4, 5, 6}  # the burst covers frames 3 to 5
    verdicts = [verdict(at, Verdict.HOLD if at in held else Verdict.PASS) for at in range(10)]
    verdicts += [verdict(at, Verdict.REJECT, View.WRIST) for at in range(10)]
    return RunRecord(
        index=1,
        distortion=DistortionSpec("12", 5, schedule="burst:start=0.3,length=0.3"),
        start_ns=_START_NS,
        end_ns=_START_NS + SECOND_NS,
        outcome=Outcome.SUCCESS,
        reason="",
        T_base_tool=np.eye(4),
        frames_published=20,
        frames_received=20,
        gate_mode=GateMode.ON,
        answers=(),
        chunks=tuple(chunks),
        verdicts=tuple(sorted(verdicts, key=lambda item: item.stamp_ns)),
        tool_path=np.empty((0, 4)),
        executed=executed,
        peak_contact_n=2.5,
    )


def test_holds_of_the_camera_of_the_policy() -> None:
    run = record([chunk(Source.RAW, 1, 0.1), chunk(Source.DISTORTED, 1, 0.1)], (1,))
    effects = gate_effects(run)
    assert effects.held_s == pytest.approx(0.3)
    assert (effects.clean_frames, effects.false_holds) == (7, 1)
    assert (effects.distorted_frames, effects.passed_distorted) == (3, 1)
    assert (effects.wrong_motions, effects.peak_contact_n) == (0, 2.5)
    shadow = gate_effects(replace(run, gate_mode=GateMode.SHADOW))
    assert (shadow.held_s, shadow.false_holds, shadow.passed_distorted) == (0.0, 0, 3)
    empty = gate_effects(replace(run, verdicts=()))
    assert (empty.held_s, empty.clean_frames) == (0.0, 0)


def test_frames_of_a_camera_that_is_not_distorted_are_clean() -> None:
    run = record([chunk(Source.RAW, 1, 0.1), chunk(Source.DISTORTED, 1, 0.1)], (1,))
    of_wrist = DistortionSpec("12", 5, schedule="burst:start=0,length=9,view=wrist")
    effects = gate_effects(replace(run, distortion=of_wrist))
    assert (effects.clean_frames, effects.false_holds, effects.distorted_frames) == (10, 3, 0)


def test_frames_are_those_of_the_policy_whose_turn_it_is() -> None:
    """From the sixth frame on the other camera, which is good, is behind the decisions."""
    taken = replace(chunk(Source.DISTORTED, 2, 0.1), view=View.SIDE, stamp_ns=_START_NS + SECOND_NS // 2)
    run = record([chunk(Source.DISTORTED, 1, 0.1), taken], (1, 2))
    good = [verdict(at, Verdict.PASS, View.SIDE) for at in range(10)]
    of_top = DistortionSpec("12", 5, schedule="burst:start=0,length=9,view=top")
    effects = gate_effects(replace(run, verdicts=(*run.verdicts, *good), distortion=of_top))
    assert effects.held_s == pytest.approx(0.1)
    assert (effects.clean_frames, effects.false_holds) == (5, 0)
    assert (effects.distorted_frames, effects.passed_distorted) == (5, 4)


def test_a_motion_is_wrong_where_it_was_executed_and_ends_elsewhere() -> None:
    decisions = [(0.1, 0.1, 1.0), (0.1, 0.129, 1.0), (0.1, 0.131, 1.0), (0.1, 0.1, 0.0), (0.1, 0.3, 1.0)]
    chunks = []
    for number, (raw_m, distorted_m, gripper) in enumerate(decisions, start=1):
        chunks += [chunk(Source.RAW, number, raw_m), chunk(Source.DISTORTED, number, distorted_m, gripper)]
    assert gate_effects(record(chunks, (1, 2, 3, 4, 5))).wrong_motions == 3
    assert gate_effects(record(chunks, (1, 2, 3, 4))).wrong_motions == 2  # the gate stopped the last one
    assert gate_effects(record(chunks, ())).wrong_motions == 0
    assert gate_effects(record(chunks, None)).wrong_motions is None


def test_a_refusal_moves_nothing_and_a_motion_without_target_is_wrong() -> None:
    still = np.empty((0, 7))
    refusal = replace(chunk(Source.DISTORTED, 1, 0.1), status=ChunkStatus.NO_TARGET, increments=still)
    assert gate_effects(record([chunk(Source.RAW, 1, 0.1), refusal], (1,))).wrong_motions == 0
    blind = replace(chunk(Source.RAW, 1, 0.1), status=ChunkStatus.NO_TARGET, increments=still)
    assert gate_effects(record([blind, chunk(Source.DISTORTED, 1, 0.1)], (1,))).wrong_motions == 1
