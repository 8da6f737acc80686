"""A learned describer: a picture and words in, an answer in about ten words out."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.images.frame import Frame
from embodied_iqa.subjects.panel.format import Vocabulary
from embodied_iqa.subjects.panel.network import PanelNetwork
from embodied_iqa.subjects.protocols import SubjectInfo

__all__ = ["LearnedVlm"]


class LearnedVlm:
    """Answers greedily, word by word: the same picture and task give the same answer.

    Args:
        folder: Where network and card lie.
        name: The member.
    """

    def __init__(self, folder: Path, name: str) -> None:
        self._network = PanelNetwork(folder, name)
        card = self._network.card
        self._info = SubjectInfo(card.name, card.version, card.summary, card.views)
        self._answer_words = Vocabulary(card.answer_words)

    @property
    def info(self) -> SubjectInfo:
        """Who answers."""
        return self._info

    def answer(self, frame: Frame, task: str) -> str:
        """Answer a task about the picture; words that it was not taught count as unknown."""
        return self.describe(frame.rgb, task)

    def describe(self, rgb: NDArray[np.uint8], task: str) -> str:
        """Answer a task about a bare ``(H, W, 3)`` picture."""
        (numbers,) = self._network.run(task, [rgb])
        return self._answer_words.decode(int(number) for number in numbers)
