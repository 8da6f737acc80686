"""Subjects as the builder asks them: loaded once a process, one failure never takes the others down."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Final, TypeVar

import numpy as np

from embodied_iqa.errors import InternalError
from embodied_iqa.images.frame import Frame, View
from embodied_iqa.subjects.batching import BatchVla, BatchVlm, Question, act_all, answer_all
from embodied_iqa.subjects.catalogue import Role
from embodied_iqa.subjects.options import VlaOptions, VlmOptions
from embodied_iqa.subjects.protocols import ActionChunk, SubjectInfo, Vla, VlaObservation, Vlm
from embodied_iqa.subjects.registry import make_vla, make_vlm, role_of

__all__ = ["Asked", "Failure", "Member", "cameras_for", "frames_for", "load_member"]

_BATCH: Final = 40
"""Questions at once, eight pictures with their five tasks; a model may cut that into smaller ones."""
_REASON_LETTERS: Final = 200

ItemT = TypeVar("ItemT")
AnswerT = TypeVar("AnswerT")


@dataclass(frozen=True, slots=True)
class Failure:
    """Why there is no answer, in one line."""

    reason: str


@dataclass(slots=True)
class Asked:
    """What asking cost and brought.

    Attributes:
        questions: How many.
        failures: How many of them had no answer.
        seconds: Inside of the subject.
        first_reason: Of the first failure; empty for none.
    """

    questions: int = 0
    failures: int = 0
    seconds: float = 0.0
    first_reason: str = ""


@dataclass(frozen=True, slots=True)
class Member:
    """A subject of the panel.

    Attributes:
        name: As the panel calls it.
        role: VLM or VLA.
        info: Who it says it is.
        model: The subject.
        asked: What asking has cost since it was loaded.
    """

    name: str
    role: Role
    info: SubjectInfo
    model: Any
    asked: Asked = field(default_factory=Asked)

    def answers(self, questions: Sequence[Question]) -> list[str | Failure]:
        """Ask a VLM; as many answers as questions, in their order."""
        model: Vlm = self.model
        return self._ask(questions, lambda part: answer_all(model, part), _checked_text)

    def chunks(self, observations: Sequence[VlaObservation]) -> list[ActionChunk | Failure]:
        """Ask a VLA; as many chunks as observations, in their order."""
        model: Vla = self.model
        return self._ask(observations, lambda part: act_all(model, part), _checked_chunk)

    def _ask(
        self,
        items: Sequence[ItemT],
        ask: Callable[[Sequence[ItemT]], list[AnswerT]],
        check: Callable[[AnswerT], str | None],
    ) -> list[AnswerT | Failure]:
        def judged(answer: AnswerT) -> AnswerT | Failure:
            reason = check(answer)
            return answer if reason is None else Failure(reason)

        def alone(item: ItemT) -> AnswerT | Failure:
            answers = _attempt([item], ask)
            return answers if isinstance(answers, Failure) else judged(answers[0])

        found: list[AnswerT | Failure] = []
        size = _BATCH if isinstance(self.model, BatchVlm | BatchVla) else 1
        begun = time.perf_counter()
        for at in range(0, len(items), size):
            part = items[at : at + size]
            answers = _attempt(part, ask)
            if isinstance(answers, Failure):
                # One question of several spoils them all: then each is asked alone.
                found += [answers] if len(part) == 1 else [alone(item) for item in part]
            else:
                found += [judged(answer) for answer in answers]
        self.asked.seconds += time.perf_counter() - begun
        self._count(found)
        return found

    def _count(self, found: Sequence[object]) -> None:
        failures = [item for item in found if isinstance(item, Failure)]
        self.asked.questions += len(found)
        self.asked.failures += len(failures)
        if failures and not self.asked.first_reason:
            self.asked.first_reason = failures[0].reason


def _attempt(
    part: Sequence[ItemT], ask: Callable[[Sequence[ItemT]], list[AnswerT]]
) -> list[AnswerT] | Failure:
    try:
        answers = ask(part)
    except InternalError:
        raise
    except Exception as error:  # noqa: BLE001 - a model may bring any library's errors
        text = (str(error).strip().splitlines() or ["no reason"])[0]
        return Failure(f"{type(error).__name__}: {text}"[:_REASON_LETTERS])
    if len(answers) != len(part):
        return Failure(f"{len(answers)} answers to {len(part)} questions")
    return answers


def _checked_text(answer: object) -> str | None:
    return None if isinstance(answer, str) else f"no text but {type(answer).__name__}"


def _checked_chunk(chunk: ActionChunk) -> str | None:
    increments = np.asarray(chunk.increments)
    if increments.ndim != 2 or increments.shape[1] != 7:
        return f"increments of shape {increments.shape}"
    return None if np.isfinite(increments).all() else "increments that are not finite"


@cache
def load_member(name: str, vlm: VlmOptions, vla: VlaOptions) -> Member:
    """Load a subject, once a process.

    Raises:
        UserError: It cannot be loaded or reached.
    """
    role = role_of(name)
    model: Any = make_vlm(name, vlm) if role is Role.VLM else make_vla(name, vla)
    return Member(name, role, model.info, model)


def cameras_for(views: Sequence[View], reference_view: View) -> dict[View, View]:
    """Return whose picture a subject is shown as each of its cameras: always the reference's as one of them.

    A subject that looks through the reference's camera gets the picture as that camera's; any other gets it
    as its first camera's. Its further cameras show their own picture of the same instant.

    Args:
        views: The subject's cameras.
        reference_view: The reference's camera.
    """
    shown = {view: view for view in views}
    if reference_view not in shown:
        shown[views[0]] = reference_view
    return shown


def frames_for(
    views: Sequence[View], reference_view: View, frames: Mapping[View, Frame]
) -> dict[View, Frame]:
    """Return what a subject is shown, as `cameras_for` says, with the poses that it was really taken from.

    Args:
        views: The subject's cameras.
        reference_view: The reference's camera.
        frames: The pictures of that instant, distorted alike; the reference's stands in for a missing one.
    """
    shown = {}
    for view, taken in cameras_for(views, reference_view).items():
        frame = frames.get(taken, frames[reference_view])
        shown[view] = Frame(view, frame.stamp_ns, frame.rgb, frame.intrinsics, frame.T_base_camera)
    return shown
