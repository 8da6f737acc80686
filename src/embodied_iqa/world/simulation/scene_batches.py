"""Images of thousands of scenes from one compiled model, whose objects are moved and painted for each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.base.errors import UsageError
from embodied_iqa.imaging.images.frame import Frame, View
from embodied_iqa.world.scenes.clutter import MOST_OF_A_KIND, Clutter, ClutterKind
from embodied_iqa.world.scenes.scene import Background, Light, Scene, SceneObject
from embodied_iqa.world.scenes.snapshot import (
    FIXED_KINDS,
    WorldSnapshot,
    check_qpos,
    nominal_pose,
    nominal_snapshot,
    object_address,
    positions_of,
)
from embodied_iqa.world.simulation.clutter_models import clutter_pose
from embodied_iqa.world.simulation.engine import mujoco
from embodied_iqa.world.simulation.graphics_contexts import GraphicsContext
from embodied_iqa.world.simulation.mark_textures import texture_name
from embodied_iqa.world.simulation.object_models import shine_of
from embodied_iqa.world.simulation.renderer import BACKGROUND, Closable, SceneRenderer
from embodied_iqa.world.simulation.room_model import lamps_of, table_tint
from embodied_iqa.world.tasks.vocabulary import SIZED_KINDS, Colour, Kind, Mark

_MANY: Final = (Kind.CUBE, Kind.CYLINDER, Kind.BALL, Kind.BOWL, Kind.BUTTON)
_ONE: Final = (Kind.CUP, Kind.DRAWER)
_COPIES: Final = {kind: 4 if kind in _MANY else 1 if kind in _ONE else 3 for kind in Kind}
"""Objects of each kind in the first model; a scene that needs more gets a new model, which is rare."""
_ROBOT: Final = 8
_HIDDEN_GROUP: Final = 5
"""A group of geoms that is not drawn."""


class SceneBatchRenderer(Closable):
    """Draws scene after scene at one resolution: the images of `SceneRenderer`, without compiling each.

    Bound to the thread that made it, as its graphics context is.

    Args:
        width_px: Width of the images.
        height_px: Height of the images.

    Raises:
        UsageError: The resolution is too large or not positive.
        MissingDependencyError: No graphics context can be opened.
    """

    def __init__(self, width_px: int, height_px: int) -> None:
        self._pool = ObjectPool(Counter(_COPIES))
        self._renderer: SceneRenderer | None = SceneRenderer(
            self._pool.scene,
            width_px,
            height_px,
            backgrounds=tuple(Background),
            marks=tuple(Mark),
            clutter=self._pool.clutter,
        )

    @property
    def context(self) -> GraphicsContext | None:
        """The graphics context; None once the renderer is closed."""
        return None if self._renderer is None else self._renderer.context

    def frames(
        self, scene: Scene, views: Iterable[View], snapshot: WorldSnapshot | None = None
    ) -> dict[View, Frame]:
        """Take an image from each view.

        Args:
            scene: What is on the table.
            views: The cameras.
            snapshot: The state; None for the scene as drawn, with the arm at home.

        Raises:
            InputError: The snapshot belongs to another scene.
            UsageError: The renderer is closed.
        """
        renderer, state = self._show(scene, snapshot)
        return {view: renderer.frame(view, state) for view in views}

    def segmentation(
        self, scene: Scene, view: View, snapshot: WorldSnapshot | None = None
    ) -> NDArray[np.int16]:
        """Return ``(H, W)`` int16, the index in ``scene.objects`` of what each pixel shows, or BACKGROUND."""
        renderer, state = self._show(scene, snapshot)
        members = self._pool.members(scene)
        index_of_member = np.full(len(self._pool.scene.objects) + 1, BACKGROUND, np.int16)
        index_of_member[members] = np.arange(len(members))
        return np.asarray(index_of_member[renderer.segmentation(view, state)])

    def _show(self, scene: Scene, snapshot: WorldSnapshot | None) -> tuple[SceneRenderer, WorldSnapshot]:
        if snapshot is None:
            snapshot = nominal_snapshot(scene)
        check_qpos(scene, snapshot)
        if self._renderer is None:
            raise UsageError("the renderer is closed")
        if not self._pool.suffices_for(scene):
            self._pool = ObjectPool(self._pool.copies | Counter(item.kind for item in scene.objects))
            self._renderer.load(self._pool.scene)
        self._pool.apply(self._renderer, scene)
        return self._renderer, self._pool.snapshot(scene, snapshot)


class ObjectPool:
    """A scene with more objects than any other, and how some of them become the objects of another scene.

    Args:
        copies: How many objects of each kind.
    """

    def __init__(self, copies: Counter[Kind]) -> None:
        self.copies = copies
        kinds = [kind for kind in Kind for _ in range(copies[kind])]
        objects = tuple(SceneObject(kind, Colour.RED, -0.5, 0.0, 0.0, (0.0, 0.0, 0.0)) for kind in kinds)
        self.scene = Scene(0, objects, Light(), Background.WOOD, (1.0, 1.0, 1.0))
        self.clutter = tuple(
            Clutter(kind, -0.5, 0.0, 0.0, (0.5, 0.5, 0.5))
            for kind in ClutterKind
            for _ in range(MOST_OF_A_KIND)
        )
        self._first_of = {kind: kinds.index(kind) for kind in reversed(kinds)}
        self._nominal_qpos = nominal_snapshot(self.scene).qpos
        self._group_of_geom: NDArray[np.int32] | None = None

    def suffices_for(self, scene: Scene) -> bool:
        """Return whether there are enough objects of each kind."""
        return Counter(item.kind for item in scene.objects) <= self.copies

    def members(self, scene: Scene) -> list[int]:
        """Return the index, among the pool's objects, of each of the scene's."""
        used: Counter[Kind] = Counter()
        members = []
        for item in scene.objects:
            members.append(self._first_of[item.kind] + used[item.kind])
            used[item.kind] += 1
        return members

    def apply(self, renderer: SceneRenderer, scene: Scene) -> None:
        """Set a scene's room, lamps, paints and fixed objects in the pool's model, and hide other objects."""
        model: Any = renderer.model
        if self._group_of_geom is None:
            self._group_of_geom = model.geom_group.copy()
        members = self.members(scene)
        unused = (renderer.object_of_geom >= 0) & ~np.isin(renderer.object_of_geom, members)
        model.geom_group[:] = np.where(unused, _HIDDEN_GROUP, self._group_of_geom)
        self._apply_clutter(model, scene)
        renderer.light = scene.light
        for member, item in zip(members, scene.objects, strict=True):
            paint = model.material(f"paint{member}")
            paint.rgba[:3] = item.rgb
            paint.specular[:], paint.shininess[:] = shine_of(item)
            paint.texid[mujoco.mjtTextureRole.mjTEXROLE_RGB] = (
                -1 if item.mark is None else model.texture(texture_name(item.mark)).id
            )
            if item.kind in SIZED_KINDS:
                (geom,) = model.body(f"object{member}").geomadr
                _resize(model, int(geom), item)
            if item.kind in FIXED_KINDS:
                body, pose = model.body(f"object{member}"), nominal_pose(item)
                body.pos[:], body.quat[:] = pose[:3], pose[3:]
        for surface in ("table", "wall", "floor"):
            model.geom(surface).matid = model.material(f"{surface}-{scene.background}").id
        model.material(f"table-{scene.background}").rgba[:3] = table_tint(scene)
        for index, lamp in enumerate(lamps_of(scene.light)):
            light = model.light(f"lamp{index}")
            light.dir[:] = np.array(lamp.direction) / np.linalg.norm(lamp.direction)
            light.diffuse[:] = lamp.diffuse

    def _apply_clutter(self, model: Any, scene: Scene) -> None:
        """Place and paint a scene's clutter, and hide the rest."""
        used: Counter[ClutterKind] = Counter()
        kinds = [item.kind for item in self.clutter]
        for index in range(len(kinds)):
            _show(model, f"clutter{index}", shown=False)
        for item in scene.clutter:
            name = f"clutter{kinds.index(item.kind) + used[item.kind]}"
            used[item.kind] += 1
            body = model.body(name)
            body.pos[:], body.quat[:] = clutter_pose(item)
            model.material(name).rgba[:3] = item.rgb
            _show(model, name, shown=True)

    def snapshot(self, scene: Scene, snapshot: WorldSnapshot) -> WorldSnapshot:
        """Return the pool's state that shows a scene's state."""
        qpos = self._nominal_qpos.copy()
        qpos[:_ROBOT] = snapshot.qpos[:_ROBOT]
        for index, (member, item) in enumerate(zip(self.members(scene), scene.objects, strict=True)):
            size = positions_of(item.kind)
            start, to = object_address(scene, index), object_address(self.scene, member)
            qpos[to : to + size] = snapshot.qpos[start : start + size]
        return WorldSnapshot(snapshot.time_ns, qpos)


def _show(model: Any, body: str, *, shown: bool) -> None:
    """Show or hide the geoms of a body that is only visual."""
    entry = model.body(body)
    first = int(entry.geomadr[0])
    model.geom_group[first : first + int(entry.geomnum[0])] = 0 if shown else _HIDDEN_GROUP


def _resize(model: Any, geom: int, item: SceneObject) -> None:
    """Set the size of the geom of a cube, a cylinder or a ball."""
    half_width, half_height = item.shape.width_m / 2, item.shape.height_m / 2
    sizes = {
        Kind.CUBE: (half_width, half_width, half_width),
        Kind.CYLINDER: (half_width, half_height, 0.0),
        Kind.BALL: (half_width, 0.0, 0.0),
    }
    bounds = {Kind.CUBE: (half_width,) * 3, Kind.CYLINDER: (half_width, half_width, half_height)}
    model.geom_size[geom] = sizes[item.kind]
    model.geom_aabb[geom, 3:] = bounds.get(item.kind, (half_width,) * 3)
