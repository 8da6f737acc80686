"""Compiles the kernels with numba, keeps the machine code on disk."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import numba

__all__ = ["compiled"]

_FunctionT = TypeVar("_FunctionT", bound=Callable[..., object])


def compiled(function: _FunctionT) -> _FunctionT:
    """Compile ``function`` to machine code at its first call, or load what an earlier process compiled.

    The code is kept beside the source, else in the user's cache folder; where neither can be written to
    it is compiled anew in every process.
    """
    options = {"error_model": "numpy", "nogil": True}
    try:
        kernel: _FunctionT = numba.njit(cache=True, **options)(function)
    except RuntimeError:
        kernel = numba.njit(**options)(function)
    return kernel
