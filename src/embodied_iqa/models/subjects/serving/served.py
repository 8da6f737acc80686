"""A loaded subject as the policy server needs it: messages in, messages out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from embodied_iqa.imaging.images.frame import Frame
from embodied_iqa.models.subjects.batching import BatchVla, BatchVlm, act_all, answer_all
from embodied_iqa.models.subjects.catalogue import Role
from embodied_iqa.models.subjects.reference import SubjectReference
from embodied_iqa.models.subjects.registry import make_vla, make_vlm, single_policy
from embodied_iqa.models.subjects.serving.questions import (
    chunk_to_map,
    frame_from,
    image_from,
    observation_from,
    words_from,
)
from embodied_iqa.models.subjects.subject_options import Progress, VlaOptions, VlmOptions, silent
from embodied_iqa.models.subjects.wire.policy_client import OWN_PROTOCOL
from embodied_iqa.world.protocols import FeatureSubject, SubjectInfo, VlaObservation

_CONVENTIONS: Final = {Role.VLA: "increments", Role.VLM: ""}


@dataclass(frozen=True, slots=True)
class ServedSubject:
    """A subject behind a server.

    Attributes:
        info: Description of the subject.
        role: VLA or VLM.
        revision: Of its weights; may be empty.
        understand: Parses a question, quickly; raises `InputError`.
        answer: Answers questions, one answer each.
        batches: Whether several questions at once are faster than one after the other.
        features: Whether it also answers questions for the features of an image.
    """

    info: SubjectInfo
    role: Role
    revision: str
    understand: Callable[[Mapping[str, Any]], Any]
    answer: Callable[[Sequence[Any]], Sequence[dict[str, Any]]]
    batches: bool
    features: bool = False

    @property
    def identity(self) -> dict[str, Any]:
        """Name, version and revision: in every answer."""
        return {"name": self.info.name, "version": self.info.version, "revision": self.revision}

    @property
    def metadata(self) -> dict[str, Any]:
        """First message to a client."""
        return {
            **self.identity,
            "protocol": OWN_PROTOCOL,
            "role": str(self.role),
            "convention": _CONVENTIONS[self.role],
            "views": [str(view) for view in self.info.views],
            "simulation_only": self.info.simulation_only,
            "rate_hz": self.info.rate_hz,
            "joints_of": self.info.joints_of,
            "features": self.features,
            "description": self.info.description,
        }


def serve_vla(
    reference: SubjectReference, options: VlaOptions | None = None, progress: Progress = silent
) -> ServedSubject:
    """Load a VLA for serving.

    Raises:
        UserError: It cannot be loaded.
    """
    vla = make_vla(single_policy(reference), options, progress)

    shown = vla if isinstance(vla, FeatureSubject) else None

    def understand(message: Mapping[str, Any]) -> VlaObservation | Frame:
        if shown is not None and "features_of" in message:
            return image_from(message["features_of"])
        return observation_from(message, vla.info.views)

    def answer(questions: Sequence[VlaObservation | Frame]) -> list[dict[str, Any]]:
        asked = [item for item in questions if isinstance(item, VlaObservation)]
        chunks = iter(act_all(vla, asked))
        return [
            {"features": shown.features(item)}
            if shown is not None and isinstance(item, Frame)
            else chunk_to_map(next(chunks))
            for item in questions
        ]

    batches = isinstance(vla, BatchVla)
    return ServedSubject(
        vla.info, Role.VLA, reference.revision, understand, answer, batches, features=shown is not None
    )


def serve_vlm(
    reference: SubjectReference, options: VlmOptions | None = None, progress: Progress = silent
) -> ServedSubject:
    """Load a VLM for serving: a question is a ``prompt`` and one frame of its first view.

    Raises:
        UserError: It cannot be loaded.
    """
    vlm = make_vlm(reference, options, progress)
    view = vlm.info.views[0]

    def understand(message: Mapping[str, Any]) -> tuple[Frame, str]:
        frames = message.get("frames")
        content = frames.get(view) if isinstance(frames, dict) else None
        return frame_from(content, view), words_from(message, "prompt")

    def answer(questions: Sequence[tuple[Frame, str]]) -> list[dict[str, Any]]:
        return [{"answer": text} for text in answer_all(vlm, questions)]

    batches = isinstance(vlm, BatchVlm)
    return ServedSubject(vlm.info, Role.VLM, reference.revision, understand, answer, batches)
