"""Renderers that stay open while their owner works: to compile one takes longer than to draw many scenes."""

from __future__ import annotations

from contextlib import AbstractContextManager
from functools import partial
from typing import TYPE_CHECKING

from embodied_iqa.base.kept import kept_things, lent
from embodied_iqa.base.lazy import load

if TYPE_CHECKING:
    from embodied_iqa.world.simulation.graphics_contexts import GraphicsContext
    from embodied_iqa.world.simulation.scene_batches import SceneBatchRenderer  # needs a graphics context

_RENDERER = "embodied_iqa.world.simulation.scene_batches:SceneBatchRenderer"


def batch_renderer(width_px: int, height_px: int) -> AbstractContextManager[SceneBatchRenderer]:
    """Lend a renderer of this thread, see `base.kept`.

    Args:
        width_px: Width of the images.
        height_px: Height of the images.

    Raises:
        UsageError: The resolution is too large or not positive.
        MissingDependencyError: No graphics context can be opened.
    """
    return lent((_RENDERER, width_px, height_px), partial(_opened, width_px, height_px))


def kept_contexts() -> set[GraphicsContext]:
    """Return the open contexts of this thread that an owner keeps."""
    contexts = (getattr(thing, "context", None) for thing in kept_things())
    return {context for context in contexts if context is not None}


def _opened(width_px: int, height_px: int) -> SceneBatchRenderer:
    renderer: SceneBatchRenderer = load(_RENDERER)(width_px, height_px)
    return renderer
