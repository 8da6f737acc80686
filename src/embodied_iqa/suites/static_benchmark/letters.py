"""Letter of an answer: what a subject states, never a guess.

Unlike in VLMEvalKit (commit e8e78f0), nothing is drawn at random, a letter counts anywhere in the answer, a
short option does not match inside a longer word, and logging has no effect.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from embodied_iqa.suites.static_benchmark.items import LETTERS

_MOST_CHARACTERS: Final = 20_000
"""The end of a longer answer counts."""
_THOUGHTS: Final = re.compile(r"<(think|thinking|reasoning)>.*?(?:</\1>|\Z)", re.DOTALL | re.IGNORECASE)
_ORPHANED_END: Final = re.compile(r"\A.*</(?:think|thinking|reasoning)>", re.DOTALL | re.IGNORECASE)
_FENCE: Final = re.compile(r"```[a-z]*\n?|`", re.IGNORECASE)
_LATEX: Final = re.compile(r"\\(?:boxed|text|textbf|mathrm|mathbf)\s*\{([^{}]*)\}")
_MARKUP: Final = re.compile(r"\*+|__|</?[a-z]{1,10}/?>|\$", re.IGNORECASE)
_FREE: Final = r"(?![\w'-])"
_ARTICLE: Final = r"(?!(?<=\bA)\s+(?!is\b|because\b|since\b|as\b|seems\b|and\b|or\b)[a-z])"
"""After a letter: an "A" before a word in lower case is the article."""
_LETTER: Final = rf"[(\[\"']*([A-Z]){_FREE}{_ARTICLE}"
_SMALL: Final = r"[(\[\"']*([a-z])(?=[)\]\"'.,;:!?]|\s*\Z|\s*\n)"
"""A letter in lower case: only where nothing but a mark or the end follows, as "a" may be the article."""
_AFTER_STATEMENT: Final = (
    r"\b(?i:(?:correct |right |best |final |my )*(?:answer|option|choice))"
    r"\s*(?i:is|would be|must be|:|=|-)+\s*:?\s*(?i:the )?(?i:option |letter |choice )?"
)
_STATED: Final = (
    re.compile(
        r"[\"'](?:answer|option|choice|letter)[\"']\s*:\s*[\"']\(?([A-Za-z])\)?(?:[.):][^\"']*)?[\"']"
    ),
    re.compile(_AFTER_STATEMENT + _LETTER),
    re.compile(_AFTER_STATEMENT + _SMALL),
    re.compile(rf"\b(?i:choose|select|pick|go with|answer with)\s+(?i:option |letter |choice )?{_LETTER}"),
    re.compile(
        rf"{_LETTER}[)\]\"']*(?:\s*:\s*|\s+(?i:is|seems)\s+)(?i:the )?(?i:correct|right|best|answer|true)\b"
    ),
    re.compile(rf"\A{_LETTER}[)\]\"'.:]*\s*[,;:-]?\s+(?i:since|because|as|given)\b"),
    re.compile(r"^[ \t(\[\"']*([A-Z])[)\]\"'.: \t]*$", re.MULTILINE),
)
"""A sentence, a field or a line of its own that states the answer; the first group is the letter."""
_ALTERNATIVE: Final = re.compile(
    r"[)\]\"']*\s*(?:,|/|\b(?i:or|and)\b)\s*(?i:(?:maybe|perhaps|possibly|also|even|rather|or|and)\s+)*"
    r"(?i:option |letter |choice )?[(\[\"']*([A-Za-z])(?=[)\]\"'.,;:!?]|\s*\Z|\s*\n|\s+(?i:or|and)\b)"
)
"""A further letter right after a stated one: "A or maybe B"."""
_FORMS: Final = (
    re.compile(r"\(([A-Z])\)"),
    re.compile(r"(?:\A|(?<=\n)|(?<=\s))([A-Z])[.):](?=\s|\Z)"),
    re.compile(rf"\b(?i:option)\s+{_LETTER}"),
)
"""A letter in the form of an option: (B), B., B:, option B."""
_NEGATED: Final = re.compile(
    r"\b(?:not|isn't|never|neither|nor)\s+(?i:option |the |a |an )*[(\[]*[A-Z](?![\w'-])", re.MULTILINE
)
_DENIED: Final = re.compile(
    r"[(\[]*\b[A-Z]\b[)\]]*(?:\s*:|\s+(?:is|seems|looks))\s+(?:not|wrong|incorrect|false)\b"
    r"|[(\[]*\b[A-Z]\b[)\]]*\s+isn't\b"
)
_REFUSAL: Final = re.compile(
    r"\b(?:i(?:'m| am) sorry|i (?:can(?:no|')t|can not|am (?:unable|not able)|won't|do not|don't)\b"
    r"|as an ai\b|unable to (?:answer|determine|see|help|tell)|cannot be determined)",
    re.IGNORECASE,
)


class Reading(StrEnum):
    """What an answer says."""

    LETTER = "letter"
    """Exactly one option."""
    UNPARSED = "unparsed"
    """No option, or several."""
    REFUSED = "refused"
    """The subject refuses or cannot tell."""
    EMPTY = "empty"
    """Nothing."""
    FAILED = "failed"
    """The subject gave no answer: an error."""


@dataclass(frozen=True, slots=True)
class LetterAnswer:
    """An answer that was read.

    Attributes:
        reading: What it says.
        letter: The letter of an option; empty unless the reading is LETTER.
    """

    reading: Reading
    letter: str = ""


def read_letter(text: str, options: Sequence[str]) -> LetterAnswer:
    """Return the option that an answer states.

    In this order: a sentence or a line of its own that states a letter, a letter in the form of an option,
    the only letter of an option that stands alone, the text of exactly one option. Two different letters of
    one kind are unparsed, and so is a statement with an alternative.

    Args:
        text: The answer.
        options: The options, A first.
    """
    said = _plain(text)
    if not said:
        return LetterAnswer(Reading.EMPTY)
    letters = LETTERS[: len(options)]
    affirmed = _DENIED.sub(" ", _NEGATED.sub(" ", said))
    for read in (_stated, _formed):
        if found := read(affirmed):
            return _only(found & set(letters) if len(found) == 1 else set())
    alone = _alone(affirmed, letters)
    if alone:
        return _only(alone)
    named = _named(said, options)
    if not named and _REFUSAL.search(said):
        return LetterAnswer(Reading.REFUSED)
    return _only({letters[place] for place in named})


def _stated(text: str) -> set[str]:
    """Return the letters that sentences, fields or lines state, with the alternatives that follow them."""
    found = set()
    for statement in (match for pattern in _STATED for match in pattern.finditer(text)):
        letter: re.Match[str] | None = statement
        while letter is not None:
            found.add(letter.group(1).upper())
            letter = _ALTERNATIVE.match(text, letter.end(1))
    return found


def _formed(text: str) -> set[str]:
    return {letter for pattern in _FORMS for letter in pattern.findall(text)}


def _only(letters: set[str]) -> LetterAnswer:
    if len(letters) != 1:
        return LetterAnswer(Reading.UNPARSED)
    return LetterAnswer(Reading.LETTER, min(letters))


def _plain(text: str) -> str:
    """Return an answer without thoughts, code fences and markup, full-width characters folded."""
    text = unicodedata.normalize("NFKC", text)
    text = _THOUGHTS.sub(" ", text)
    text = _ORPHANED_END.sub(" ", text)[-_MOST_CHARACTERS:]
    return _MARKUP.sub("", _LATEX.sub(r" \1 ", _FENCE.sub("", text))).strip()


def _alone(text: str, letters: str) -> set[str]:
    """Return the letters of options that stand alone; a whole answer may be in lower case."""
    if len(text) <= 3 and (bare := text.strip(" ().:[]\"'").upper()) in set(letters):
        return {bare}
    found = set(re.findall(rf"(?<![\w'-])([{letters}]){_FREE}{_ARTICLE}", text))
    return found - {"I"} if "I'" in text or "I " in text else found


def _named(text: str, options: Sequence[str]) -> set[int]:
    """Return the options whose text stands in the answer as whole words, the longest first."""
    rest = " ".join(text.casefold().split())
    found: set[int] = set()
    for place in sorted(range(len(options)), key=lambda place: -len(options[place])):
        words = re.escape(" ".join(options[place].casefold().rstrip(".").split()))
        pattern = re.compile(rf"(?<![\w])((?:\b(?:not|isn't) (?:the |a |an )?)?){words}(?![\w])")
        if any(not match.group(1) for match in pattern.finditer(rest)):
            found.add(place)
        rest = pattern.sub(" \0 ", rest)
    return found
