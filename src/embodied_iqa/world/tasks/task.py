"""Tasks as databases store them: the sentence, its difficulty and its meaning."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from embodied_iqa.base.errors import InputError, UsageError
from embodied_iqa.world.tasks.instruction import Instruction, parse_instruction
from embodied_iqa.world.tasks.sentence import check_sentence
from embodied_iqa.world.tasks.vocabulary import Verb

MAX_RANK: Final = 5
_STEP_SEPARATOR: Final = "; "

TaskRow = dict[str, str | int | None]
"""Column to value: text, numbers and None only, for JSON and Parquet."""


class TaskSource(StrEnum):
    """Source of a task."""

    SCENE = "scene"
    FILE = "file"
    PERSON = "person"
    """Edited in the database, see `data.database.edits`."""


@dataclass(frozen=True, slots=True)
class Task:
    """One task of an image.

    Attributes:
        id: Unique; the same task of the same scene has the same id on every machine.
        rank: 1 (the easiest, the one that is executed) to 5.
        text: The sentence that subjects get.
        ability: What it tests: the verbs and the form of reference to objects, such as "push:side".
            Empty if a file does not specify it.
        verb: Verb of the first step; None if unknown.
        instruction: The first step in canonical words, which an expert executes; None if unknown.
        plan: All steps; empty if unknown.
        difficulty: In points (`scenes.language.five_tasks`); None if unknown.
        source: Its source.

    Raises:
        UsageError: Rank, text or plan contradict the above.
    """

    id: str
    rank: int
    text: str
    ability: str = ""
    verb: Verb | None = None
    instruction: Instruction | None = None
    plan: tuple[Instruction, ...] = ()
    difficulty: int | None = None
    source: TaskSource = TaskSource.SCENE

    def __post_init__(self) -> None:
        if not 1 <= self.rank <= MAX_RANK:
            raise UsageError("bad rank of a task", expected=f"1 to {MAX_RANK}", got=self.rank)
        check_sentence(self.text)
        if self.instruction != (self.plan[0] if self.plan else None):
            raise UsageError("a task's instruction is the first step of its plan", got=str(self.instruction))
        if self.instruction is not None and self.verb is not self.instruction.verb:
            raise UsageError("a task's verb is that of its instruction", got=str(self.verb))


def task_row(task: Task) -> TaskRow:
    """Return the task as a row of a table, the inverse of `task_from_row`; null is what is not known."""
    return {
        "task_id": task.id,
        "rank": task.rank,
        "text": task.text,
        "ability": task.ability or None,
        "verb": None if task.verb is None else str(task.verb),
        "instruction": None if task.instruction is None else str(task.instruction),
        "plan": _STEP_SEPARATOR.join(str(step) for step in task.plan) or None,
        "difficulty": task.difficulty,
        "source": str(task.source),
    }


def task_from_row(row: TaskRow) -> Task:
    """Return the task of a row that `task_row` made.

    Raises:
        InputError: A column is missing or holds something else.
    """
    try:
        plan = tuple(
            parse_instruction(step) for step in str(row["plan"] or "").split(_STEP_SEPARATOR) if step
        )
        return Task(
            id=str(row["task_id"]),
            rank=int(row["rank"] or 0),
            text=str(row["text"]),
            ability=str(row["ability"] or ""),
            verb=None if row["verb"] is None else Verb(str(row["verb"])),
            instruction=plan[0] if plan else None,
            plan=plan,
            difficulty=int(row["difficulty"] or 0) or None,
            source=TaskSource(str(row["source"])),
        )
    except KeyError as error:
        raise InputError("a row of a task lacks a column", expected=str(error), available=row) from None
    except (UsageError, ValueError) as error:
        raise InputError(f"a row is not a task ({error})", got=row.get("task_id")) from None
