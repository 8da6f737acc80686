"""Subjects of a build: loaded once in each process; a failure of one does not affect the others."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Final, TypeVar

import numpy as np

from embodied_iqa.base.errors import InternalError, first_line
from embodied_iqa.imaging.images.frame import Frame, UnknownCameraError, View
from embodied_iqa.models.subjects.batching import BatchVla, BatchVlm, Question, act_all, answer_all
from embodied_iqa.models.subjects.catalogue import Role
from embodied_iqa.models.subjects.reference import SubjectReference
from embodied_iqa.models.subjects.registry import make_vla, make_vlm, single_policy
from embodied_iqa.models.subjects.subject_options import VlaOptions, VlmOptions
from embodied_iqa.world.protocols import ActionChunk, SubjectInfo, Vla, VlaObservation, Vlm

_BATCH: Final = 40
"""Queries in a batch: eight images with their five tasks; a model may divide it further."""
_REASON_CHARACTERS: Final = 200

ItemT = TypeVar("ItemT")
AnswerT = TypeVar("AnswerT")


@dataclass(frozen=True, slots=True)
class Failure:
    """Why there is no answer, in one line.

    Attributes:
        reason: The error.
        camera_unknown: The subject computes with a camera, or with the pose of the tool, of which nothing is
            known; it is not out of order.
    """

    reason: str
    camera_unknown: bool = False


@dataclass(slots=True)
class QueryCost:
    """Cost and failures of queries.

    Attributes:
        queries: Their number.
        failures: Number of queries without an answer.
        cameras_unknown: How many of them because nothing is known of the camera, or of the tool.
        seconds: Time inside of the subject.
        first_reason: Of the first failure; empty for none.
    """

    queries: int = 0
    failures: int = 0
    cameras_unknown: int = 0
    seconds: float = 0.0
    first_reason: str = ""


@dataclass(frozen=True, slots=True)
class Member:
    """A loaded subject of the panel.

    Attributes:
        name: Its reference in the panel.
        role: VLM or VLA.
        info: What it reports about itself.
        model: The subject.
        cost: Of all queries since it was loaded.
    """

    name: str
    role: Role
    info: SubjectInfo
    model: Any
    cost: QueryCost = field(default_factory=QueryCost)

    def answers(self, questions: Sequence[Question]) -> list[str | Failure]:
        """Query a VLM; one answer for each question, in their order."""
        model: Vlm = self.model
        return self._query(questions, lambda part: answer_all(model, part), _fault_of_text)

    def chunks(self, observations: Sequence[VlaObservation]) -> list[ActionChunk | Failure]:
        """Query a VLA; one chunk for each observation, in their order."""
        model: Vla = self.model
        return self._query(observations, lambda part: act_all(model, part), _fault_of_chunk)

    def without_answers(self, count: int, reason: str) -> list[Failure]:
        """Count queries that are not made, as what they need is not known; return their failures."""
        self.cost.queries += count
        self.cost.failures += count
        self.cost.cameras_unknown += count
        self.cost.first_reason = self.cost.first_reason or reason
        return [Failure(reason, camera_unknown=True)] * count

    def _query(
        self,
        items: Sequence[ItemT],
        query: Callable[[Sequence[ItemT]], list[AnswerT]],
        fault_of: Callable[[AnswerT], str | None],
    ) -> list[AnswerT | Failure]:
        def attempt(part: Sequence[ItemT]) -> list[AnswerT | Failure]:
            answers = _attempt(part, query)
            if not isinstance(answers, Failure):
                faults = map(fault_of, answers)
                return [
                    a if fault is None else Failure(fault) for a, fault in zip(answers, faults, strict=True)
                ]
            if len(part) == 1:
                return [answers]
            # one bad query may fail its whole batch: repeat each on its own
            return [attempt([item])[0] for item in part]

        found: list[AnswerT | Failure] = []
        size = _BATCH if isinstance(self.model, BatchVlm | BatchVla) else 1
        started = time.perf_counter()
        for at in range(0, len(items), size):
            found += attempt(items[at : at + size])
        self.cost.seconds += time.perf_counter() - started
        failures = [item for item in found if isinstance(item, Failure)]
        self.cost.queries += len(found)
        self.cost.failures += len(failures)
        self.cost.cameras_unknown += sum(item.camera_unknown for item in failures)
        if failures and not self.cost.first_reason:
            self.cost.first_reason = failures[0].reason
        return found


def _attempt(
    part: Sequence[ItemT], query: Callable[[Sequence[ItemT]], list[AnswerT]]
) -> list[AnswerT] | Failure:
    try:
        answers = query(part)
    except InternalError:
        raise
    except Exception as error:  # noqa: BLE001 - a model may raise any library's errors
        reason = f"{type(error).__name__}: {first_line(error)}"[:_REASON_CHARACTERS]
        return Failure(reason, isinstance(error, UnknownCameraError))
    if len(answers) != len(part):
        return Failure(f"{len(answers)} answers to {len(part)} questions")
    return answers


def _fault_of_text(answer: object) -> str | None:
    return None if isinstance(answer, str) else f"not text but {type(answer).__name__}"


def _fault_of_chunk(chunk: ActionChunk) -> str | None:
    increments = np.asarray(chunk.increments)
    if increments.ndim != 2 or increments.shape[1] != 7:
        return f"increments of shape {increments.shape}"
    if chunk.seen is not None and not 0.0 <= chunk.seen <= 1.0:
        return f"a probability of {chunk.seen} that the target is seen"
    return None if np.isfinite(increments).all() else "increments that are not finite"


@cache
def load_member(reference: SubjectReference, vlm: VlmOptions, vla: VlaOptions) -> Member:
    """Load a subject, once in each process.

    Raises:
        UserError: It cannot be loaded or reached.
    """
    is_vlm = reference.role is Role.VLM
    model: Any = make_vlm(reference, vlm) if is_vlm else make_vla(single_policy(reference), vla)
    return Member(reference.text, reference.role, model.info, model)


def cameras_for(views: Sequence[View], reference_view: View) -> dict[View, View]:
    """Return whose image each of a subject's cameras shows; one of them always shows the reference.

    A subject with the reference's camera gets the image as that camera's; any other one gets it as its
    first camera's. Its other cameras show their own image of the same instant.

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
    """Return the frames of a subject, as in `cameras_for`, with the poses from which they were taken.

    Args:
        views: The subject's cameras.
        reference_view: The reference's camera.
        frames: The images of that instant, distorted alike; the reference's replaces a missing one.
    """
    shown = {}
    for view, taken in cameras_for(views, reference_view).items():
        frame = frames.get(taken, frames[reference_view])
        shown[view] = Frame(view, frame.stamp_ns, frame.rgb, frame.intrinsics, frame.T_base_camera)
    return shown
