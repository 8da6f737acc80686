"""Poses of frames over time: the transform tree of /tf and /tf_static (REP 105)."""

from __future__ import annotations

from bisect import bisect_right, insort
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.base.errors import InputError
from embodied_iqa.base.kinematics.se3 import invert


@dataclass(slots=True)
class _Edge:
    parent: str
    stamps_ns: list[int] = field(default_factory=list)
    by_stamp: dict[int, NDArray[np.float64] | str] = field(default_factory=dict)

    def at(self, stamp_ns: int) -> NDArray[np.float64] | str:
        """Return the newest transform that is not after ``stamp_ns``, else the first."""
        position = max(0, bisect_right(self.stamps_ns, stamp_ns) - 1)
        return self.by_stamp[self.stamps_ns[position]]


class TransformTree:
    """Frames with one parent each; a lookup takes the newest past transform, without interpolation."""

    def __init__(self) -> None:
        self._edges: dict[str, _Edge] = {}

    def add(self, parent: str, child: str, stamp_ns: int, T_parent_child: NDArray[np.float64] | str) -> None:
        """Add the pose of ``child`` in ``parent``; a static transform has a single stamp.

        Args:
            parent: Name of the parent frame.
            child: Name of the child frame; a new parent replaces the old one with all its transforms.
            stamp_ns: When.
            T_parent_child: ``(4, 4)`` float64 (m), or what is wrong with it. A wrong transform does no harm
                to frames that do not depend on it.
        """
        edge = self._edges.get(child)
        if edge is None or edge.parent != parent:
            edge = self._edges[child] = _Edge(parent)
        if stamp_ns not in edge.by_stamp:
            insort(edge.stamps_ns, stamp_ns)
        edge.by_stamp[stamp_ns] = T_parent_child

    def lookup(self, root: str, frame: str, stamp_ns: int) -> NDArray[np.float64] | None:
        """Return ``T_root_frame`` at a time, ``(4, 4)`` float64; None where the frames are not connected.

        The way leads up from both frames to their nearest common ancestor, which may be one of them.

        Raises:
            InputError: A transform on the way is wrong.
        """
        of_root = self._ancestors(root)
        to_frame = self._ancestors(frame)
        ancestor = next((name for name in to_frame if name in set(of_root)), None)
        if ancestor is None:
            return None
        T_ancestor_frame = self._pose_in(ancestor, to_frame, stamp_ns)
        if ancestor == root:
            return T_ancestor_frame
        T_root_frame: NDArray[np.float64] = (
            invert(self._pose_in(ancestor, of_root, stamp_ns)) @ T_ancestor_frame
        )
        return T_root_frame

    def _ancestors(self, frame: str) -> list[str]:
        """Return a frame, its parent and so on; a ring of frames ends before it repeats."""
        found = [frame]
        while (edge := self._edges.get(found[-1])) is not None and edge.parent not in found:
            found.append(edge.parent)
        return found

    def _pose_in(self, ancestor: str, chain: list[str], stamp_ns: int) -> NDArray[np.float64]:
        """Return the pose of the first frame of a chain of parents in one of its frames."""
        T = np.eye(4)
        for child in chain[: chain.index(ancestor)]:
            edge = self._edges[child]
            T_parent_child = edge.at(stamp_ns)
            if isinstance(T_parent_child, str):
                raise InputError(f"transform {edge.parent} -> {child}: {T_parent_child}")
            T = T_parent_child @ T
        return T
