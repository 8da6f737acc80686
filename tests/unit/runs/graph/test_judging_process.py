"""The process between the studio and a trial: its lines, its end, answers without a process."""

from __future__ import annotations

import sys
import threading

import pytest

from embodied_iqa.base.errors import InputError
from embodied_iqa.models.scoring.execution_score import Outcome
from embodied_iqa.runs.graph.judging_process import JudgingProcess
from embodied_iqa.runs.trial.attendance import Answer, Question
from embodied_iqa.runs.trial.judging import (
    PROBE,
    AskingTrial,
    answered_before,
    asked_of,
    judgement_answer,
    late_answer,
    probed,
    refusal,
    trial_of,
    utc_of,
    words_of,
)
from embodied_iqa.runs.trial.protocol import Stage
from manual_clock import PATIENCE_S

ECHO = """
import json, sys
question = {"stage": 8, "run_index": 1, "run_count": 3, "problem": ""}
state = {"question": question, "problem": "", "task": "pick", "trial": "t", "stage": "judge"}
print(json.dumps({"state": state, "refusal": None}), flush=True)
for line in sys.stdin:
    print(json.dumps({"state": None, "refusal": json.loads(line)["answer"]["remark"]}), flush=True)
"""
QUESTION = Question(Stage.JUDGE, 1, 3, "")


def test_state_and_answers_go_through_the_process() -> None:
    process = JudgingProcess((sys.executable, "-c", ECHO))
    try:
        process.state()
        assert process.answer(QUESTION, Answer(True, remark="too late")) == "too late"
        assert process.answer(QUESTION, Answer(True)) == ""
        state = process.state()
        assert (state.question, state.task) == (QUESTION, "pick")
    finally:
        process.close()


def test_a_process_that_ends_says_so() -> None:
    process = JudgingProcess((sys.executable, "-c", "raise SystemExit(3)"))
    before = set(threading.enumerate())  # of other tests or pytest's: some never end
    process.state()
    for thread in set(threading.enumerate()) - before:
        thread.join(PATIENCE_S)
    assert "has ended with 3" in process.state().problem
    assert process.answer(QUESTION, Answer(True))
    process.close()


def test_a_program_that_is_missing_is_named() -> None:
    process = JudgingProcess(("/nonexistent/python",))
    assert "cannot start" in process.state().problem
    assert "cannot start" in process.answer(QUESTION, Answer(True))


def test_refusals_name_the_open_question() -> None:
    assert asked_of(refusal((8, 2))) == (Stage.JUDGE, 2)
    assert asked_of(refusal(None)) is None
    assert asked_of(refusal(PROBE)) is None
    assert asked_of("anything else") is None


def test_a_probe_is_told_the_trial_and_the_words_of_the_question() -> None:
    trial = AskingTrial('put the "cup" on the shelf', 3, utc_of(1_764_428_400_900_000_000))
    assert trial.started == "2025-11-29T15:00:00Z"
    said = probed(refusal((8, 2), "run 1 was judged already: done"), trial, "it took\ntoo long")
    assert asked_of(said) == (Stage.JUDGE, 2)
    assert trial_of(said) == trial
    assert words_of(said) == "it took\ntoo long"
    assert trial_of(refusal(None)) == AskingTrial()
    with pytest.raises(InputError, match="the trial"):
        trial_of("stage and run asked are (8, 2)\nwords of another version")


@pytest.mark.parametrize(
    ("stage", "answer", "word", "said"),
    [
        (Stage.JUDGE, Answer(False, remark="it slipped"), "done", "run 2 was judged already: not done"),
        (Stage.JUDGE, Answer(True, give_up=True), "not-done", "run 2 was judged already: give up"),
        (Stage.PREPARE, Answer(True), "ready", "the question before run 2 was answered already: ready"),
        (Stage.RECOVER, Answer(True), "clear", "the question after run 2 was answered already: clear"),
        (Stage.PREPARE, Answer(True), "done", ""),
        (Stage.RECOVER, Answer(True), "done", ""),
    ],
)
@pytest.mark.parametrize("asked", [(int(Stage.PREPARE), 2), None])
def test_a_late_answer_reads_how_its_question_was_answered(
    stage: Stage, answer: Answer, word: str, said: str, asked: tuple[int, int] | None
) -> None:
    refused = refusal(asked, answered_before(stage, 1, answer))
    assert asked_of(refused) == asked
    assert late_answer(refused, word) == said
    assert late_answer(refusal(asked), word) == ""


def test_judgements_as_answers() -> None:
    assert judgement_answer(Outcome.SUCCESS, None, "", give_up=False) == Answer(True)
    stopped = judgement_answer(Outcome.EMERGENCY_STOP, 30.0, "hit the mat", give_up=True)
    assert stopped == Answer(False, True, "emergency stop; measured distance 30 mm; hit the mat")
