"""Memory of large arrays: reused by the allocator instead of returned to the system and taken again."""

from __future__ import annotations

import ctypes
from typing import Final

_TRIM_THRESHOLD: Final = -1
_MMAP_THRESHOLD: Final = -3
"""Parameters of `mallopt` in glibc."""
_LARGEST_BLOCK: Final = 1 << 25
"""Largest threshold that glibc accepts for mappings, 32 MB: above an image of 1280 x 720 and its copies."""
_KEPT: Final = 1 << 28
"""Free memory at the end of the heap that stays with the process."""


def reuse_large_blocks() -> bool:
    """Let the allocator of this process reuse memory of large arrays; return whether it can.

    By default glibc maps each array above 128 KB anew, and the kernel clears its pages at the first touch:
    two fifths of the time of the statistics of a 1280 x 720 image. No number changes. Call it once, at the
    start of a process that handles images at a rate.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is None:  # another C library
        return False
    thresholds = ((_MMAP_THRESHOLD, _LARGEST_BLOCK), (_TRIM_THRESHOLD, _KEPT))
    return all(mallopt(name, value) for name, value in thresholds)
