"""Worlds that policies act in: the protocol of the simulated cell and of LIBERO."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.base.errors import UsageError
from embodied_iqa.imaging.images.frame import Frame, View

Array = NDArray[np.float64]

CELL: Final = "cell"
"""Name of the simulated cell, the default world."""


@dataclass(frozen=True, slots=True)
class WorldTask:
    """A task of a world.

    Attributes:
        name: Unique in its world; plans and results call it so.
        instruction: What a policy is told.
        states: Number of initial states; None where any seed gives one.
        horizon: Steps after which it has failed.
    """

    name: str
    instruction: str
    states: int | None
    horizon: int


@dataclass(frozen=True, slots=True, eq=False)
class WorldObservation:
    """What a world shows.

    Attributes:
        frames: The images that were asked for, as the cameras deliver them, upright.
        T_base_tool: ``(4, 4)`` float64, tool centre point in the base frame (m).
        gripper: 0 open to 1 closed.
        native_state: ``(S,)`` float64, see `VlaObservation`; None for a world without policies of its own.
    """

    frames: Mapping[View, Frame]
    T_base_tool: Array
    gripper: float
    native_state: Array | None = None


class World(Protocol):
    """A world that waits for its policy: between two steps nothing moves. Not thread-safe."""

    @property
    def name(self) -> str:
        """How plans and commands name it."""
        ...

    @property
    def version(self) -> str:
        """Changes whenever its images or physics can change."""
        ...

    @property
    def views(self) -> tuple[View, ...]:
        """Its cameras: one outside first, then the wrist."""
        ...

    @property
    def rate_hz(self) -> float | None:
        """Rate of its steps; None where a step takes as long as the motion."""
        ...

    @property
    def tasks(self) -> tuple[WorldTask, ...]:
        """Its tasks, in their published order."""
        ...

    def open(self, task: WorldTask, state: int) -> None:
        """Put the world into an initial state of a task, with everything at rest.

        Args:
            task: One of `tasks`.
            state: Number or seed of the initial state, from 0.

        Raises:
            UsageError: The task has no such state.
            InputError: The world cannot be opened.
        """
        ...

    def observe(self, views: Sequence[View]) -> WorldObservation:
        """Return the state and the images of some cameras; without cameras nothing is rendered."""
        ...

    def step(self, increments: Array, T_base_tool: Array) -> int:
        """Execute increments, one a step, until they are done or the task is.

        Args:
            increments: ``(K, 7)``, see `ActionChunk`.
            T_base_tool: ``(4, 4)``, the tool where the first one starts: at the decision, or where an earlier
                step was to end.

        Returns:
            The number of executed steps.
        """
        ...

    def objects(self) -> Mapping[str, Array]:
        """Return the poses of the objects, ``(4, 4)`` in the base frame (m): for scripted experts only."""
        ...

    @property
    def success(self) -> bool:
        """Whether the task is done, by the world's own check, as of the last step."""
        ...

    @property
    def violation(self) -> str:
        """Why the arm has stopped for good, such as a push against the table; empty while it may move."""
        ...

    @property
    def time_ns(self) -> int:
        """Simulated time since the initial state."""
        ...

    def close(self) -> None:
        """End it; calling it twice is fine."""
        ...


def task_named(world: World, name: str) -> WorldTask:
    """Return the task of this name.

    Raises:
        UsageError: The world has none.
    """
    found = next((task for task in world.tasks if task.name == name), None)
    if found is None:
        names = [task.name for task in world.tasks]
        raise UsageError(f"{world.name} has no such task", got=name, available=names)
    return found


def check_state(task: WorldTask, state: int) -> None:
    """Refuse an initial state that a task does not have.

    Raises:
        UsageError: It has no such state.
    """
    if state < 0 or (task.states is not None and state >= task.states):
        last = "" if task.states is None else f" to {task.states - 1}"
        raise UsageError(f"no such initial state of {task.name!r}", expected=f"0{last}", got=state)
