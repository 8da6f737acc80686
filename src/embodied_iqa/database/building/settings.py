"""What a build is told."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any, Final

from embodied_iqa.database.references import ReferenceSource
from embodied_iqa.errors import UsageError
from embodied_iqa.subjects.options import VlaOptions, VlmOptions

__all__ = ["BLOCK", "BuildOptions", "BuildPlan", "EngineKind", "EngineOptions", "Step", "Store", "digest_of"]

BLOCK: Final = 4
"""References a block: what a worker does at once, and what a kill loses at most."""


class Step(StrEnum):
    """The steps of a build, in order."""

    REFERENCES = "references"
    TASKS = "tasks"
    DISTORT = "distort"
    ANNOTATE = "annotate"
    SCORE = "score"


class Store(StrEnum):
    """What becomes of the distorted pictures."""

    PICTURES = "pictures"
    """They are kept."""
    SEEDS = "seeds"
    """They are made again from reference and seed whenever they are needed."""


class EngineKind(StrEnum):
    """Who does the blocks."""

    PROCESSES = "processes"
    RAY = "ray"


@dataclass(frozen=True, slots=True)
class BuildPlan:
    """What the database's content depends on, beside its subjects.

    Attributes:
        references: How many; may grow later.
        source: Where they come from.
        seed: Of levels and distortions.
        all_levels: Every level of each distortion; else one drawn at random for each.
        store: Whether distorted pictures are kept.
    """

    references: int
    source: ReferenceSource
    seed: int = 0
    all_levels: bool = False
    store: Store = Store.PICTURES

    def __post_init__(self) -> None:
        if self.references < 1 or not 0 <= self.seed < 2**32:
            raise UsageError(
                "wrong plan", expected="1 or more references, a seed from 0", got=(self.references, self.seed)
            )

    def tree(self) -> dict[str, Any]:
        """Return what must be the same when a build goes on."""
        return {
            "source": self.source.description,
            "seed": self.seed,
            "levels": "all" if self.all_levels else "one at random",
            "store": str(self.store),
        }


@dataclass(frozen=True, slots=True)
class EngineOptions:
    """Who does the blocks.

    Attributes:
        kind: A pool of processes on this machine, or Ray.
        workers: How many blocks at once.
        address: Of a Ray cluster; empty for one that is started here.
    """

    kind: EngineKind = EngineKind.PROCESSES
    workers: int = 1
    address: str = ""

    def __post_init__(self) -> None:
        if self.workers < 1:
            raise UsageError("wrong number of workers", expected="1 or more", got=self.workers)


@dataclass(frozen=True, slots=True)
class BuildOptions:
    """How a build is done; none of it changes what comes out, but for the subjects.

    Attributes:
        subjects: References of VLMs and VLAs; those that are in the database already stay.
        steps: Which steps.
        engine: Who does the blocks.
        vlm: How VLMs are loaded and asked.
        vla: How VLAs are loaded and asked.
        retry: Ask again where a subject failed.
    """

    subjects: tuple[str, ...] = ()
    steps: tuple[Step, ...] = tuple(Step)
    engine: EngineOptions = field(default_factory=EngineOptions)
    vlm: VlmOptions = field(default_factory=VlmOptions)
    vla: VlaOptions = field(default_factory=VlaOptions)
    retry: bool = False


def digest_of(*parts: Any) -> str:
    """Return a hash of anything that JSON can say: 32 hexadecimal digits."""
    text = json.dumps(parts, sort_keys=True, default=_plain)
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def _plain(value: object) -> str:
    if isinstance(value, Path):
        return value.as_posix()
    raise TypeError(type(value).__name__)
