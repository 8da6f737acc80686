"""Poses of frames over time: the transform tree of /tf and /tf_static (REP 105)."""

from __future__ import annotations

from bisect import bisect_right, insort
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray


@dataclass(slots=True)
class _Edge:
    parent: str
    stamps_ns: list[int] = field(default_factory=list)
    by_stamp: dict[int, NDArray[np.float64]] = field(default_factory=dict)

    def at(self, stamp_ns: int) -> NDArray[np.float64]:
        """Return the newest transform that is not after ``stamp_ns``, else the first."""
        position = max(0, bisect_right(self.stamps_ns, stamp_ns) - 1)
        return self.by_stamp[self.stamps_ns[position]]


class TransformTree:
    """Frames with one parent each; a lookup takes the newest past transform, without interpolation."""

    def __init__(self) -> None:
        self._edges: dict[str, _Edge] = {}

    def add(self, parent: str, child: str, stamp_ns: int, T_parent_child: NDArray[np.float64]) -> None:
        """Add the pose of ``child`` in ``parent``; a static transform has a single stamp.

        Args:
            parent: Name of the parent frame.
            child: Name of the child frame; a new parent replaces the old one with all its transforms.
            stamp_ns: When.
            T_parent_child: ``(4, 4)`` float64 (m).
        """
        edge = self._edges.get(child)
        if edge is None or edge.parent != parent:
            edge = self._edges[child] = _Edge(parent)
        if stamp_ns not in edge.by_stamp:
            insort(edge.stamps_ns, stamp_ns)
        edge.by_stamp[stamp_ns] = T_parent_child

    def lookup(self, root: str, frame: str, stamp_ns: int) -> NDArray[np.float64] | None:
        """Return ``T_root_frame`` at a time, ``(4, 4)`` float64; None where the frames are not connected."""
        T = np.eye(4)
        seen = set[str]()
        while frame != root:
            edge = self._edges.get(frame)
            if edge is None or frame in seen:
                return None
            seen.add(frame)
            T = edge.at(stamp_ns) @ T
            frame = edge.parent
        return T
