"""Images of an episode: the scene with its soiled areas, without the spots that were wiped."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.base.errors import UsageError
from embodied_iqa.base.kinematics import invert
from embodied_iqa.imaging.images.frame import Frame, View
from embodied_iqa.suites.cell_manipulation.cell_scene import SPOT_RADIUS_M, Area, CellScene
from embodied_iqa.world.scenes.clutter import Clutter, ClutterKind
from embodied_iqa.world.scenes.snapshot import WorldSnapshot
from embodied_iqa.world.simulation.renderer import SceneRenderer

_DIRT_RGB: Final = (0.10, 0.07, 0.05)
_GONE_M: Final = 1e-6
"""Radius of a spot that was wiped: no pixel shows it."""
Box = tuple[int, int, int, int]


class CellImages:
    """Draws an episode; without views it opens no graphics context.

    Args:
        views: The cameras.
        size_px: Width and height of the square images.
    """

    def __init__(self, views: tuple[View, ...], size_px: int) -> None:
        self._views, self._size_px = views, size_px
        self._renderer: SceneRenderer | None = None
        self._cell: CellScene | None = None

    def load(self, cell: CellScene) -> None:
        """Load the scene of an episode."""
        self._cell = cell
        self.close()

    def close(self) -> None:
        """Release the graphics context; calling it twice is fine."""
        if self._renderer is not None:
            self._renderer.close()
        self._renderer = None

    def draw(self, now: WorldSnapshot, dirt: Mapping[str, NDArray[np.bool_]]) -> dict[View, Frame]:
        """Return the images of all views.

        Args:
            now: The state.
            dirt: For each area, ``(spots,)`` bool: the spots that are left.
        """
        if not self._views:
            return {}
        renderer = self._opened()
        left = [flag for area in self._areas() for flag in dirt[area.name].tolist()]
        for geom, is_left in zip(self._spots, left, strict=True):
            renderer.model.geom_size[geom, 0] = SPOT_RADIUS_M if is_left else _GONE_M
        return {view: renderer.frame(view, now) for view in self._views}

    def boxes_px(self, view: View, now: WorldSnapshot) -> dict[str, Box]:
        """Return the box of each visible object: left, top, right, bottom, by its colour and kind."""
        if self._cell is None:
            return {}
        shown = self._opened().segmentation(view, now)
        boxes: dict[str, Box] = {}
        for index, item in enumerate(self._cell.scene.objects):
            rows, columns = np.nonzero(shown == index)
            if len(rows):
                sides = (columns.min(), rows.min(), columns.max(), rows.max())
                left, top, right, bottom = (int(side) for side in sides)
                boxes[f"{item.colour} {item.kind}"] = (left, top, right, bottom)
        frame = self._opened().frame(view, now)
        return boxes | {area.name: _box_of(area, frame) for area in self._areas()}

    def _areas(self) -> tuple[Area, ...]:
        return () if self._cell is None else self._cell.areas

    def _opened(self) -> SceneRenderer:
        """Return the renderer of the loaded scene; the spots are coins, made smaller."""
        if self._cell is None:
            raise UsageError("no scene is loaded", expected="load(cell) first")
        if self._renderer is None:
            scene = self._cell.scene
            spots = [
                Clutter(ClutterKind.COIN, x, y, 0.0, _DIRT_RGB)
                for area in self._areas()
                for x, y in area.spots_m.tolist()
            ]
            shown = replace(scene, clutter=(*scene.clutter, *spots))
            self._renderer = SceneRenderer(shown, self._size_px, self._size_px)
            model = self._renderer.model
            numbers = range(len(scene.clutter), len(shown.clutter))
            self._spots = [int(model.body(f"clutter{number}").geomadr[0]) for number in numbers]
        return self._renderer


def _box_of(area: Area, frame: Frame) -> Box:
    """Return the box of an area's corners, within the image."""
    corners = [(x, y, 0.0, 1.0) for x in _span(area, 0) for y in _span(area, 1)]
    x, y, z = (invert(frame.needed_pose()) @ np.array(corners).T)[:3]
    camera = frame.needed_intrinsics()
    u = np.clip(camera.fx_px * x / z + camera.cx_px, 0, camera.width_px - 1)
    v = np.clip(camera.fy_px * y / z + camera.cy_px, 0, camera.height_px - 1)
    return int(u.min()), int(v.min()), int(u.max()), int(v.max())


def _span(area: Area, axis: int) -> tuple[float, float]:
    return area.centre_m[axis] - area.half_m[axis], area.centre_m[axis] + area.half_m[axis]
