"""A task as databases store it: the sentence, how hard it is, and what it means."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from embodied_iqa.errors import InputError, UsageError
from embodied_iqa.tasks.instruction import Instruction, parse_instruction
from embodied_iqa.tasks.vocabulary import Verb

__all__ = ["MAX_RANK", "MAX_TEXT_CHARACTERS", "Task", "TaskRow", "TaskSource", "task_from_row", "task_row"]

MAX_RANK: Final = 5
MAX_TEXT_CHARACTERS: Final = 200
_STEP_SEPARATOR: Final = "; "

TaskRow = dict[str, str | int | None]
"""Column to value: text, numbers and None only, as JSON and Parquet have them."""


class TaskSource(StrEnum):
    """Where tasks come from."""

    SCENE = "scene"
    FILE = "file"


@dataclass(frozen=True, slots=True)
class Task:
    """One task of a picture.

    Attributes:
        id: Names the task among all; the same task of the same scene has the same one on every machine.
        rank: 1 (the easiest, the one that is executed) to 5.
        text: What subjects are told.
        ability: What it tests: the verbs and the way in which objects are referred to, as "push:side".
            Empty where a file does not say.
        verb: Of the first step; None where it is not known.
        instruction: The first step in canonical words, what an expert carries out; None where not known.
        plan: All steps; empty where not known.
        difficulty: What a reader has to do (`simulation.task_language`); 0 where not known.
        source: Where it comes from.

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
    difficulty: int = 0
    source: TaskSource = TaskSource.SCENE

    def __post_init__(self) -> None:
        if not 1 <= self.rank <= MAX_RANK:
            raise UsageError("bad rank of a task", expected=f"1 to {MAX_RANK}", got=self.rank)
        if not self.text.strip() or len(self.text) > MAX_TEXT_CHARACTERS:
            raise UsageError(
                "bad text of a task", expected=f"1 to {MAX_TEXT_CHARACTERS} characters", got=len(self.text)
            )
        if self.instruction != (self.plan[0] if self.plan else None):
            raise UsageError("a task's instruction is the first step of its plan", got=str(self.instruction))
        if self.instruction is not None and self.verb is not self.instruction.verb:
            raise UsageError("a task's verb is that of its instruction", got=str(self.verb))


def task_row(task: Task) -> TaskRow:
    """Return the task as a row of a table; `task_from_row` reads it back."""
    return {
        "task_id": task.id,
        "rank": task.rank,
        "text": task.text,
        "ability": task.ability,
        "verb": None if task.verb is None else str(task.verb),
        "instruction": None if task.instruction is None else str(task.instruction),
        "plan": _STEP_SEPARATOR.join(str(step) for step in task.plan),
        "difficulty": task.difficulty,
        "source": str(task.source),
    }


def task_from_row(row: TaskRow) -> Task:
    """Return the task of a row that `task_row` made.

    Raises:
        InputError: A column is missing or holds something else.
    """
    try:
        plan = tuple(parse_instruction(step) for step in str(row["plan"]).split(_STEP_SEPARATOR) if step)
        return Task(
            id=str(row["task_id"]),
            rank=int(row["rank"] or 0),
            text=str(row["text"]),
            ability=str(row["ability"]),
            verb=None if row["verb"] is None else Verb(str(row["verb"])),
            instruction=plan[0] if plan else None,
            plan=plan,
            difficulty=int(row["difficulty"] or 0),
            source=TaskSource(str(row["source"])),
        )
    except KeyError as error:
        raise InputError("a row of a task lacks a column", expected=str(error), available=row) from None
    except (UsageError, ValueError) as error:
        raise InputError(f"a row holds no task ({error})", got=row.get("task_id")) from None
