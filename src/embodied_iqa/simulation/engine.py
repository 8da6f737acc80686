"""Imports MuJoCo with an off-screen back end; every module of this room takes ``mujoco`` from here.

MuJoCo chooses how to open a graphics context when it is imported, from ``MUJOCO_GL``. EGL needs no display.
"""

from __future__ import annotations

import os

os.environ.setdefault("MUJOCO_GL", "egl")
os.environ.setdefault("LP_NUM_THREADS", str(min(2, os.cpu_count() or 1)))  # Mesa's software rasteriser

import mujoco

__all__ = ["mujoco"]
