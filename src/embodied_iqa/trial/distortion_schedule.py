"""Schedule of distortions by stamp, the same live and in rescoring."""

from __future__ import annotations

from bisect import bisect_right

from embodied_iqa.distortions import DistortionSpec, FrameDistorter
from embodied_iqa.errors import UsageError


class DistortionSchedule:
    """Changes of the distortion, each from a stamp on; it replaces changes at that stamp or later."""

    _KEPT = 64  # older pictures no longer arrive

    def __init__(self) -> None:
        self._from_ns = [-1]
        self._distorters = [FrameDistorter(None)]
        self._newest_stamp_ns = -1

    @property
    def newest(self) -> DistortionSpec | None:
        """The distortion that was set last."""
        return self._distorters[-1].spec

    def set(self, spec: DistortionSpec | None, from_ns: int | None) -> int:
        """Distort by ``spec`` from ``from_ns`` on; None: from the next picture on.

        Returns:
            The first stamp that is distorted this way.

        Raises:
            UsageError: The distortion does not exist, or pictures of later stamps have passed already.
        """
        effective_ns = self._newest_stamp_ns + 1 if from_ns is None else from_ns
        if effective_ns <= self._newest_stamp_ns:
            raise UsageError(
                "pictures from that stamp on have passed already",
                expected=f"a stamp above {self._newest_stamp_ns} ns",
                got=from_ns,
            )
        distorter = FrameDistorter(spec)
        keep = bisect_right(self._from_ns, effective_ns - 1)
        self._from_ns = [*self._from_ns[:keep], effective_ns][-self._KEPT :]
        self._distorters = [*self._distorters[:keep], distorter][-self._KEPT :]
        return effective_ns

    def at(self, stamp_ns: int) -> FrameDistorter:
        """Return the distorter of the picture at ``stamp_ns``, and note that it has passed."""
        self._newest_stamp_ns = max(self._newest_stamp_ns, stamp_ns)
        index = max(0, bisect_right(self._from_ns, stamp_ns) - 1)
        return self._distorters[index]
