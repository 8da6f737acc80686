"""What a subject is asked about an item, and how its answer becomes a letter: adapters by name."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from enum import StrEnum
from typing import Final

from embodied_iqa.models.scoring.frequencies import words
from embodied_iqa.suites.static_benchmark.items import Item
from embodied_iqa.suites.static_benchmark.letters import LetterAnswer, Reading, read_letter

_REQUEST: Final = "Choose one of the options above and answer with its letter."


class Adapter(StrEnum):
    """How a subject is asked and read."""

    LETTER = "letter"
    """The question with its options; the answer states a letter."""
    NEAREST_OPTION = "nearest-option"
    """The question alone; of the options, the one nearest to an answer of about ten words."""


def asked_text(item: Item, adapter: Adapter) -> str:
    """Return the text that is sent behind the image."""
    if adapter is Adapter.NEAREST_OPTION:
        return item.question
    lines = [f"Hint: {item.hint}"] if item.hint else []
    lines += [f"Question: {item.question}", "Options:"]
    lines += [f"{letter}. {option}" for letter, option in zip(item.letters, item.options, strict=True)]
    return "\n".join((*lines, _REQUEST))


def read_answer(text: str, item: Item, adapter: Adapter) -> LetterAnswer:
    """Return the option of an answer."""
    if adapter is Adapter.NEAREST_OPTION:
        return nearest_option(text, item)
    return read_letter(text, item.options)


def nearest_option(text: str, item: Item) -> LetterAnswer:
    """Return the option that shares most with an answer: F1 of their words.

    Words that all options share are left out. Without a common word, or with a tie, the answer is unparsed.
    """
    scores = option_scores(text, item)
    if not scores:
        return LetterAnswer(Reading.EMPTY)
    best = max(scores)
    if best == 0 or scores.count(best) > 1:
        return LetterAnswer(Reading.UNPARSED)
    return LetterAnswer(Reading.LETTER, item.letters[scores.index(best)])


def option_scores(text: str, item: Item) -> list[float]:
    """Return how near an answer is to each option, F1 of their words; no numbers for an empty answer."""
    said = Counter(words(text))
    return _scores(said, [Counter(words(option)) for option in item.options]) if said else []


def _scores(said: Counter[str], options: Sequence[Counter[str]]) -> list[float]:
    shared = options[0].copy()
    for option in options[1:]:
        shared &= option
    scores = []
    for option in options:
        own = option - shared
        total = own.total() + said.total()
        scores.append(2 * (own & said).total() / total if own.total() else 0.0)
    return scores
