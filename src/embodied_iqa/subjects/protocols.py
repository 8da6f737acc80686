"""What a subject is: a model that looks at pictures and answers (VLM) or acts (VLA)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.images.frame import Frame, View

__all__ = ["ActionChunk", "ChunkStatus", "Closable", "SubjectInfo", "Vla", "VlaObservation", "Vlm"]


@dataclass(frozen=True, slots=True)
class SubjectInfo:
    """Who answers: stored with every answer and every score.

    Attributes:
        name: The name in the registry, such as ``classical-vla``.
        version: Changes whenever answers can change.
        description: One honest sentence about what this subject is.
        views: The views that it looks at; a VLA's first view is the one that its actions name.
        any_view: It is made for pictures of any camera; ``views`` then only says which one it sees live.
        simulation_only: A VLA that must not move a real arm: it was trained on simulated images only.
    """

    name: str
    version: str
    description: str
    views: tuple[View, ...]
    any_view: bool = False
    simulation_only: bool = False

    def is_made_for(self, view: View) -> bool:
        """Whether pictures of this camera are what the subject is meant to look at."""
        return self.any_view or view in self.views


class ChunkStatus(StrEnum):
    """What a VLA says with a chunk."""

    ACT = "act"
    """Increments follow."""
    DONE = "done"
    """The task looks done: no increments."""
    NO_TARGET = "no_target"
    """The object of the task is not seen: no increments, never an invented one."""


@dataclass(frozen=True, slots=True, eq=False)
class VlaObservation:
    """What a VLA gets.

    Attributes:
        frames: One frame for each of the subject's views.
        instruction: The task in words.
        T_base_tool: ``(4, 4)`` float64, the tool centre point in the base frame at the frame's time (m).
        gripper: Gripper state in [0, 1]: 0 open, 1 closed.
        step: Number of chunks that were executed before in this run.
    """

    frames: Mapping[View, Frame]
    instruction: str
    T_base_tool: NDArray[np.float64]
    gripper: float
    step: int


@dataclass(frozen=True, slots=True, eq=False)
class ActionChunk:
    """A sequence of 7-DoF increments.

    Attributes:
        status: Whether there is something to do.
        increments: ``(K, 7)`` float64, each row ``(x, y, z, rx, ry, rz, g)``: displacement in m and
            rotation vector in rad, both in the tool frame *before* the increment, so that they chain onto
            the pose at the start, ``T_k = T_0 dT_1 ... dT_k``; ``g`` is the gripper state *after* the
            increment in [0, 1] (0 open, 1 closed). ``K`` is 0 unless the status is ACT.
        reason: Why, in a few words ("sees no red cube").
        target_px: Pixel ``(u, v)`` of what the subject aims at in its first view, or None. For reports only.
    """

    status: ChunkStatus
    increments: NDArray[np.float64]
    reason: str
    target_px: tuple[float, float] | None = None


class Vlm(Protocol):
    """A vision-language model: cognition."""

    @property
    def info(self) -> SubjectInfo:
        """Who answers."""
        ...

    def answer(self, frame: Frame, task: str) -> str:
        """Answer ``task`` about the picture in about ten words; empty where the model has nothing to say."""
        ...


class Vla(Protocol):
    """A vision-language-action model: decision. Stateless: the same observation gives the same chunk."""

    @property
    def info(self) -> SubjectInfo:
        """Who acts."""
        ...

    def act(self, observation: VlaObservation) -> ActionChunk:
        """Choose what to do next."""
        ...


@runtime_checkable
class Closable(Protocol):
    """A subject that holds a connection or a process."""

    def close(self) -> None:
        """Let it go, and wake whoever waits for an answer; twice is fine."""
        ...
