"""Several questions at once, where a subject can take them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from embodied_iqa.images.frame import Frame
from embodied_iqa.subjects.protocols import Vlm

__all__ = ["BatchVlm", "Question", "answer_all"]

Question = tuple[Frame, str]
"""A picture and the task about it."""


@runtime_checkable
class BatchVlm(Protocol):
    """A VLM that is faster with several questions at once."""

    def answer_batch(self, questions: Sequence[Question]) -> list[str]:
        """Answer each question, as `Vlm.answer` would."""
        ...


def answer_all(vlm: Vlm, questions: Sequence[Question]) -> list[str]:
    """Answer each question, several at once where the subject can."""
    if isinstance(vlm, BatchVlm):
        return vlm.answer_batch(questions)
    return [vlm.answer(frame, task) for frame, task in questions]
