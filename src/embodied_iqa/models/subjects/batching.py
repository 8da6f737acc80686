"""Batches of questions, for subjects that support them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from embodied_iqa.imaging.images.frame import Frame
from embodied_iqa.world.protocols import ActionChunk, Vla, VlaObservation, Vlm

Question = tuple[Frame, str]
"""An image and a task."""


@runtime_checkable
class BatchVlm(Protocol):
    """A VLM that is faster with several questions at once."""

    def answer_batch(self, questions: Sequence[Question]) -> list[str]:
        """Answer each question, as `Vlm.answer` would."""
        ...


@runtime_checkable
class BatchVla(Protocol):
    """A VLA that is faster with several observations at once."""

    def act_batch(self, observations: Sequence[VlaObservation]) -> list[ActionChunk]:
        """Return a chunk per observation, as `Vla.act` would."""
        ...


def answer_all(vlm: Vlm, questions: Sequence[Question]) -> list[str]:
    """Answer each question, in batches if the subject supports them."""
    if isinstance(vlm, BatchVlm):
        return vlm.answer_batch(questions)
    return [vlm.answer(frame, task) for frame, task in questions]


def act_all(vla: Vla, observations: Sequence[VlaObservation]) -> list[ActionChunk]:
    """Return a chunk per observation, in batches if the subject supports them."""
    if isinstance(vla, BatchVla):
        return vla.act_batch(observations)
    return [vla.act(observation) for observation in observations]
