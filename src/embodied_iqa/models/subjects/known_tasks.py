"""Tasks that subjects can parse: any sentence, except for those of this package, which know a few words."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Final

from embodied_iqa.base.errors import UsageError
from embodied_iqa.base.lazy import load
from embodied_iqa.models.subjects.catalogue import Backend
from embodied_iqa.models.subjects.model_card import ModelCard, load_card
from embodied_iqa.models.subjects.reference import SubjectReference
from embodied_iqa.world.tasks.instruction import parse_instruction
from embodied_iqa.world.tasks.vocabulary import VERB_WORDS, Colour, Kind, Verb

PANEL_FACTORY: Final = "embodied_iqa.models.subjects.backends.panel.shipped_members"
"""Module of the factories in the catalogue that make members of the panel."""
_UNSEEN: Final = re.compile(r"I see no |I see .*, but no ")
_WORDS: Final = re.compile(r"[^\W_]+")


def check_parses(subject: SubjectReference, task: str) -> None:
    """Check that a subject can parse a task; models and servers take any sentence.

    A classical subject parses the instructions of the simulated cell, a member of the panel every sentence
    with a verb and no word that is new to it.

    Raises:
        UsageError: It cannot; the message names the subject, and what it knows.
        InputError: A member of the panel has no readable card.
    """
    for part in subject.parts or (subject,):
        if part.backend in {Backend.EMBEDDED, Backend.PANEL}:
            _check(part, task)


def _check(subject: SubjectReference, task: str) -> None:
    try:
        parse_instruction(task)
    except UsageError as error:
        reason = "; ".join(str(error).split("; ")[:2])
        if _is_of_panel(subject) and not (reason := _unknown_to_panel(subject, task)):
            return
        known = f"verbs {', '.join(Verb)}; colours {', '.join(Colour)}; objects {', '.join(Kind)}"
        raise UsageError(
            f"{subject} cannot parse {task!r} ({reason})",
            expected=f"{known}; or another subject (--vlm, --vla; --vlm none: no VLM)",
        ) from None


def _unknown_to_panel(subject: SubjectReference, task: str) -> str:
    """Return what a member of the panel does not know in a task; empty for nothing."""
    words, known = _WORDS.findall(task.lower()), _card(subject).words
    unknown = [word for word in dict.fromkeys(words) if word not in known]
    if unknown:
        return f"unknown words {', '.join(unknown)}"
    return "" if any(word in VERB_WORDS for word in words) else "no verb"


def names_no_target(answer: str) -> bool:
    """Whether a subject of this package says that it does not see the object of the task."""
    return _UNSEEN.match(answer) is not None


def _is_of_panel(subject: SubjectReference) -> bool:
    factory = "" if subject.entry is None else subject.entry.factory
    return subject.backend is Backend.PANEL or factory.startswith(PANEL_FACTORY)


@cache
def _card(subject: SubjectReference) -> ModelCard:
    if subject.backend is Backend.PANEL:
        return load_card(Path(f"{Path(subject.target).expanduser()}.json"))
    card: ModelCard = load(f"{PANEL_FACTORY}:card_of")(subject.text)
    return card
