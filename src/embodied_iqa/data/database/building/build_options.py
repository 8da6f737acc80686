"""Plan and options of a build."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final

from embodied_iqa.base.config import check_ranges, ranged
from embodied_iqa.base.errors import UsageError
from embodied_iqa.base.jobs.engine import EngineOptions
from embodied_iqa.data.database.sources.candidate import ReferenceSource
from embodied_iqa.models.subjects.reference import SubjectReference
from embodied_iqa.models.subjects.subject_options import VlaOptions, VlmOptions

BLOCK: Final = 4
"""References in a block: the work of one job, and the most that a kill loses."""


_EVERY_LEVEL: Final = (1, 2, 3, 4, 5)
"""`LEVELS` of the distortions, whose package would load OpenCV for the help of the command."""


class Step(StrEnum):
    """The steps of a build, in order."""

    REFERENCES = "references"
    TASKS = "tasks"
    DISTORT = "distort"
    ANNOTATE = "annotate"
    SCORE = "score"


class ImageStorage(StrEnum):
    """What is kept of the distorted images."""

    IMAGES = "images"
    """The images."""
    SEEDS = "seeds"
    """Their seeds: images are made again from reference and seed whenever they are needed."""


@dataclass(frozen=True, slots=True)
class BuildPlan:
    """What the database's content depends on, besides its subjects.

    Attributes:
        references: Their number; may grow later.
        source: Source of the references.
        seed: Of scenes, levels and distortions.
        levels: Of each distortion; empty: one drawn at random for each.
        store: What is kept of the distorted images.
        fewer_do: Where the source has no more that can be used, fewer references do.
    """

    references: int
    source: ReferenceSource
    seed: int = ranged(0, 0, 2**32 - 1)
    levels: tuple[int, ...] = ()
    store: ImageStorage = ImageStorage.IMAGES
    fewer_do: bool = False

    def __post_init__(self) -> None:
        check_ranges(self)
        object.__setattr__(self, "levels", tuple(sorted(self.levels)))
        if self.references < 1:
            raise UsageError("wrong number of references", expected="1 or more", got=self.references)

    @property
    def levels_in_words(self) -> str:
        """The levels as the plan of the database keeps them."""
        if not self.levels:
            return "one at random"
        return "all" if self.levels == _EVERY_LEVEL else ",".join(map(str, self.levels))

    def tree(self) -> dict[str, Any]:
        """Return what must be the same when a build is continued."""
        return {
            "source": self.source.description,
            "seed": self.seed,
            "levels": self.levels_in_words,
            "store": str(self.store),
        }


@dataclass(frozen=True, slots=True)
class BuildOptions:
    """Build options; except for the subjects, they do not change the content of the database.

    Attributes:
        subjects: References of VLMs and VLAs; subjects that are already in the database stay.
        steps: The steps to run.
        engine: What runs the jobs.
        vlm: Options of VLMs.
        vla: Options of VLAs.
        retry: Query again where a subject failed.
        command: Builds the same again; kept in the record until the build has ended.
        chosen: Whether a user named the subjects; others are those of the database, whose answers stay.
    """

    subjects: tuple[SubjectReference, ...] = ()
    steps: tuple[Step, ...] = tuple(Step)
    engine: EngineOptions = field(default_factory=EngineOptions)
    vlm: VlmOptions = field(default_factory=VlmOptions)
    vla: VlaOptions = field(default_factory=VlaOptions)
    retry: bool = False
    command: str = "the same build"
    chosen: bool = True
