"""Captioning model (ONNX): image and task in, an answer of about ten words out."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.imaging.images.frame import Frame
from embodied_iqa.models.subjects.backends.panel.format import Vocabulary
from embodied_iqa.models.subjects.backends.panel.network import PanelNetwork
from embodied_iqa.models.subjects.batching import Question


class LearnedVlm:
    """Decodes greedily: the same image and task give the same answer.

    Args:
        folder: Folder of network and card.
        name: Name of the member.
        called: Name in answers and recordings; empty for the member's own.
    """

    def __init__(self, folder: Path, name: str, called: str = "") -> None:
        self._network = PanelNetwork(folder, name)
        self.info = self._network.info(called)
        self._answer_words = Vocabulary(self._network.card.answer_words)

    def answer(self, frame: Frame, task: str) -> str:
        """Answer a task about an image; words outside the vocabulary count as unknown."""
        return self.describe(frame.rgb, task)

    def answer_batch(self, questions: Sequence[Question]) -> list[str]:
        """Answer each question; successive ones about the same image share one inference."""
        answers: list[str] = []
        for _, group in groupby(questions, lambda question: id(question[0].rgb)):
            asked = list(group)
            answers += self._answers(asked[0][0].rgb, [task for _, task in asked])
        return answers

    def features(self, frame: Frame) -> NDArray[np.float32]:
        """Return ``(cells, C)``, what the network sees before any task is read."""
        return self._network.features(frame)

    def describe(self, rgb: NDArray[np.uint8], task: str, *, prepared: bool = False) -> str:
        """Answer a task about an ``(H, W, 3)`` image; see `PanelNetwork.run`."""
        return self._answers(rgb, [task], prepared=prepared)[0]

    def _answers(self, rgb: NDArray[np.uint8], tasks: Sequence[str], *, prepared: bool = False) -> list[str]:
        (answers,) = self._network.run(tasks, [rgb], prepared=prepared)
        return [self._answer_words.decode(int(number) for number in numbers) for numbers in answers]
