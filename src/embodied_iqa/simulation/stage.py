"""A cell with more objects than any scene has: a scene is shown by moving and painting some of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.manipulation.object_shapes import SHAPES
from embodied_iqa.scenes.dimensions import HOME_Q_RAD, STROKE_M
from embodied_iqa.scenes.object_layout import FIXED_KINDS, INNER_KINDS, positions_of
from embodied_iqa.scenes.scene import Background, Light, Scene, SceneObject
from embodied_iqa.scenes.snapshot import WorldSnapshot, object_address
from embodied_iqa.simulation.mjcf_room import lamps_of, table_tint
from embodied_iqa.simulation.mjcf_vessels import bead_places_m
from embodied_iqa.tasks.instruction import Colour, Kind

__all__ = ["Stage", "nominal_snapshot"]

Array = NDArray[np.float64]

_ROBOT: Final = 8
_HIDDEN_GROUP: Final = 5
"""A group of geoms that is not drawn."""


def nominal_snapshot(
    scene: Scene, q_rad: Sequence[float] = HOME_Q_RAD, gripper: float = 0.0
) -> WorldSnapshot:
    """Return the state in which a scene was drawn, without physics: objects settle by less than a millimetre.

    Args:
        scene: What stands on the table.
        q_rad: The arm's six joints.
        gripper: State of the gripper in [0, 1].
    """
    finger_m = (1.0 - gripper) * STROKE_M / 2
    parts: list[Array] = [np.array([*q_rad, finger_m, finger_m])]
    for item in scene.objects:
        if item.kind not in FIXED_KINDS:
            parts.append(_pose(item))
        if item.kind in INNER_KINDS:
            parts.append(np.zeros(1))
        if item.kind is Kind.CUP:
            parts += [np.array([*place, 1.0, 0.0, 0.0, 0.0]) for place in bead_places_m(item.x_m, item.y_m)]
    return WorldSnapshot(0, np.concatenate(parts))


class Stage:
    """The objects, and how they become a scene's.

    Args:
        copies: How many of each kind.
    """

    def __init__(self, copies: Counter[Kind]) -> None:
        self.copies = copies
        kinds = [kind for kind in Kind for _ in range(copies[kind])]
        objects = tuple(SceneObject(kind, Colour.RED, -0.5, 0.0, 0.0, (0.0, 0.0, 0.0)) for kind in kinds)
        self.scene = Scene(0, objects, Light(), Background.WOOD, (1.0, 1.0, 1.0))
        self._places: dict[Kind, list[int]] = {kind: [] for kind in Kind}
        for index, kind in enumerate(kinds):
            self._places[kind].append(index)
        self._anywhere = nominal_snapshot(self.scene).qpos
        self._group_of_geom: NDArray[np.int32] | None = None

    def has_all_of(self, scene: Scene) -> bool:
        """Say whether there are enough objects of each kind."""
        return Counter(item.kind for item in scene.objects) <= self.copies

    def actors(self, scene: Scene) -> list[int]:
        """Return the index, among the stage's objects, of each of the scene's."""
        used: Counter[Kind] = Counter()
        actors = []
        for item in scene.objects:
            actors.append(self._places[item.kind][used[item.kind]])
            used[item.kind] += 1
        return actors

    def dress(self, model: Any, object_of_geom: NDArray[np.int16], scene: Scene) -> None:
        """Give the compiled stage the scene's room, lamps, paints and fixed objects, and hide the others.

        Args:
            model: The compiled stage, a ``mujoco.MjModel``.
            object_of_geom: ``(geoms,)``, the index of each geom's object, negative where it has none.
            scene: What to show.
        """
        if self._group_of_geom is None:
            self._group_of_geom = model.geom_group.copy()
        actors = self.actors(scene)
        idle = (object_of_geom >= 0) & ~np.isin(object_of_geom, actors)
        model.geom_group[:] = np.where(idle, _HIDDEN_GROUP, self._group_of_geom)
        for actor, item in zip(actors, scene.objects, strict=True):
            model.material(f"paint{actor}").rgba[:3] = item.rgb
            if item.kind in FIXED_KINDS:
                body, pose = model.body(f"object{actor}"), _pose(item)
                body.pos[:], body.quat[:] = pose[:3], pose[3:]
        for surface in ("table", "wall", "floor"):
            model.geom(surface).matid = model.material(f"{surface}-{scene.background}").id
        model.material(f"table-{scene.background}").rgba[:3] = table_tint(scene)
        for index, lamp in enumerate(lamps_of(scene.light)):
            light = model.light(f"lamp{index}")
            light.dir[:] = np.array(lamp.direction) / np.linalg.norm(lamp.direction)
            light.diffuse[:] = lamp.diffuse

    def snapshot(self, scene: Scene, snapshot: WorldSnapshot) -> WorldSnapshot:
        """Return the stage's state in which it shows a scene's."""
        qpos = self._anywhere.copy()
        qpos[:_ROBOT] = snapshot.qpos[:_ROBOT]
        for index, (actor, item) in enumerate(zip(self.actors(scene), scene.objects, strict=True)):
            size = positions_of(item.kind)
            start, to = object_address(scene, index), object_address(self.scene, actor)
            qpos[to : to + size] = snapshot.qpos[start : start + size]
        return WorldSnapshot(snapshot.time_ns, qpos)


def _pose(item: SceneObject) -> Array:
    height_m = SHAPES[item.kind].height_m / 2
    half_rad = item.yaw_rad / 2
    return np.array([item.x_m, item.y_m, height_m, np.cos(half_rad), 0.0, 0.0, np.sin(half_rad)])
