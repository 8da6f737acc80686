"""A subject that answers messages: one at a time, or several at once where it can."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol, runtime_checkable

from embodied_iqa.images.frame import Frame
from embodied_iqa.subjects.options import Progress, VlaOptions, VlmOptions, silent
from embodied_iqa.subjects.protocols import ActionChunk, SubjectInfo, Vla, VlaObservation, Vlm
from embodied_iqa.subjects.reference import parse_reference
from embodied_iqa.subjects.registry import Role, make_vla, make_vlm
from embodied_iqa.subjects.serving.questions import chunk_to_map, frame_from, observation_from, words_from
from embodied_iqa.subjects.wire.policy_client import OWN_PROTOCOL

__all__ = ["BatchVla", "BatchVlm", "ServedSubject", "serve_vla", "serve_vlm"]

_CONVENTIONS: Final = {Role.VLA: "increments", Role.VLM: ""}


@runtime_checkable
class BatchVla(Protocol):
    """A VLA that decides about several observations at once."""

    def act_batch(self, observations: Sequence[VlaObservation]) -> Sequence[ActionChunk]:
        """Return a chunk for each observation, the same as `act` gives."""
        ...


@runtime_checkable
class BatchVlm(Protocol):
    """A VLM that answers several questions at once."""

    def answer_batch(self, questions: Sequence[tuple[Frame, str]]) -> Sequence[str]:
        """Return an answer for each frame and task, the same as `answer` gives."""
        ...


@dataclass(frozen=True, slots=True)
class ServedSubject:
    """What a server needs of a subject.

    Attributes:
        info: Who answers.
        role: VLA or VLM.
        revision: Of its weights; empty where there are none, or none is known.
        understand: Turns a message into a question, quickly; raises `InputError`.
        answer: Turns questions into answers, one for each.
        batches: Whether several at once are quicker than one after the other.
    """

    info: SubjectInfo
    role: Role
    revision: str
    understand: Callable[[Mapping[str, Any]], Any]
    answer: Callable[[Sequence[Any]], Sequence[dict[str, Any]]]
    batches: bool

    @property
    def identity(self) -> dict[str, Any]:
        """Name, version and revision: in every answer."""
        return {"name": self.info.name, "version": self.info.version, "revision": self.revision}

    @property
    def metadata(self) -> dict[str, Any]:
        """What a client is told first."""
        return {
            **self.identity,
            "protocol": OWN_PROTOCOL,
            "role": str(self.role),
            "convention": _CONVENTIONS[self.role],
            "views": [str(view) for view in self.info.views],
            "description": self.info.description,
        }


def serve_vla(text: str, options: VlaOptions | None = None, progress: Progress = silent) -> ServedSubject:
    """Load a VLA for serving.

    Raises:
        UserError: It cannot be loaded.
    """
    vla: Vla = make_vla(text, options, progress)
    revision = parse_reference(text, Role.VLA).revision
    views = vla.info.views

    def answer(questions: Sequence[VlaObservation]) -> list[dict[str, Any]]:
        if isinstance(vla, BatchVla):
            return [chunk_to_map(chunk) for chunk in vla.act_batch(questions)]
        return [chunk_to_map(vla.act(question)) for question in questions]

    def understand(message: Mapping[str, Any]) -> VlaObservation:
        return observation_from(message, views)

    return ServedSubject(vla.info, Role.VLA, revision, understand, answer, isinstance(vla, BatchVla))


def serve_vlm(text: str, options: VlmOptions | None = None, progress: Progress = silent) -> ServedSubject:
    """Load a VLM for serving: a question is a ``prompt`` and one frame of its first view.

    Raises:
        UserError: It cannot be loaded.
    """
    vlm: Vlm = make_vlm(text, options, progress)
    revision = parse_reference(text, Role.VLM).revision
    view = vlm.info.views[0]

    def understand(message: Mapping[str, Any]) -> tuple[Frame, str]:
        frames = message.get("frames")
        content = frames.get(view) if isinstance(frames, dict) else None
        return frame_from(content, view), words_from(message, "prompt")

    def answer(questions: Sequence[tuple[Frame, str]]) -> list[dict[str, Any]]:
        if isinstance(vlm, BatchVlm):
            return [{"answer": words} for words in vlm.answer_batch(questions)]
        return [{"answer": vlm.answer(frame, task)} for frame, task in questions]

    return ServedSubject(vlm.info, Role.VLM, revision, understand, answer, isinstance(vlm, BatchVlm))
