"""What a person types, and what they are shown."""

from __future__ import annotations

import io
import os
import pty
import sys
from collections.abc import Callable, Iterator

import pytest

from embodied_iqa.base.progress import ProgressBars
from embodied_iqa.cli.person import end_key, parse_answer, person_at_terminal
from embodied_iqa.runs.trial.attendance import Answer, Question, question_text
from embodied_iqa.runs.trial.protocol import Stage


@pytest.mark.parametrize(
    ("line", "stage", "answer"),
    [
        ("y\n", Stage.PREPARE, Answer(True)),
        ("Yes", Stage.JUDGE, Answer(True)),
        ("n the cube slipped", Stage.JUDGE, Answer(False, remark="the cube slipped")),
        ("q too late", Stage.JUDGE, Answer(False, give_up=True, remark="too late")),
        ("n", Stage.PREPARE, None),
        ("", Stage.JUDGE, None),
        ("done", Stage.JUDGE, None),
    ],
)
def test_keys(line: str, stage: Stage, answer: Answer | None) -> None:
    assert parse_answer(line, stage) == answer


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """The end of a terminal on which a person types; the other one is the standard input."""
    ours, theirs = pty.openpty()
    with os.fdopen(theirs, encoding="utf-8") as stdin:
        monkeypatch.setattr(sys, "stdin", stdin)
        yield ours
    os.close(ours)


@pytest.mark.parametrize(("typed", "ends"), [("e\n", True), (" E \n", True), ("x\n", False), ("\n", False)])
def test_a_key_and_enter_end_a_run_once(terminal: int, typed: str, *, ends: bool) -> None:
    is_typed = end_key()
    assert not is_typed()
    os.write(terminal, typed.encode())
    assert is_typed() is ends
    assert not is_typed()


def test_a_key_without_enter_ends_nothing(terminal: int) -> None:
    is_typed = end_key()
    os.write(terminal, b"e")
    assert not is_typed()


def typing(terminal: int, *lines: bytes) -> Callable[[], bool]:
    """Return what a question asks while it waits: somebody then types the next line."""
    left = iter(lines)

    def is_open() -> bool:
        os.write(terminal, next(left, b""))
        return True

    return is_open


def test_what_was_typed_before_a_question_does_not_answer_it(terminal: int) -> None:
    ask = person_at_terminal(ProgressBars())
    for stage in (Stage.JUDGE, Stage.RECOVER, Stage.PREPARE):
        os.write(terminal, b"y\ny\ny")
        answer = ask(Question(stage, 0, 1, ""), typing(terminal, b"q too early\n"))
        assert answer == Answer(False, give_up=True, remark="too early")


def test_a_second_line_that_was_typed_at_once_answers_nothing_either(terminal: int) -> None:
    ask = person_at_terminal(ProgressBars())
    answer = ask(Question(Stage.PREPARE, 0, 1, ""), typing(terminal, b"what\ny\n", b"q\n"))
    assert answer == Answer(False, give_up=True)


def test_a_wrong_answer_is_named_and_asked_again(terminal: int, capsys: pytest.CaptureFixture[str]) -> None:
    ask = person_at_terminal(ProgressBars())
    assert ask(Question(Stage.PREPARE, 0, 1, ""), typing(terminal, b"n\n", b"y\n")) == Answer(True)
    asked = capsys.readouterr().err
    assert "'n' is not an answer to this question  [y = ready, q = end the trial]" in asked
    assert asked.count("Ready?") == 1


def test_the_end_of_the_input_gives_up(terminal: int) -> None:
    ask = person_at_terminal(ProgressBars())
    answer = ask(Question(Stage.PREPARE, 0, 1, ""), typing(terminal, b"what\n", b"\x04"))
    assert answer is not None
    assert (answer.yes, answer.give_up, answer.remark) == (False, True, "nobody answers any more")


def test_without_a_terminal_no_key_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("e\n"))
    assert not end_key()()
    assert sys.stdin.read() == "e\n"


def test_without_a_terminal_each_question_names_the_command_that_answers_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO())
    monkeypatch.setenv("ROS_DOMAIN_ID", "17")
    tell = person_at_terminal(ProgressBars(), "/cell1")
    assert tell(Question(Stage.JUDGE, 0, 1, "too long")) is None, "it is not answered here"
    command = "ROS_DOMAIN_ID=17 embodied-iqa attend done --namespace cell1  (or not-done, give-up)"
    assert command in capsys.readouterr().err


def test_what_has_to_be_seen_to_comes_first() -> None:
    text = question_text(Question(Stage.PREPARE, 1, 4, "the arm is not back at its start"))
    assert text.startswith("the arm is not back at its start")
    assert "run 2 of 4" in text


@pytest.mark.usefixtures("terminal")
def test_a_question_that_the_trial_has_closed_waits_for_no_key(capsys: pytest.CaptureFixture[str]) -> None:
    ask = person_at_terminal(ProgressBars())
    opens = iter([True, False])
    assert ask(Question(Stage.RECOVER, 0, 1, "pressed"), lambda: next(opens)) is None
    assert "this question is closed" in capsys.readouterr().err
