"""Episodes: records of what a planner is asked for, in which scene."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from embodied_iqa.base.errors import UsageError
from embodied_iqa.world.scenes.scene import WORLD_VERSION

MAX_STEPS: Final = 15
"""Environment steps in an episode."""


class Subset(StrEnum):
    """Subsets of the benchmark: the five of the protocol and one of our own."""

    BASE = "base"
    COMMON_SENSE = "common_sense"
    COMPLEX = "complex"
    SPATIAL = "spatial"
    VISUAL = "visual"
    LONG_HORIZON = "long_horizon"
    """Two goals in one episode; not a subset of EB-Manipulation."""


class CellTask(StrEnum):
    """Tasks of the benchmark."""

    PLACE = "place"
    """Pick an object and place it into a container."""
    STACK = "stack"
    INSERT = "insert"
    """Put an object into the shape sorter: a peg into its socket."""
    WIPE = "wipe"


@dataclass(frozen=True, slots=True)
class Goal:
    """One thing to do.

    Attributes:
        task: What to do.
        target: Name of the object that is handled: on top of a stack, or the sponge of wiping.
        destination: Name of where it goes: the container, the socket, the lower object, or the area.
    """

    task: CellTask
    target: str
    destination: str


@dataclass(frozen=True, slots=True)
class Episode:
    """An episode.

    Attributes:
        subset: Its subset.
        task: The task of its first goal.
        index: Its number in the subset, from 0.
        seed: The seed of the whole benchmark.
        scene_seed: With the goals it gives the scene (`cell_scene`).
        instruction: What the planner is asked for.
        goals: What is judged, in the order of the instruction: one, or several in the long-horizon subset.
        world_version: Version of the simulated world in which the seed means this scene.

    Raises:
        UsageError: No goals, a negative number or seed, or another version of the world.
    """

    subset: Subset
    task: CellTask
    index: int
    seed: int
    scene_seed: int
    instruction: str
    goals: tuple[Goal, ...]
    world_version: int = WORLD_VERSION

    def __post_init__(self) -> None:
        if not self.goals:
            raise UsageError("an episode without goals", expected="one or more")
        if min(self.index, self.seed, self.scene_seed) < 0:
            got = (self.index, self.seed, self.scene_seed)
            raise UsageError("wrong number or seed of an episode", expected="integers from 0", got=got)
        if self.world_version != WORLD_VERSION:
            wanted = f"version {WORLD_VERSION}: make the episodes again"
            raise UsageError("an episode of another world", expected=wanted, got=self.world_version)

    @property
    def name(self) -> str:
        """Its name, such as ``base-007``."""
        return f"{self.subset}-{self.index:03d}"
