"""MuJoCo with an off-screen back end; import ``mujoco`` from here.

On import MuJoCo selects its graphics back end from ``MUJOCO_GL``. EGL needs no display.

In a new EGL context Mesa's software rasteriser compiles its shaders anew, which takes longer than to load a
scene and to draw it. So the renderers that the main thread opens one after the other are lent one context.
"""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import os
import threading
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

os.environ.setdefault("MUJOCO_GL", "egl")
os.environ.setdefault("LP_NUM_THREADS", str(min(2, os.cpu_count() or 1)))  # Mesa's software rasteriser

import mujoco
from mujoco.rendering.classic import gl_context

__all__ = ["load_triton", "mujoco"]


@cache
def load_triton() -> None:
    """Load triton's library if it is installed; call this before a graphics context is opened.

    The CUDA builds of torch bring triton. Its library and Mesa's rasteriser each carry an LLVM, and the
    process crashes if triton's is loaded second. Loading it takes about 0.15 s; torch stays unloaded.
    """
    found = find_spec("triton")
    for folder in (found.submodule_search_locations or ()) if found is not None else ():
        for library in Path(folder, "_C").glob("libtriton*.so"):
            with contextlib.suppress(OSError):  # torch reports a broken installation when it is imported
                ctypes.CDLL(str(library))


class LentContext:
    """The EGL context of one renderer of MuJoCo; that of the main thread is kept for its next renderer.

    Other threads end, and nothing could release a context of theirs afterwards.
    """

    def __init__(self, width_px: int, height_px: int) -> None:
        takes_kept = bool(_kept) and threading.current_thread() is threading.main_thread()
        self._context: Any = _kept.pop() if takes_kept else _EglContext(width_px, height_px)

    def make_current(self) -> None:
        """Let the calls of this thread draw into the context."""
        self._context.make_current()

    def as_current(self) -> contextlib.AbstractContextManager[None]:
        """Let the calls of a block draw into the context."""
        held: contextlib.AbstractContextManager[None] = self._context.as_current()
        return held

    def free(self) -> None:
        """Keep the context for the next renderer if none is kept yet, else release it."""
        if not _kept and threading.current_thread() is threading.main_thread():
            _kept.append(self._context)
            atexit.unregister(_release_kept)
            atexit.register(_release_kept)  # ends before MuJoCo's own, which ends the display
        else:
            self._context.free()


_kept: list[Any] = []
"""The EGL context of the main thread that no renderer uses: one at most."""


def _release_kept() -> None:
    while _kept:
        _kept.pop().free()


_EglContext: Any = gl_context.GLContext
if _EglContext.__module__ == "mujoco.egl":  # contexts of the other back ends have a size
    gl_context.GLContext = LentContext
