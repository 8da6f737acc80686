"""Rows of the database's tables, and the Arrow schemas that follow from them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Final

import pyarrow as pa

from embodied_iqa.base.tables import schema_of
from embodied_iqa.imaging.images.frame import View
from embodied_iqa.models.subjects.catalogue import Role
from embodied_iqa.world.protocols import ChunkStatus
from embodied_iqa.world.tasks.task import TaskSource

SCHEMA_VERSION: Final = 4
"""Changes with every change that a reader of the tables has to follow."""

_Small = Annotated[int, pa.int8()]


class SourceKind(StrEnum):
    """Origin of a reference."""

    SIMULATION = "simulation"
    FOLDER = "folder"
    RECORDING = "recording"
    DATASET = "dataset"
    """Of LeRobot."""
    VIDEO = "video"
    LIBERO = "libero"


class Person(StrEnum):
    """Perspective of a view: the robot's own (wrist) or an observer's (top, side)."""

    FIRST = "first"
    THIRD = "third"


@dataclass(frozen=True, slots=True)
class Camera:
    """An image of the reference's instant: file, hash of its pixels, pinhole model, pose."""

    view: View
    image: str
    sha256: str
    fx_px: float | None
    """This and the three that follow: null where the pinhole model is not known."""
    fy_px: float | None
    cx_px: float | None
    cy_px: float | None
    T_base_camera: tuple[float, ...] | None
    """16 numbers, row by row (m); null where the pose is not known."""

    @property
    def pinhole_px(self) -> tuple[float, float, float, float] | None:
        """``(fx, fy, cx, cy)``, or None."""
        numbers = (self.fx_px, self.fy_px, self.cx_px, self.cy_px)
        known = tuple(number for number in numbers if number is not None)
        return (known[0], known[1], known[2], known[3]) if len(known) == len(numbers) else None


@dataclass(frozen=True, slots=True)
class Reference:
    """A reference image."""

    reference_id: str
    source: SourceKind
    origin: str
    """Seed, file name, topic and stamp, or suite, task and initial state of LIBERO."""
    real: bool
    """A photograph; false for simulation."""
    view: View
    person: Person
    main_object: str | None
    """Category of the main object."""
    main_kind: str | None
    background: str | None
    scene_seed: int | None
    instruction: str | None
    """The task for which the scene was made, in canonical words."""
    stamp_ns: int | None
    """Null where the time is not known, as of photographs; earlier versions wrote 0 for these."""
    width_px: int
    height_px: int
    image: str
    """Of `view`, relative to the database."""
    sha256: str
    """Of the image's pixels."""
    cameras: tuple[Camera, ...]
    """All views of this instant, `view` included."""
    T_base_tool: tuple[float, ...] | None
    """16 numbers, row by row (m); null where the pose of the tool is not known."""
    gripper: float | None
    """0 open to 1 closed; null where it is not known."""
    luminance: float
    """This and the following columns: `database.attributes`."""
    contrast: float
    chrominance: float
    sharpness: float
    spatial_information: float

    @property
    def noise_stamp_ns(self) -> int:
        """The stamp by which its images are distorted: 0 where its time is not known."""
        return self.stamp_ns or 0

    @property
    def title(self) -> str:
        """Its origin, for people: of an image file the name, without the hash."""
        return self.origin.rpartition(" ")[0] if self.source is SourceKind.FOLDER else self.origin


@dataclass(frozen=True, slots=True)
class ReferenceTask:
    """A task of a reference, which has up to five. See `world.tasks.task.Task`."""

    reference_id: str
    task_id: str
    rank: _Small
    """1 (easiest) to 5."""
    text: str
    ability: str | None
    """Null where it is not known, for which earlier versions wrote an empty text, as for `plan`."""
    verb: str | None
    instruction: str | None
    plan: str | None
    difficulty: int | None
    """In points; null where nobody counted them, for which earlier versions wrote 0."""
    source: TaskSource


@dataclass(frozen=True, slots=True)
class Pair:
    """A distorted image of a reference's `view`."""

    pair_id: str
    reference_id: str
    distortion_id: str
    """"01" to "30"."""
    distortion_name: str
    distortion_class: str
    level: _Small
    """1 (mild) to 5 (severe)."""
    seed: int
    """Seed of the distortion."""
    image: str | None
    """Null where the image is made again from its seed."""
    sha256: str
    """Of the distorted image's pixels."""
    luminance: float
    """This and the following columns: `database.attributes`."""
    contrast: float
    chrominance: float
    sharpness: float
    spatial_information: float


@dataclass(frozen=True, slots=True)
class Annotation:
    """An answer of a subject; `annotations/<subject>/part-*.parquet`."""

    subject: str
    subject_version: str
    role: Role
    reference_id: str
    pair_id: str | None
    """Null for the answer on the reference itself."""
    task_id: str
    rank: _Small
    distortion_id: str
    """Empty for the reference."""
    level: _Small
    """0 for the reference."""
    own_view: bool
    """The subject is made for the reference's view, or for any."""
    answer: str | None
    """Of a VLM."""
    status: ChunkStatus | None
    """Of a VLA."""
    increments: tuple[float, ...] | None
    """Of a VLA: K x 7, row by row (m, rad, gripper)."""
    reason: str | None
    """Explanation of a VLA."""
    seen: float | None
    """Probability in [0, 1] that the image shows what the task names, by the VLA; null if it has none."""
    error: str | None
    """Why there is no answer."""


@dataclass(frozen=True, slots=True)
class Score:
    """Score of a subject for a pair and a task; its opinion on the pair is five times the mean over tasks."""

    subject: str
    role: Role
    reference_id: str
    pair_id: str
    task_id: str
    rank: _Small
    distortion_id: str
    level: _Small
    view: View
    """Of the reference."""
    own_view: bool
    precision: float | None = None
    """VLM: BLEU, 0 to 1."""
    recall: float | None = None
    """VLM: ROUGE-L, 0 to 1."""
    semantics: float | None = None
    """VLM: CIDEr / 10, 0 to 1."""
    position: float | None = None
    """VLA: 0 to 1."""
    rotation: float | None = None
    """VLA: 0 to 1."""
    state: float | None = None
    """VLA: 0 to 1."""
    score: float | None = None
    """Mean of the three, 0 to 1 (best); null where the subject failed."""
    position_error_mm: float | None = None
    """VLA."""
    refused: bool | None = None
    """VLA: it saw no target on the distorted image, and did on the reference.

    What its score lacks is lost by refusal, else by wrong motion.
    """


REFERENCES: Final = schema_of(Reference)
TASKS: Final = schema_of(ReferenceTask)
PAIRS: Final = schema_of(Pair)
ANNOTATIONS: Final = schema_of(Annotation)
SCORES: Final = schema_of(Score)
