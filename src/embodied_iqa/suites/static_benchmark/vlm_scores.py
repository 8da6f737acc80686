"""Scores of VLMs on multiple-choice items."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from embodied_iqa.data.analysis.paired import mcnemar
from embodied_iqa.models.scoring.proportions import Share, wilson
from embodied_iqa.suites.static_benchmark.circular import CircularScore, circular_score
from embodied_iqa.suites.static_benchmark.conditions import CLEAN
from embodied_iqa.suites.static_benchmark.items import Item
from embodied_iqa.suites.static_benchmark.judging import JudgeScore
from embodied_iqa.suites.static_benchmark.letters import Reading
from embodied_iqa.suites.static_benchmark.stored_answers import AnswerPart, ItemAnswer
from embodied_iqa.suites.static_benchmark.subjects import DUMMIES

UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class LetterShare:
    """Position bias of one letter.

    Attributes:
        letter: The letter.
        answered: Its share among the answers with a letter; 0 without such answers.
        right: Its share among the right answers.
    """

    letter: str
    answered: float
    right: float


@dataclass(frozen=True, slots=True)
class Cell:
    """Plain hits of a group of items.

    Attributes:
        dimension: Of the items, or "unknown".
        person: Their camera, or "unknown".
        source: Where they come from; may be empty.
        options: Number of their options.
        hits: Share of right answers with Wilson's interval.
        unparsed: Share of unparsed answers.
    """

    dimension: str
    person: str
    source: str
    options: int
    hits: Share
    unparsed: float


@dataclass(frozen=True, slots=True)
class AnsweredScore:
    """Hits of the items whose answer has a letter.

    Attributes:
        hits: Share of right answers among them, with Wilson's interval.
        chance: Mean of 1/k over them.
    """

    hits: Share
    chance: float


@dataclass(frozen=True, slots=True)
class GroupScore:
    """Plain hits of items of one dimension and camera; "all" stands for every one.

    Attributes:
        dimension: Of the items, "all" or "unknown".
        person: Their camera, "all" or "unknown".
        hits: Share of right answers with Wilson's interval.
        unparsed: Share of unparsed answers.
        chance: Mean of 1/k over these items.
        of_answered: Hits of those with a letter as the answer; None without such answers.
    """

    dimension: str
    person: str
    hits: Share
    unparsed: float
    chance: float
    of_answered: AnsweredScore | None = None


@dataclass(frozen=True, slots=True)
class ConditionScore:
    """Unrotated items under a condition, against those on clean images.

    Attributes:
        condition: Such as ``12:3``.
        hits: Share of right answers.
        minus_clean: This share minus that on clean images.
        right_to_wrong: Number of items right on the clean image only.
        wrong_to_right: Number of items right under the condition only.
        consistency: Share of items with the same letter as on the clean image, of those with a letter
            there; None without such items.
        unparsed: Share of unparsed answers.
        dimensions: Hits of each dimension.
    """

    condition: str
    hits: Share
    minus_clean: float
    right_to_wrong: int
    wrong_to_right: int
    consistency: float | None
    unparsed: float
    dimensions: tuple[GroupScore, ...]


@dataclass(frozen=True, slots=True)
class SubjectScore:
    """Scores of a subject.

    Attributes:
        subject: Its name.
        version: Its version.
        adapter: How it was asked and read.
        plain: Share of right answers to unrotated items on clean images; mean over items.
        chance: Mean of 1/k.
        circular: None unless rotations were asked.
        readings: Number of answers to unrotated items by what they say; unparsed, refused, empty and failed
            ones are wrong.
        bias: Letters among the answers to unrotated items.
        groups: Dimension x camera, with sums.
        cells: Dimension x camera x source x number of options.
        conditions: Scores under other conditions.
        judged: What a judge read in unparsed answers; None without a judge.
    """

    subject: str
    version: str
    adapter: str
    plain: Share
    chance: float
    circular: CircularScore | None
    readings: Mapping[str, int]
    bias: tuple[LetterShare, ...]
    groups: tuple[GroupScore, ...]
    cells: tuple[Cell, ...]
    conditions: tuple[ConditionScore, ...]
    judged: JudgeScore | None = None


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two subjects on the same unrotated items and clean images.

    Attributes:
        first: A subject.
        second: Another one.
        only_first: Number of items that only the first has right.
        only_second: Number of items that only the second has right.
        p_value: Of McNemar's exact test, two-sided.
    """

    first: str
    second: str
    only_first: int
    only_second: int
    p_value: float


@dataclass(frozen=True, slots=True)
class VlmScores:
    """Scores of an evaluation.

    Attributes:
        format: 1.
        benchmark_md5: Of the items.
        subjects: In the order of the command.
        comparisons: Every pair of subjects.
        failed_by_all: Indices of unrotated items that every subject of `without_dummies` has wrong on the
            clean image.
    """

    format: int
    benchmark_md5: str
    subjects: tuple[SubjectScore, ...]
    comparisons: tuple[Comparison, ...]
    failed_by_all: tuple[int, ...]


def score_vlms(items: Sequence[Item], parts: Iterable[AnswerPart], md5: str) -> VlmScores:
    """Score the answers of an evaluation.

    Args:
        items: All rows that were asked on clean images, in their order.
        parts: Their answers.
        md5: Of the items' file.
    """
    answers: dict[str, dict[str, dict[int, ItemAnswer]]] = {}
    infos: dict[str, AnswerPart] = {}
    for part in parts:
        infos[part.subject] = part
        rows = answers.setdefault(part.subject, {}).setdefault(part.condition, {})
        rows.update({answer.index: answer for answer in part.answers})
    plain = [item for item in items if item.index == item.group]
    subjects = tuple(_score(infos[name], items, plain, rows) for name, rows in answers.items())
    hits = {name: [_is_hit(item, rows[CLEAN]) for item in plain] for name, rows in answers.items()}
    asked = without_dummies(hits)
    nobody = tuple(
        item.index for place, item in enumerate(plain) if not any(hits[name][place] for name in asked)
    )
    return VlmScores(1, md5, subjects, _comparisons(hits), nobody)


def without_dummies(subjects: Iterable[str]) -> list[str]:
    """Return the names of subjects that look at the image, or of all where there are only dummies."""
    names = list(subjects)
    return [name for name in names if name not in DUMMIES] or names


def _score(
    info: AnswerPart,
    items: Sequence[Item],
    plain: Sequence[Item],
    by_condition: Mapping[str, Mapping[int, ItemAnswer]],
) -> SubjectScore:
    clean = by_condition[CLEAN]
    share = _share(plain, clean)
    readings = Counter(clean[item.index].reading for item in plain)
    others = [name for name in by_condition if name != CLEAN]
    return SubjectScore(
        info.subject,
        info.version,
        info.adapter,
        share,
        _chance(plain),
        None if len(items) == len(plain) else circular_score(items, clean, share.value),
        {str(reading): readings[reading] for reading in Reading},
        position_bias(plain, clean),
        group_scores(plain, clean),
        _cells(plain, clean),
        tuple(_condition_score(name, plain, clean, by_condition[name]) for name in others),
    )


def position_bias(items: Sequence[Item], answers: Mapping[int, ItemAnswer]) -> tuple[LetterShare, ...]:
    """Return the share of each letter among answers and among right answers."""
    given = Counter(answers[item.index].letter for item in items)
    del given[""]
    right = Counter(item.answer for item in items)
    letters = sorted({letter for item in items for letter in item.letters})
    total = max(1, given.total())
    return tuple(LetterShare(letter, given[letter] / total, right[letter] / len(items)) for letter in letters)


def group_scores(items: Sequence[Item], answers: Mapping[int, ItemAnswer]) -> tuple[GroupScore, ...]:
    """Return the hits of each dimension and camera, with the sums over either and both ("all")."""
    groups: dict[tuple[str, str], list[Item]] = {}
    for item in items:
        dimension, person = str(item.dimension or UNKNOWN), str(item.person or UNKNOWN)
        for key in ((dimension, person), (dimension, "all"), ("all", person), ("all", "all")):
            groups.setdefault(key, []).append(item)
    return tuple(
        GroupScore(
            *key,
            _share(rows, answers),
            _unparsed(rows, answers),
            _chance(rows),
            answered_score(rows, answers),
        )
        for key, rows in sorted(groups.items())
    )


def answered_score(items: Sequence[Item], answers: Mapping[int, ItemAnswer]) -> AnsweredScore | None:
    """Return the hits among the answers with a letter; None without such answers.

    Random letters are at chance here, whatever the share of answers without one.
    """
    lettered = [(item, answers[item.index].letter) for item in items if answers[item.index].letter]
    if not lettered:
        return None
    hits = wilson(sum(letter == item.answer for item, letter in lettered), len(lettered))
    return AnsweredScore(hits, float(np.mean([1 / len(item.options) for item, _ in lettered])))


def _cells(items: Sequence[Item], answers: Mapping[int, ItemAnswer]) -> tuple[Cell, ...]:
    groups: dict[tuple[str, str, str, int], list[Item]] = {}
    for item in items:
        labels = str(item.dimension or UNKNOWN), str(item.person or UNKNOWN), item.source
        groups.setdefault((*labels, len(item.options)), []).append(item)
    return tuple(
        Cell(*key, _share(groups[key], answers), _unparsed(groups[key], answers)) for key in sorted(groups)
    )


def _condition_score(
    name: str, items: Sequence[Item], clean: Mapping[int, ItemAnswer], answers: Mapping[int, ItemAnswer]
) -> ConditionScore:
    before = [_is_hit(item, clean) for item in items]
    after = [_is_hit(item, answers) for item in items]
    lettered = [item.index for item in items if clean[item.index].letter]
    same = [clean[index].letter == answers[index].letter for index in lettered]
    share = _share(items, answers)
    return ConditionScore(
        name,
        share,
        share.value - sum(before) / len(items),
        sum(old and not new for old, new in zip(before, after, strict=True)),
        sum(new and not old for old, new in zip(before, after, strict=True)),
        sum(same) / len(same) if same else None,
        _unparsed(items, answers),
        tuple(group for group in group_scores(items, answers) if group.person == "all"),
    )


def _comparisons(hits: Mapping[str, Sequence[bool]]) -> tuple[Comparison, ...]:
    found = []
    for first, second in combinations(hits, 2):
        one, two = np.array(hits[first], dtype=bool), np.array(hits[second], dtype=bool)
        only = int((one & ~two).sum()), int((two & ~one).sum())
        found.append(Comparison(first, second, *only, mcnemar(one, two)))
    return tuple(found)


def _is_hit(item: Item, answers: Mapping[int, ItemAnswer]) -> bool:
    return answers[item.index].letter == item.answer


def _share(items: Sequence[Item], answers: Mapping[int, ItemAnswer]) -> Share:
    return wilson(sum(_is_hit(item, answers) for item in items), len(items))


def _chance(items: Sequence[Item]) -> float:
    return float(np.mean([1 / len(item.options) for item in items]))


def _unparsed(items: Sequence[Item], answers: Mapping[int, ItemAnswer]) -> float:
    return sum(answers[item.index].reading is Reading.UNPARSED for item in items) / len(items)
