"""A learned describer: a picture and words in, an answer in about ten words out."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.images.frame import Frame
from embodied_iqa.subjects.backends.panel.format import Vocabulary
from embodied_iqa.subjects.backends.panel.network import PanelNetwork
from embodied_iqa.subjects.batching import Question
from embodied_iqa.subjects.protocols import SubjectInfo

__all__ = ["LearnedVlm"]


class LearnedVlm:
    """Answers greedily, word by word: the same picture and task give the same answer.

    Args:
        folder: Where network and card lie.
        name: The member.
        called: What its answers call it; its name where empty.
    """

    def __init__(self, folder: Path, name: str, called: str = "") -> None:
        self._network = PanelNetwork(folder, name)
        card = self._network.card
        self._info = SubjectInfo(
            name=called or card.name,
            version=card.version,
            description=card.summary,
            views=card.views,
            simulation_only=card.simulation_only,
        )
        self._answer_words = Vocabulary(card.answer_words)

    @property
    def info(self) -> SubjectInfo:
        """Who answers."""
        return self._info

    def answer(self, frame: Frame, task: str) -> str:
        """Answer a task about the picture; words that it was not taught count as unknown."""
        return self.describe(frame.rgb, task)

    def answer_batch(self, questions: Sequence[Question]) -> list[str]:
        """Answer each question; successive ones about the same picture look at it once."""
        answers: list[str] = []
        for _, group in groupby(questions, lambda question: id(question[0].rgb)):
            asked = list(group)
            answers += self._answers(asked[0][0].rgb, [task for _, task in asked])
        return answers

    def describe(self, rgb: NDArray[np.uint8], task: str) -> str:
        """Answer a task about a bare ``(H, W, 3)`` picture."""
        return self._answers(rgb, [task])[0]

    def _answers(self, rgb: NDArray[np.uint8], tasks: Sequence[str]) -> list[str]:
        (answers,) = self._network.run(tasks, [rgb])
        return [self._answer_words.decode(int(number) for number in numbers) for numbers in answers]
