"""References from LIBERO: the initial states of its tasks, with their instructions."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import partial
from typing import ClassVar, Final

from embodied_iqa.base.errors import InputError, UsageError, UserError
from embodied_iqa.base.kept import lent
from embodied_iqa.data.database.schema import SourceKind
from embodied_iqa.data.database.sources.candidate import Candidate
from embodied_iqa.imaging.images.frame import View
from embodied_iqa.world.libero.suite_world import ENVIRONMENT, LiberoWorld, start_worker
from embodied_iqa.world.libero.suites import CAMERAS, SIDE_PX, TASK_COUNTS, check_suite
from embodied_iqa.world.tasks.task import Task
from embodied_iqa.world.worlds import WorldTask

_STATES: Final = 50
"""Initial states of each task."""
_IN_A_ROW: Final = 4
"""States of a task that follow each other: opening a task takes longer than to render them all."""


@dataclass(frozen=True, slots=True)
class LiberoSource:
    """Initial states of the tasks of suites, after the objects have settled; one reference each.

    Four states of a task follow each other, then the next task has its turn, so that tasks are seldom opened
    and few references show many of them; suites and cameras take turns, too. What LIBERO does not say, such
    as the category of the main object, is null.

    Attributes:
        suites: Such as ``libero_spatial``.
        views: The cameras of the references; each reference has the images of both.

    Raises:
        UsageError: An unknown suite or camera, or a suite twice.
        MissingDependencyError: LIBERO is not installed.
    """

    fingerprint: ClassVar[str] = ""

    suites: tuple[str, ...]
    views: tuple[View, ...] = tuple(CAMERAS)

    def __post_init__(self) -> None:
        for suite in self.suites:
            check_suite(suite)
        if not self.suites or len(set(self.suites)) < len(self.suites):
            raise UsageError("each suite once", expected="one or more", got=self.suites)
        unknown = [view for view in self.views if view not in CAMERAS]
        if unknown or not self.views:
            raise UsageError("LIBERO has no such camera", got=unknown, available=CAMERAS)
        ENVIRONMENT.python()

    @property
    def count(self) -> int | None:
        """Initial states of all tasks."""
        return _STATES * sum(TASK_COUNTS[suite] for suite in self.suites)

    @property
    def description(self) -> str:
        """Suites, cameras, and how states follow each other."""
        suites, views = ",".join(self.suites), ",".join(self.views)
        row = f"{_IN_A_ROW} states in a row"
        return f"LIBERO, suites {suites}, {SIDE_PX}x{SIDE_PX}, views {views}, {row}"

    def name_of(self, index: int) -> str:
        """Return what lists call a candidate."""
        return "{}, task {}, initial state {}".format(*self._place(index))

    def read(self, index: int) -> Candidate:
        """Open an initial state and render both cameras.

        Raises:
            UserError: LIBERO fails, which is no fault of this initial state: the build ends, to go on later.
        """
        suite, number, state = self._place(index)
        view = self.views[(state + number) % len(self.views)]
        try:
            with (  # one process for all suites: each takes some hundred megabytes
                lent(start_worker, start_worker) as worker,
                lent((LiberoWorld, suite), partial(LiberoWorld, suite, worker=worker)) as world,
            ):
                task, version = world.tasks[number], world.version
                world.open(task, state)
                seen = world.observe(world.views)
        except InputError as error:
            raise UserError(str(error)) from error
        return Candidate(
            source=SourceKind.LIBERO,
            origin=f"{suite}, {task.name}, initial state {state}; {version}",
            real=False,
            view=view,
            frames=seen.frames,
            T_base_tool=seen.T_base_tool,
            gripper=seen.gripper,
            tasks=(_task(suite, task, state),),
            instruction=task.instruction,
        )

    def _place(self, index: int) -> tuple[str, int, int]:
        """Return suite, number of the task, and initial state of a candidate."""
        places = self._places()
        turn, rest = divmod(index, _IN_A_ROW * len(places))
        first = _IN_A_ROW * turn
        place, state = divmod(rest, min(_IN_A_ROW, _STATES - first))
        return *places[place], first + state

    def _places(self) -> list[tuple[str, int]]:
        """Return suite and number of every task, the suites in turn."""
        places = [(suite, number) for suite in self.suites for number in range(TASK_COUNTS[suite])]
        return sorted(places, key=lambda place: (place[1], self.suites.index(place[0])))


def _task(suite: str, task: WorldTask, state: int) -> Task:
    digest = hashlib.sha256(f"{suite}:{task.name}:{state}".encode()).hexdigest()[:15]
    return Task(f"l{digest}", 1, task.instruction)
