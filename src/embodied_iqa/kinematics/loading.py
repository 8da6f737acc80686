"""Loads the compiled kernels at the first computation, so that importing the package stays cheap."""

from __future__ import annotations

import functools
import importlib
from types import ModuleType

__all__ = ["collision_kernels", "kernels"]


@functools.cache
def kernels() -> ModuleType:
    """Return the module of compiled kinematics."""
    return importlib.import_module("embodied_iqa.kinematics.kernels")


@functools.cache
def collision_kernels() -> ModuleType:
    """Return the module of compiled distances."""
    return importlib.import_module("embodied_iqa.kinematics.collision_kernels")
