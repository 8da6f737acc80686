"""What a person types, and what they are shown."""

from __future__ import annotations

import pytest

from embodied_iqa.cli.person import parse_answer
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


def test_what_has_to_be_seen_to_comes_first() -> None:
    text = question_text(Question(Stage.PREPARE, 1, 4, "the arm is not back at its start"))
    assert text.startswith("the arm is not back at its start")
    assert "run 2 of 4" in text
