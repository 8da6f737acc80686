"""MuJoCo with an off-screen back end; import ``mujoco`` from here.

On import MuJoCo selects its graphics back end from ``MUJOCO_GL``. EGL needs no display.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
from functools import cache
from importlib.util import find_spec
from pathlib import Path

os.environ.setdefault("MUJOCO_GL", "egl")
os.environ.setdefault("LP_NUM_THREADS", str(min(2, os.cpu_count() or 1)))  # Mesa's software rasteriser

import mujoco

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
