"""Renderers that stay open while their owner works: to compile one takes longer than to draw many scenes."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from embodied_iqa.base.lazy import load
from embodied_iqa.base.workers import at_end_of_worker

if TYPE_CHECKING:
    from embodied_iqa.world.simulation.graphics_contexts import GraphicsContext
    from embodied_iqa.world.simulation.scene_batches import SceneBatchRenderer  # needs a graphics context


class _Kept:
    """The renderers of one thread, by width and height, and the number of owners that keep them open."""

    def __init__(self) -> None:
        self.owners = 0
        self.is_worker = False
        self.renderers: dict[tuple[int, int], SceneBatchRenderer] = {}

    def close(self) -> None:
        while self.renderers:
            self.renderers.popitem()[1].close()


_threads = threading.local()


def _of_this_thread() -> _Kept:
    if not hasattr(_threads, "kept"):
        _threads.kept = _Kept()
    kept: _Kept = _threads.kept
    return kept


@contextmanager
def keep_renderers() -> Iterator[None]:
    """Own the renderers that `batch_renderer` opens in this thread: the outermost block closes them."""
    kept = _of_this_thread()
    kept.owners += 1
    try:
        yield
    finally:
        kept.owners -= 1
        if not kept.owners:
            kept.close()


def keep_renderers_in_worker() -> None:
    """Own the renderers of this thread until its process ends; call it in a worker, again at will."""
    kept = _of_this_thread()
    if not kept.is_worker:
        kept.is_worker = True
        kept.owners += 1
        at_end_of_worker(kept.close)


@contextmanager
def batch_renderer(width_px: int, height_px: int) -> Iterator[SceneBatchRenderer]:
    """Lend a renderer of this thread; one that no owner keeps is made, and closed with the block.

    Args:
        width_px: Width of the images.
        height_px: Height of the images.

    Raises:
        UsageError: The resolution is too large or not positive.
        MissingDependencyError: No graphics context can be opened.
    """
    with keep_renderers():
        renderers = _of_this_thread().renderers
        size = width_px, height_px
        if size not in renderers:
            renderers[size] = load("embodied_iqa.world.simulation.scene_batches:SceneBatchRenderer")(*size)
        yield renderers[size]


def kept_contexts() -> set[GraphicsContext]:
    """Return the open contexts of this thread that an owner keeps."""
    contexts = (renderer.context for renderer in _of_this_thread().renderers.values())
    return {context for context in contexts if context is not None}
