"""Candidates for references, and the protocol of their sources."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.base.kinematics import HOME_Q_RAD, Kinematics
from embodied_iqa.data.database.schema import SourceKind
from embodied_iqa.imaging.images.frame import Frame, View
from embodied_iqa.world.scenes.dimensions import T_flange_tool
from embodied_iqa.world.tasks.task import Task
from embodied_iqa.world.tasks.task_files import ImageTasks


@dataclass(frozen=True, slots=True, eq=False)
class Candidate:
    """An image that may become a reference.

    Attributes:
        source: Kind of its source.
        origin: Its place in the source; identifies the reference together with the view.
        real: A photograph; False for simulation.
        view: Of the image that is assessed.
        frames: This image and others of the same instant.
        T_base_tool: ``(4, 4)`` float64, the tool (m); None where it is not known.
        gripper: 0 open to 1 closed; likewise.
        tasks: The tasks for the subjects.
        main_object: Category of the main object; None where unknown.
        main_kind: Its kind, likewise.
        background: Likewise.
        scene_seed: Of a simulated scene.
        instruction: The task for which the scene was made, or that the robot was executing.
        is_timed: Whether it is known when it was taken; otherwise the stamps of its frames are 0.
    """

    source: SourceKind
    origin: str
    real: bool
    view: View
    frames: Mapping[View, Frame]
    T_base_tool: NDArray[np.float64] | None
    gripper: float | None
    tasks: tuple[Task, ...]
    main_object: str | None = None
    main_kind: str | None = None
    background: str | None = None
    scene_seed: int | None = None
    instruction: str | None = None
    is_timed: bool = True

    @property
    def reference_id(self) -> str:
        """Identifier; the same on every machine."""
        return "r" + hashlib.sha256(f"{self.origin}|{self.view}".encode()).hexdigest()[:12]


class ReferenceSource(Protocol):
    """A sequence of candidates that any process can read."""

    @property
    def count(self) -> int | None:
        """Number of candidates; None for unlimited."""
        ...

    @property
    def description(self) -> str:
        """One line for `dataset.json`; a database is built from sources of one description."""
        ...

    @property
    def fingerprint(self) -> str:
        """Hash of the annotations of people, which may be corrected later; empty where there are none."""
        ...

    def name_of(self, index: int) -> str:
        """Return what lists call a candidate, also one that cannot be read."""
        ...

    def read(self, index: int) -> Candidate:
        """Return a candidate; an index gives the same one in every process.

        Raises:
            InputError: This one cannot be used; others may.
        """
        ...


def fingerprint_of(items: Iterable[ImageTasks]) -> str:
    """Return a hash of a task file's entries, independent of their order and lines."""
    texts = sorted(_written(item) for item in items)
    return hashlib.sha256("\n".join(texts).encode()).hexdigest()[:32]


def _written(item: ImageTasks) -> str:
    # stored fingerprints hash this text, from the time when images were called pictures and unknown points 0
    text = repr(replace(item, line=0)).replace(", labels=ImageLabels(", ", labels=PictureLabels(")
    text = text.replace(", difficulty=None, source=", ", difficulty=0, source=")
    return f"PictureTasks{text.removeprefix(ImageTasks.__name__)}"


def short_id(text: str) -> str:
    """Return the identifier of a task that no file lists; the same on every machine."""
    return "b" + hashlib.sha256(text.encode()).hexdigest()[:15]


@cache
def home_tool() -> NDArray[np.float64]:
    """Return the pose of the tool while the arm is at home, ``(4, 4)`` (m)."""
    return np.array(Kinematics(np.asarray(T_flange_tool)).forward(np.array(HOME_Q_RAD)))
