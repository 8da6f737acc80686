"""One question to a subject: what it says is checked, and whatever goes wrong is a value."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from embodied_iqa.imaging.images.assembler import Source
from embodied_iqa.imaging.images.frame import Frame, Intrinsics, View
from embodied_iqa.models.subjects.inference import Outcome, OutcomeKind
from embodied_iqa.runs.trial import deciding
from embodied_iqa.runs.trial.deciding import DecisionRequest, answer, chunk_record, decide
from embodied_iqa.world.protocols import ActionChunk, ChunkStatus, SubjectInfo, VlaObservation

INFO = SubjectInfo("says", "3", "says what it is made to", (View.SIDE, View.TOP))
REQUEST = DecisionRequest(5, Source.DISTORTED, 7, 2, "pick the red cube", np.eye(4), 0.25)
FRAME = Frame(View.SIDE, 5, np.zeros((48, 64, 3), np.uint8), Intrinsics(64, 48, 50, 50, 32, 24), np.eye(4))


class Says:
    """A VLA and a VLM that answer the same always."""

    info = INFO

    def __init__(self, said: Any) -> None:
        self.said = said
        self.seen: list[VlaObservation] = []

    def act(self, observation: VlaObservation) -> Any:
        self.seen.append(observation)
        return self._said()

    def answer(self, _frame: Frame, _task: str) -> Any:
        return self._said()

    def _said(self) -> Any:
        if isinstance(self.said, Exception):
            raise self.said
        return self.said


def test_a_decision_is_recorded_with_what_it_belongs_to() -> None:
    vla = Says(ActionChunk("act", [[0.1, 0, 0, 0, 0, 0, 1]], "why", np.array([3, 4]), np.float32(0.5)))
    record = decide(vla, REQUEST, {View.SIDE: FRAME})
    (seen,) = vla.seen
    assert (seen.instruction, seen.gripper, seen.step) == ("pick the red cube", 0.25, 2)
    assert (record.status, record.reason, record.target_px) == (ChunkStatus.ACT, "why", (3.0, 4.0))
    assert (record.seen, type(record.seen)) == (0.5, float)
    assert (record.increments.dtype, record.increments.shape) == (np.float64, (1, 7))
    assert (record.stamp_ns, record.view, record.source) == (5, View.SIDE, Source.DISTORTED)
    assert (record.sequence, record.step, record.gripper) == (7, 2, 0.25)
    assert (record.subject, record.subject_version) == ("says", "3")
    assert record.latency_ms >= 0


@pytest.mark.parametrize("nothing", [[], np.empty((0, 7)), np.empty((0, 3))])
def test_no_increments_are_none_whatever_their_shape(nothing: Any) -> None:
    record = decide(Says(ActionChunk(ChunkStatus.DONE, nothing, "done")), REQUEST, {})
    assert (record.status, record.increments.shape) == (ChunkStatus.DONE, (0, 7))


@pytest.mark.parametrize(
    ("said", "words"),
    [
        (RuntimeError("no weights"), "RuntimeError: no weights"),
        (ActionChunk(ChunkStatus.ACT, np.zeros((2, 6)), ""), "InputError: malformed increments"),
        (ActionChunk(ChunkStatus.ACT, np.zeros(7), ""), "InputError: malformed increments"),
        (ActionChunk(ChunkStatus.ACT, [["left"] * 7], ""), "ValueError"),
        (ActionChunk(ChunkStatus.ACT, np.zeros((1, 7)), "", seen=1.5), "InputError: malformed probability"),
        (ActionChunk("dance", np.zeros((1, 7)), ""), "ValueError: 'dance' is not a valid"),
        (None, "AttributeError"),
    ],
)
def test_what_goes_wrong_is_a_record_that_moves_nothing(said: Any, words: str) -> None:
    record = decide(Says(said), REQUEST, {})
    assert record.status is None
    assert not record.is_decision
    assert record.increments.shape == (0, 7)
    assert record.reason.startswith(words)


def test_an_answer_that_comes_too_late_is_such_a_record_too() -> None:
    record = chunk_record(INFO, REQUEST, Outcome(OutcomeKind.LATE, latency_ms=1500.0), {})
    assert (record.status, record.reason, record.latency_ms) == (None, "no answer in 1.5 s", 1500.0)


def test_an_answer_is_recorded_and_a_failure_is_not() -> None:
    said = answer(Says("a red cube"), FRAME, Source.RAW, "what?").result
    assert said is not None
    assert (said.answer, said.stamp_ns, said.view, said.source) == ("a red cube", 5, View.SIDE, Source.RAW)
    assert (said.subject, said.subject_version) == ("says", "3")
    assert answer(Says(KeyError("x")), FRAME, Source.RAW, "what?").kind is OutcomeKind.FAILED
    assert answer(Says(None), FRAME, Source.RAW, "what?").reason.startswith("InputError: malformed answer")


def test_the_latency_is_the_time_of_the_answer_in_milliseconds(monkeypatch: pytest.MonkeyPatch) -> None:
    class Vlm:
        info = SubjectInfo("v", "1", "says one word", (View.TOP,))

        def answer(self, frame: Frame, task: str) -> str:
            return "cube"

    times_s = iter((10.0, 10.25))
    monkeypatch.setattr(deciding, "perf_counter", lambda: next(times_s))
    frame = Frame(View.TOP, 7, np.zeros((4, 4, 3), np.uint8), Intrinsics(4, 4, 1.0, 1.0, 2.0, 2.0), np.eye(4))
    record = deciding.describe(Vlm(), frame, Source.RAW, "pick")
    assert (record.answer, record.stamp_ns, record.latency_ms) == ("cube", 7, 250.0)
