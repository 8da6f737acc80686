"""Assembly of frames from separate messages: image, intrinsics, camera pose."""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import dataclass, field
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.imaging.images.frame import Frame, Intrinsics, View
from embodied_iqa.imaging.images.pairing import Arrived


class Source(IntEnum):
    """Version of an image; the values are those of the messages."""

    RAW = 0
    DISTORTED = 1


@dataclass(slots=True)
class _Parts:
    images: dict[Source, NDArray[np.uint8]] = field(default_factory=dict)
    has_pose: bool = False
    T_base_camera: NDArray[np.float64] | None = None


class FrameAssembler:
    """Keeps the newest ``capacity`` stamps of each view and pairs raw and distorted images by stamp.

    The parts of a frame may arrive in any order. The oldest stamp of a view is dropped first; ``dropped``
    counts stamps that were dropped incomplete. Thread-safe.
    """

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._lock = threading.RLock()
        self._parts: dict[View, OrderedDict[int, _Parts]] = {}
        self._intrinsics: dict[View, Intrinsics | None] = {}
        self._forgotten_ns: dict[View, int] = {}
        self.dropped = 0

    def add_intrinsics(self, view: View, intrinsics: Intrinsics | None) -> None:
        """Set a view's intrinsics for every later frame; None where the camera is not calibrated."""
        with self._lock:
            self._intrinsics[view] = intrinsics

    def add_pose(self, view: View, stamp_ns: int, T_base_camera: NDArray[np.float64] | None) -> None:
        """Add a camera pose; None where its camera says that it is not known."""
        with self._lock:
            parts = self._at(view, stamp_ns)
            parts.has_pose, parts.T_base_camera = True, T_base_camera

    def add_image(self, view: View, source: Source, stamp_ns: int, rgb: NDArray[np.uint8]) -> None:
        """Add an image."""
        with self._lock:
            self._at(view, stamp_ns).images[source] = rgb

    def frame(self, view: View, source: Source, stamp_ns: int) -> Frame | None:
        """Return the frame of exactly this stamp, or None if a part is missing."""
        with self._lock:
            parts = self._parts.get(view, OrderedDict()).get(stamp_ns)
            has_intrinsics, intrinsics = view in self._intrinsics, self._intrinsics.get(view)
        if parts is None or not has_intrinsics or not parts.has_pose or source not in parts.images:
            return None
        return Frame(view, stamp_ns, parts.images[source], intrinsics, parts.T_base_camera)

    def has_pose(self, view: View, stamp_ns: int) -> bool:
        """Return whether the camera's pose at this stamp has arrived, or that it is not known."""
        with self._lock:
            parts = self._parts.get(view, OrderedDict()).get(stamp_ns)
        return parts is not None and parts.has_pose

    def newest_stamp_ns(self, view: View, *sources: Source) -> int | None:
        """Return the newest stamp at which the view has a frame of all ``sources``."""
        for stamp_ns in reversed(self.stamps_ns(view)):
            if all(self.frame(view, source, stamp_ns) is not None for source in sources):
                return stamp_ns
        return None

    def stamps_ns(self, view: View) -> list[int]:
        """Return the stored stamps, oldest first."""
        with self._lock:
            return sorted(self._parts.get(view, ()))

    def arrived(self, view: View, *sources: Source) -> Arrived:
        """Return the stamps of a view: all, with the newest that was dropped, and those of whole frames.

        Args:
            view: The camera.
            sources: Images that a whole frame has.
        """
        with self._lock:
            kept = self._parts.get(view, OrderedDict())
            known = {*kept, self._forgotten_ns[view]} if view in self._forgotten_ns else {*kept}
            whole = {
                stamp_ns
                for stamp_ns, parts in kept.items()
                if view in self._intrinsics and parts.has_pose and parts.images.keys() >= {*sources}
            }
        return Arrived(sorted(known), whole)

    def clear(self) -> None:
        """Drop every frame; keep the intrinsics."""
        with self._lock:
            self._parts.clear()
            self._forgotten_ns.clear()

    def _at(self, view: View, stamp_ns: int) -> _Parts:
        kept = self._parts.setdefault(view, OrderedDict())
        if stamp_ns not in kept:
            kept[stamp_ns] = _Parts()
            while len(kept) > self._capacity:
                oldest = min(kept)
                gone = kept.pop(oldest)
                self._forgotten_ns[view] = max(oldest, self._forgotten_ns.get(view, oldest))
                self.dropped += not gone.has_pose or not gone.images
        return kept.get(stamp_ns, _Parts())
