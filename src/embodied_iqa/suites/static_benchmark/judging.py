"""A judge: a VLM that reads the answers which the reader of letters could not; its hits are counted apart."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import numpy as np

from embodied_iqa.base.errors import UsageError
from embodied_iqa.base.files import json_text, write_text_whole
from embodied_iqa.base.records import read_json, unstructure
from embodied_iqa.base.user_files.json_files import MOST_DATASET_BYTES
from embodied_iqa.base.user_files.texts import check_size
from embodied_iqa.data.database.building.build_subjects import Failure
from embodied_iqa.imaging.images.frame import View, image_frame
from embodied_iqa.models.scoring.proportions import Share, wilson
from embodied_iqa.models.subjects.constants_files import file_stem
from embodied_iqa.models.subjects.subject_options import VlmOptions
from embodied_iqa.suites.static_benchmark.asking import Adapter
from embodied_iqa.suites.static_benchmark.conditions import CLEAN
from embodied_iqa.suites.static_benchmark.items import Item
from embodied_iqa.suites.static_benchmark.letters import Reading, read_letter
from embodied_iqa.suites.static_benchmark.stored_answers import AnswerPart, ItemAnswer
from embodied_iqa.suites.static_benchmark.subjects import Answerer, Asked, load_answerer

_WHAT: Final = "answers of a judge"
_BLOCK: Final = 40
"""Answers that are judged before they are written."""
_SIDE_PX: Final = 64
_GREY: Final = 128
_REQUEST: Final = (
    "Which option does this answer state? Reply with the letter of that option alone, or with NONE if the "
    "answer states no option or several. Do not answer the question yourself; the picture is empty."
)


@dataclass(frozen=True, slots=True)
class JudgeScore:
    """What a judge read in the unparsed answers of a subject.

    Attributes:
        judge: Its name.
        version: Its version.
        asked: Number of unparsed answers to unrotated items on clean images.
        read: Number in which it read an option.
        hits: Number of these options that are right.
        failed: Number that it did not answer.
        plain: Share of right answers if its hits counted; `SubjectScore.plain` does not count them.
    """

    judge: str
    version: str
    asked: int
    read: int
    hits: int
    failed: int
    plain: Share


@dataclass(frozen=True, slots=True)
class _Known:
    """Content of a judge's file: its version, and its answer to each text; an error is not kept."""

    version: str
    answers: dict[str, str] = field(default_factory=dict)


def check_judge(asked: Asked) -> None:
    """Check that a subject can judge.

    Raises:
        UsageError: It is a dummy, or answers no letters.
    """
    if asked.reference is None or asked.adapter is not Adapter.LETTER:
        expected = "a VLM that answers letters, such as openai:URL#MODEL"
        raise UsageError(f"{asked.name} cannot judge", expected=expected)


def judge_scores(
    judge: Asked, options: VlmOptions, results: Path, items: Sequence[Item], parts: Iterable[AnswerPart]
) -> dict[str, JudgeScore]:
    """Have a judge read the unparsed answers; answers that it gave before are used again.

    Args:
        judge: Any VLM that answers letters.
        options: How it is loaded and reached.
        results: Folder of results; its answers are kept in ``judged``.
        items: The unrotated items.
        parts: Answers of the subjects.

    Returns:
        Score by subject, for all of them.

    Raises:
        UserError: It cannot judge, cannot be loaded or reached, or its file is damaged or too large.
    """
    check_judge(judge)
    loaded = load_answerer(judge, options)
    of_index = {item.index: item for item in items}
    by_subject: dict[str, list[ItemAnswer]] = {}
    for part in parts:
        if part.condition == CLEAN:
            by_subject.setdefault(part.subject, []).extend(
                one for one in part.answers if one.index in of_index
            )
    unparsed = {name: [one for one in rows if _is_open(one)] for name, rows in by_subject.items()}
    texts = dict.fromkeys(_text(of_index[one.index], one) for rows in unparsed.values() for one in rows)
    known = _ask(loaded, results / "judged" / f"{file_stem(judge.name)}.json", list(texts))
    return {name: _score(loaded, of_index, by_subject[name], rows, known) for name, rows in unparsed.items()}


def _is_open(answer: ItemAnswer) -> bool:
    return answer.reading is Reading.UNPARSED


def _text(item: Item, answer: ItemAnswer) -> str:
    options = (f"{letter}. {option}" for letter, option in zip(item.letters, item.options, strict=True))
    lines = ("Somebody was asked about a picture.", f"Question: {item.question}", "Options:", *options)
    return "\n".join((*lines, f"Answer: {answer.text}", _REQUEST))


def _ask(judge: Answerer, file: Path, texts: Sequence[str]) -> Mapping[str, str]:
    """Return the judge's answer to each text, and write it; a text without one is missing.

    Raises:
        UserError: As `judge_scores`, or the file would be too large to be read again; it keeps what it held.
    """
    known = _Known(judge.version)
    if file.is_file():
        known = read_json(_Known, file, _WHAT, most_bytes=MOST_DATASET_BYTES)
    answers = dict(known.answers) if known.version == judge.version else {}
    missing = [text for text in texts if text not in answers]
    for at in range(0, len(missing), _BLOCK):
        answers |= _answered(judge, missing[at : at + _BLOCK])
        text = json_text(unstructure(_Known(judge.version, answers)))
        check_size(text, file, _WHAT, most_bytes=MOST_DATASET_BYTES)
        write_text_whole(file, text)
    return answers


def _answered(judge: Answerer, texts: Sequence[str]) -> Iterator[tuple[str, str]]:
    grey = image_frame(np.full((_SIDE_PX, _SIDE_PX, 3), _GREY, np.uint8), View.TOP)
    found = judge.answers((), [grey] * len(texts), texts)
    return ((text, said) for text, said in zip(texts, found, strict=True) if not isinstance(said, Failure))


def _score(
    judge: Answerer,
    of_index: Mapping[int, Item],
    rows: Sequence[ItemAnswer],
    unparsed: Sequence[ItemAnswer],
    known: Mapping[str, str],
) -> JudgeScore:
    read = hits = failed = 0
    for one in unparsed:
        item = of_index[one.index]
        said = known.get(_text(item, one))
        letter = "" if said is None else read_letter(said, item.options).letter
        failed += said is None
        read += bool(letter)
        hits += letter == item.answer
    right = sum(one.letter == of_index[one.index].answer for one in rows)
    plain = wilson(right + hits, len(rows))
    return JudgeScore(judge.asked.name, judge.version, len(unparsed), read, hits, failed, plain)
