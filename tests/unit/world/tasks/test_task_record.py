"""The record of a task and its row in a table."""

from __future__ import annotations

import json

import pytest

from embodied_iqa.base.errors import InputError, UsageError
from embodied_iqa.world.tasks.instruction import parse_instruction
from embodied_iqa.world.tasks.task import Task, TaskSource, task_from_row, task_row
from embodied_iqa.world.tasks.vocabulary import Verb

PICK = parse_instruction("pick the red cube")
PLACE = parse_instruction("place the red cube in the blue bowl")
WHOLE = Task("t1", 5, "pick it and place it", "pick+place:sequence", Verb.PICK, PICK, (PICK, PLACE), 15)
BARE = Task("t2", 1, "tidy up", source=TaskSource.FILE)


@pytest.mark.parametrize("task", [WHOLE, BARE])
def test_rows_survive_json(task: Task) -> None:
    assert task_from_row(json.loads(json.dumps(task_row(task)))) == task


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("rank", 6),
        ("rank", None),
        ("text", " "),
        ("plan", "fly to the moon"),
        ("verb", "fly"),
        ("source", "?"),
    ],
)
def test_broken_rows_are_refused(column: str, value: object) -> None:
    with pytest.raises(InputError):
        task_from_row({**task_row(WHOLE), column: value})  # type: ignore[dict-item]


@pytest.mark.parametrize(
    "column", ["task_id", "rank", "text", "ability", "verb", "plan", "difficulty", "source"]
)
def test_missing_columns_are_named(column: str) -> None:
    row = {name: value for name, value in task_row(WHOLE).items() if name != column}
    with pytest.raises(InputError, match=column):
        task_from_row(row)


def test_instruction_verb_and_plan_agree() -> None:
    with pytest.raises(UsageError, match="first step"):
        Task("t", 1, "pick the red cube", verb=Verb.PICK, instruction=PICK)
    with pytest.raises(UsageError, match="verb"):
        Task("t", 1, "pick the red cube", verb=Verb.PUSH, instruction=PICK, plan=(PICK,))
