"""Pictures of thousands of scenes: one compiled model whose bodies are moved and painted for each scene."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from types import TracebackType
from typing import Final, Self

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.errors import UsageError
from embodied_iqa.images.frame import Frame, View
from embodied_iqa.scenes.scene import Background, Scene
from embodied_iqa.scenes.snapshot import WorldSnapshot, check_qpos
from embodied_iqa.simulation.renderer import BACKGROUND, SceneRenderer
from embodied_iqa.simulation.stage import Stage, nominal_snapshot
from embodied_iqa.tasks.instruction import Kind

__all__ = ["SceneBatchRenderer", "nominal_snapshot"]

_MANY: Final = (Kind.CUBE, Kind.CYLINDER, Kind.BALL, Kind.BOWL, Kind.BUTTON)
_ONE: Final = (Kind.CUP, Kind.DRAWER)
_COPIES: Final = {kind: 4 if kind in _MANY else 1 if kind in _ONE else 3 for kind in Kind}
"""How many of each kind there are at first; a scene that needs more gets a new stage, which is rare."""


class SceneBatchRenderer:
    """Draws scene after scene at one resolution: the pictures of `SceneRenderer`, without compiling each.

    Bound to the thread that made it, as its graphics context is.

    Args:
        width_px: Width of the pictures.
        height_px: Height of the pictures.

    Raises:
        UsageError: The resolution is too large or not positive.
        MissingDependencyError: No graphics context can be opened.
    """

    def __init__(self, width_px: int, height_px: int) -> None:
        self._size_px = (width_px, height_px)
        self._renderer: SceneRenderer | None = None
        self._set_up(Counter(_COPIES))

    def frames(
        self, scene: Scene, views: Iterable[View], snapshot: WorldSnapshot | None = None
    ) -> dict[View, Frame]:
        """Take a picture from each view.

        Args:
            scene: What stands on the table.
            views: The cameras.
            snapshot: Where it stands; None for the scene as it was drawn, with the arm at home.

        Raises:
            InputError: The snapshot belongs to another scene.
            UsageError: The renderer is closed.
        """
        renderer, staged = self._show(scene, snapshot)
        return {view: renderer.frame(view, staged) for view in views}

    def segmentation(
        self, scene: Scene, view: View, snapshot: WorldSnapshot | None = None
    ) -> NDArray[np.int16]:
        """Return ``(H, W)`` int16, the index in ``scene.objects`` of what each pixel shows, or BACKGROUND."""
        renderer, staged = self._show(scene, snapshot)
        actors = self._stage.actors(scene)
        index_of_actor = np.full(len(self._stage.scene.objects) + 1, BACKGROUND, np.int16)
        index_of_actor[actors] = np.arange(len(actors))
        return np.asarray(index_of_actor[renderer.segmentation(view, staged)])

    def close(self) -> None:
        """Release the graphics context; calling it twice is fine."""
        renderer, self._renderer = self._renderer, None
        if renderer is not None:
            renderer.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _set_up(self, copies: Counter[Kind]) -> None:
        self.close()
        self._stage = Stage(copies)
        self._renderer = SceneRenderer(self._stage.scene, *self._size_px, backgrounds=tuple(Background))

    def _show(self, scene: Scene, snapshot: WorldSnapshot | None) -> tuple[SceneRenderer, WorldSnapshot]:
        if snapshot is None:
            snapshot = nominal_snapshot(scene)
        check_qpos(scene, snapshot)
        if self._renderer is not None and not self._stage.has_all_of(scene):
            self._set_up(self._stage.copies | Counter(item.kind for item in scene.objects))
        if self._renderer is None:
            raise UsageError("the renderer is closed")
        self._stage.dress(self._renderer.model, self._renderer.object_of_geom, scene)
        return self._renderer, self._stage.snapshot(scene, snapshot)
