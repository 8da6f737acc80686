"""Subjects of the questions: dummies of known score, and every VLM of the catalogue."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Final

import numpy as np

from embodied_iqa.base.errors import UsageError
from embodied_iqa.data.database.building.build_subjects import Failure, Member
from embodied_iqa.imaging.images.frame import Frame
from embodied_iqa.models.subjects.catalogue import Backend, Role
from embodied_iqa.models.subjects.prompt import QUESTION_PROMPT
from embodied_iqa.models.subjects.reference import SubjectReference, parse_reference
from embodied_iqa.models.subjects.registry import check_backend, make_vlm
from embodied_iqa.models.subjects.subject_options import VlmOptions
from embodied_iqa.suites.static_benchmark.asking import Adapter
from embodied_iqa.suites.static_benchmark.items import Item
from embodied_iqa.world.protocols import SubjectInfo

DUMMIES: Final = {
    "oracle": "knows the right letter",
    "letter-a": "always answers A",
    "random": "draws a letter, the same one for the same row",
}
"""Name of a test subject to what it does."""
_DUMMY_VERSION: Final = "1"
_TEN_WORDS: Final = frozenset({Backend.EMBEDDED, Backend.PANEL})
"""Back ends whose subjects describe in about ten words and answer no letters."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A subject of an evaluation, before it is loaded.

    Attributes:
        name: Its reference or the name of a dummy.
        reference: None for a dummy.
    """

    name: str
    reference: SubjectReference | None = None

    @property
    def adapter(self) -> Adapter:
        """How it is asked and read."""
        ten_words = self.reference is not None and self.reference.backend in _TEN_WORDS
        return Adapter.NEAREST_OPTION if ten_words else Adapter.LETTER


@dataclass(frozen=True, slots=True)
class Answerer:
    """A loaded subject.

    Attributes:
        asked: Which one.
        version: Changes whenever its answers can change.
        member: The model; None for a dummy.
    """

    asked: Asked
    version: str
    member: Member | None = field(repr=False)

    def answers(
        self, items: Sequence[Item], frames: Sequence[Frame], texts: Sequence[str]
    ) -> list[str | Failure]:
        """Return an answer for each item.

        Args:
            items: What is asked; only dummies look at them.
            frames: Image of each item.
            texts: What is sent for each item.
        """
        if self.member is None:
            return [_dummy_answer(self.asked.name, item) for item in items]
        # equal questions about one image, such as rotations without their options, are asked once
        questions = list(zip(frames, texts, strict=True))
        keys = [(id(frame.rgb), text) for frame, text in questions]
        first = {key: place for place, key in reversed(list(enumerate(keys)))}
        places = sorted(first.values())
        found = dict(zip(places, self.member.answers([questions[place] for place in places]), strict=True))
        return [found[first[key]] for key in keys]

    @property
    def seconds(self) -> float:
        """Time inside of the model since it was loaded."""
        return 0.0 if self.member is None else self.member.cost.seconds


def parse_subjects(text: str) -> tuple[Asked, ...]:
    """Return the subjects of a command line, by commas, each once.

    Raises:
        UsageError: One is unknown or not a VLM, or there is none.
    """
    names = list(dict.fromkeys(word.strip() for word in text.split(",") if word.strip()))
    if not names:
        raise UsageError("no subjects", expected="VLMs by commas", available=DUMMIES)
    return tuple(Asked(name) if name in DUMMIES else Asked(name, _vlm(name)) for name in names)


def _vlm(name: str) -> SubjectReference:
    reference = parse_reference(name)
    if reference.role is not Role.VLM:
        raise UsageError(f"{name} answers no questions", expected="a VLM", got=str(reference.role))
    check_backend(reference)
    return reference


@cache
def load_answerer(asked: Asked, options: VlmOptions) -> Answerer:
    """Load a subject, once in each process; it is asked the text alone, without a prompt around it.

    Raises:
        UserError: It cannot be loaded or reached.
    """
    if asked.reference is None:
        return Answerer(asked, _DUMMY_VERSION, None)
    model = make_vlm(asked.reference, options, prompt=QUESTION_PROMPT)
    info: SubjectInfo = model.info
    return Answerer(asked, info.version, Member(asked.name, Role.VLM, info, model))


def _dummy_answer(name: str, item: Item) -> str:
    if name == "oracle":
        return item.answer
    if name == "letter-a":
        return "A"
    rng = np.random.default_rng(np.random.SeedSequence([item.index, 0x57A71C]))
    return item.letters[int(rng.integers(len(item.letters)))]
