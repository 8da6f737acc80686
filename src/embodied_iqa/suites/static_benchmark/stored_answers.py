"""Answers of subjects on disk: a file for each subject, condition and block of items."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from embodied_iqa.base.files import write_json_whole
from embodied_iqa.base.records import read_json, unstructure
from embodied_iqa.models.subjects.constants_files import file_stem
from embodied_iqa.suites.static_benchmark.letters import Reading


@dataclass(frozen=True, slots=True)
class ItemAnswer:
    """An answer to one row.

    Attributes:
        index: Of the row.
        asked: The text behind the image.
        text: The answer; empty where there is none.
        reading: What it says.
        letter: Of the option; empty unless the reading is LETTER.
        error: Why there is no answer, or empty.
    """

    index: int
    asked: str
    text: str
    reading: Reading
    letter: str = ""
    error: str = ""


@dataclass(frozen=True, slots=True)
class AnswerPart:
    """The answers of a subject on a block of items under one condition.

    Attributes:
        subject: Its name.
        version: Its version.
        adapter: How it was asked and read.
        condition: How images were shown.
        digest: Hash of everything that the answers depend on.
        answers: In the order of the items.
    """

    subject: str
    version: str
    adapter: str
    condition: str
    digest: str
    answers: tuple[ItemAnswer, ...]


def part_file(results: Path, subject: str, condition: str, block: int) -> Path:
    """Return the file of a part."""
    return results / "answers" / file_stem(subject) / condition.replace(":", "-") / f"{block:05d}.json"


def write_part(path: Path, part: AnswerPart) -> None:
    """Write a part whole."""
    write_json_whole(path, unstructure(part))


def read_part(path: Path, digest: str) -> AnswerPart | None:
    """Return a part; None where it is missing or holds answers to something else.

    Raises:
        InputError: The file is damaged.
    """
    if not path.is_file():
        return None
    part = read_json(AnswerPart, path, "answers")
    return part if part.digest == digest else None


def failures_in(answers: Sequence[ItemAnswer]) -> int:
    """Count the rows without an answer because of an error."""
    return sum(answer.reading is Reading.FAILED for answer in answers)
