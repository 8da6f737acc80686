"""The simulated cell as a `World`: physics and renderer that wait for their policy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.base.errors import InternalError
from embodied_iqa.base.kinematics import chain_increments, increments_between, rotvec_to_rotation
from embodied_iqa.imaging.images.frame import View
from embodied_iqa.world.scenes.dimensions import CELL_VIEWS
from embodied_iqa.world.scenes.scene import WORLD_VERSION, make_scene
from embodied_iqa.world.scenes.snapshot import WorldSnapshot, object_position_m, object_yaw_rad
from embodied_iqa.world.simulation.renderer import SceneRenderer
from embodied_iqa.world.simulation.rollout import rollout
from embodied_iqa.world.simulation.success import task_success
from embodied_iqa.world.simulation.world import World as Physics
from embodied_iqa.world.tasks.instruction import Instruction, parse_instruction
from embodied_iqa.world.worlds import CELL, WorldObservation, WorldTask, check_state

Array = NDArray[np.float64]

_HORIZON: Final = 36
"""Increments of an episode; a chunk has 12 at most."""


class CellWorld:
    """The cell; physics, images and success are those of a trial without its controller and cameras' faults.

    A step is an increment from rest to rest, which takes as long as the motion does. Bound to the thread that
    opens the first task, as its renderer is.

    Args:
        instructions: Its tasks; an initial state is the seed of a scene.
        width_px: Of the images.
        height_px: Of the images.

    Raises:
        UsageError: Not an instruction.
    """

    name: str = CELL
    version: str = str(WORLD_VERSION)
    views: tuple[View, ...] = CELL_VIEWS
    rate_hz: float | None = None

    def __init__(self, instructions: Sequence[str], width_px: int = 640, height_px: int = 480) -> None:
        words = [str(parse_instruction(text)) for text in instructions]
        self.tasks = tuple(WorldTask(text, text, None, _HORIZON) for text in words)
        self._size = width_px, height_px
        self._physics: Physics | None = None
        self._renderer: SceneRenderer | None = None
        self._start: WorldSnapshot | None = None
        self._instruction: Instruction | None = None

    @property
    def physics(self) -> Physics:
        """The simulated arm and objects.

        Raises:
            InternalError: No task is open.
        """
        if self._physics is None:
            raise InternalError("no task of the cell is open")
        return self._physics

    @property
    def success(self) -> bool:
        """Whether the task is done, by physics, without a violation."""
        world = self.physics
        if self._instruction is None or self._start is None or world.contact_violation:
            return False
        return task_success(world.scene, self._instruction, self._start, world.snapshot())

    @property
    def violation(self) -> str:
        """The first push against table, wall or floor; empty for none."""
        return self.physics.contact_violation or ""

    @property
    def time_ns(self) -> int:
        """Simulated time."""
        return self.physics.time_ns

    def open(self, task: WorldTask, state: int) -> None:
        """Make the scene of a seed for a task; see `World`."""
        check_state(task, state)
        self._instruction = parse_instruction(task.instruction)
        scene = make_scene(state, self._instruction)
        if self._physics is None or self._renderer is None:
            self._physics, self._renderer = Physics(scene), SceneRenderer(scene, *self._size)
        else:
            self._physics.reset(scene)
            self._renderer.load(scene)
        self._start = self._physics.snapshot()

    def observe(self, views: Sequence[View]) -> WorldObservation:
        """Return the state of the arm and images of some cameras; see `World`."""
        world, snapshot = self.physics, self.physics.snapshot()
        if self._renderer is None:
            raise InternalError("the cell is closed")
        frames = {view: self._renderer.frame(view, snapshot) for view in views}
        return WorldObservation(frames, world.T_base_tool, world.gripper)

    def step(self, increments: Array, T_base_tool: Array) -> int:
        """Execute increments, until a violation or an unreachable pose ends them; see `World`."""
        rows, now = np.array(increments, np.float64), self.physics.T_base_tool
        if len(rows) and not np.array_equal(T_base_tool, now):  # the tool is not exactly where it was to be
            poses = np.concatenate([now[None], chain_increments(T_base_tool, rows)])
            rows[:, :6] = increments_between(poses)
        return rollout(self.physics, rows).executed

    def objects(self) -> Mapping[str, Array]:
        """Return the poses of the objects, upright ones, by number and kind; see `World`."""
        scene, snapshot = self.physics.scene, self.physics.snapshot()
        found = {}
        for index, item in enumerate(scene.objects):
            T = np.eye(4)
            T[:3, :3] = rotvec_to_rotation([0.0, 0.0, object_yaw_rad(scene, snapshot, index)])
            T[:3, 3] = object_position_m(scene, snapshot, index)
            found[f"{index} {item.kind}"] = T
        return found

    def close(self) -> None:
        """Release the graphics context."""
        if self._renderer is not None:
            self._renderer.close()
            self._renderer = None
            self._physics = None
