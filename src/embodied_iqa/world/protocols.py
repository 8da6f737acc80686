"""What a subject sees and answers: models that answer (VLM), act (VLA) or plan (planner) on images."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol, TypeVar, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.base.errors import UsageError
from embodied_iqa.imaging.images.frame import Frame, View

_Subject = TypeVar("_Subject")


@dataclass(frozen=True, slots=True)
class SubjectInfo:
    """Description of a subject, stored with every answer and score.

    Attributes:
        name: Name of the catalogue, such as ``classical-vla``, or reference.
        version: Changes whenever answers can change.
        description: One sentence.
        views: Input views; a VLA aims in the first.
        any_view: It accepts images of any camera; ``views`` then only names its live input.
        simulation_only: A VLA that must not move a real arm: it was trained on simulated images only.
        rate_hz: Rate at which the increments of a VLA's chunks follow each other; None for waypoints, which
            the arm reaches at its own speed, and where it is unknown.
        joints_of: Arm whose joints a VLA commands, as in its action convention; empty where it commands the
            tool. Only a subject that declares it gets `VlaObservation.q_rad` and may give
            `ActionChunk.joints_rad`.
        parts: Policies of which each can decide with its own cameras, the preferred one first; empty for a
            single subject.
        privileged: A scripted expert: it alone is shown `VlaObservation.objects`.
        worlds: Names of the worlds that a policy can act in; empty: it does not say.
    """

    name: str
    version: str
    description: str
    views: tuple[View, ...]
    any_view: bool = False
    simulation_only: bool = False
    rate_hz: float | None = None
    joints_of: str = ""
    parts: tuple[SubjectInfo, ...] = ()
    privileged: bool = False
    worlds: tuple[str, ...] = ()

    def at_turn(self, turn: int) -> SubjectInfo:
        """Return the policy that decides; each turn it is the next one.

        Args:
            turn: Number of decisions of this run that the gate held or a policy refused.
        """
        return self.parts[turn % len(self.parts)] if self.parts else self

    def shown_view(self, cameras: Sequence[str]) -> View:
        """Return the camera whose images a VLM is shown in a trial.

        Args:
            cameras: Those of the cell, the first one first; empty: not known.

        Returns:
            The first of its views; where the cell lacks it and the model takes any images, the cell's first.

        Raises:
            UsageError: It lists no view.
        """
        if self.any_view and cameras and self.views[:1] not in {(camera,) for camera in cameras}:
            return View(cameras[0])
        if not self.views:
            raise UsageError(f"{self.name} lists no view", expected="the cameras whose images it is for")
        return self.views[0]

    def is_made_for(self, view: View) -> bool:
        """Whether the subject is meant for images of this camera."""
        return self.any_view or view in self.views


class ChunkStatus(StrEnum):
    """Status of a chunk."""

    ACT = "act"
    """Increments follow."""
    DONE = "done"
    """The task looks done; no increments."""
    NO_TARGET = "no_target"
    """The object of the task is not visible; no increments."""


def is_refusal(status: ChunkStatus | None, on_reference: ChunkStatus | None) -> bool:
    """Return whether a policy saw no target on a distorted image, and did on the reference.

    A refusal moves nothing: it is not a wrong motion.
    """
    return status is ChunkStatus.NO_TARGET and on_reference is not ChunkStatus.NO_TARGET


@dataclass(frozen=True, slots=True, eq=False)
class VlaObservation:
    """Input of a VLA.

    Attributes:
        frames: One frame per view of the subject.
        instruction: The task.
        T_base_tool: ``(4, 4)`` float64, the tool centre point in the base frame at the frame's time (m).
        gripper: Gripper state in [0, 1]: 0 open, 1 closed.
        step: Number of chunks executed before in this run.
        q_rad: ``(6,)`` float64, joint angles of our arm at the frame's time; None for a subject that does not
            command joints, and where they are not known.
        native_state: ``(S,)`` float64, the robot's state in the order and units of the world's own policies,
            whose images are then prepared as in their published evaluation (LIBERO: position [m], axis times
            angle [rad], fingers [m]); None elsewhere.
        objects: Poses of the objects by name, ``(4, 4)`` in the base frame (m), for a scripted expert
            (`SubjectInfo.privileged`); None for every other subject.
    """

    frames: Mapping[View, Frame]
    instruction: str
    T_base_tool: NDArray[np.float64]
    gripper: float
    step: int
    q_rad: NDArray[np.float64] | None = None
    native_state: NDArray[np.float64] | None = None
    objects: Mapping[str, NDArray[np.float64]] | None = None

    def frames_of(self, views: Sequence[View]) -> list[Frame]:
        """Return the frames of views.

        Raises:
            UsageError: A view is missing.
        """
        missing = [view for view in views if view not in self.frames]
        if missing:
            raise UsageError("a view is missing", expected=", ".join(missing), available=list(self.frames))
        return [self.frames[view] for view in views]


@dataclass(frozen=True, slots=True, eq=False)
class ActionChunk:
    """A sequence of 7-DoF increments.

    Attributes:
        status: Whether increments follow.
        increments: ``(K, 7)`` float64, each row ``(x, y, z, rx, ry, rz, g)``: displacement in m and
            rotation vector in rad, both in the tool frame *before* the increment, so that they chain onto
            the pose at the start, ``T_k = T_0 dT_1 ... dT_k``; ``g`` is the gripper state *after* the
            increment in [0, 1] (0 open, 1 closed). ``K`` is 0 unless the status is ACT.
        reason: In a few words ("sees no red cube").
        target_px: Pixel ``(u, v)`` of the target in the first view, or None; for reports only.
        seen: Probability in [0, 1] that the images show what the task names, by the subject's own estimate;
            None where it has none.
        joints_rad: ``(K, 6)`` float64, joint angles after each step, of a subject that commands the joints of
            our arm (`SubjectInfo.joints_of`): it moves them, instead of its tool along the increments, which
            lead to the same places. None otherwise.
    """

    status: ChunkStatus
    increments: NDArray[np.float64]
    reason: str
    target_px: tuple[float, float] | None = None
    seen: float | None = None
    joints_rad: NDArray[np.float64] | None = None

    @classmethod
    def still(cls, status: ChunkStatus, reason: str, seen: float | None = None) -> ActionChunk:
        """Return a chunk without increments."""
        return cls(status, np.empty((0, 7)), reason, seen=seen)


class Vlm(Protocol):
    """A vision-language model: cognition."""

    @property
    def info(self) -> SubjectInfo:
        """Description of the subject."""
        ...

    def answer(self, frame: Frame, task: str) -> str:
        """Answer ``task`` about the image in about ten words; may be empty."""
        ...


class Vla(Protocol):
    """A vision-language-action model: decision. Stateless: the same observation gives the same chunk."""

    @property
    def info(self) -> SubjectInfo:
        """Description of the subject."""
        ...

    def act(self, observation: VlaObservation) -> ActionChunk:
        """Return the next chunk."""
        ...


class Speaker(StrEnum):
    """Who says a message."""

    SYSTEM = "system"
    USER = "user"
    ASSISTANT = "assistant"


@dataclass(frozen=True, slots=True, eq=False)
class Message:
    """One message of a conversation with a planner.

    Attributes:
        speaker: Who says it.
        parts: Text and images in order; an image is ``(H, W, 3)`` uint8, red first.
    """

    speaker: Speaker
    parts: tuple[str | NDArray[np.uint8], ...]

    @property
    def text(self) -> str:
        """The text parts, one a line."""
        return "\n".join(part for part in self.parts if isinstance(part, str))


class Planner(Protocol):
    """A vision-language model that plans low-level actions itself: several images in, text out."""

    @property
    def info(self) -> SubjectInfo:
        """Description of the subject."""
        ...

    def plan(self, messages: Sequence[Message], schema: str = "") -> str:
        """Return the answer to a conversation, as the model wrote it; may be empty.

        Args:
            messages: The conversation; the last message is the user's.
            schema: JSON schema of the answer, as text, for models that can be bound to one; may be empty.
        """
        ...


@runtime_checkable
class FeatureSubject(Protocol):
    """A subject that shows its features: what its vision encoder returns before any task is read."""

    @property
    def info(self) -> SubjectInfo:
        """Description of the subject."""
        ...

    def features(self, frame: Frame) -> NDArray[np.float32]:
        """Return the ``(tokens, C)`` token map of an image; images of one size have as many tokens.

        Raises:
            InputError: The network at hand has none.
        """
        ...


@runtime_checkable
class Closable(Protocol):
    """A subject that holds a connection or a process."""

    def close(self) -> None:
        """Release it, and end waiting calls; calling it twice is fine."""
        ...


def close_subject(subject: object) -> None:
    """Close a subject that can be closed."""
    if isinstance(subject, Closable):
        subject.close()


@contextmanager
def closing_subject(subject: _Subject) -> Iterator[_Subject]:
    """Close a subject that can be closed at the end of the block."""
    try:
        yield subject
    finally:
        close_subject(subject)
