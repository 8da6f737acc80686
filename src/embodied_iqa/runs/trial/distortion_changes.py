"""Changes of the distortion by stamp, the same live and in rescoring."""

from __future__ import annotations

from bisect import bisect_right

from embodied_iqa.base.errors import UsageError
from embodied_iqa.imaging.distortions import DistortionSpec, FrameDistorter


class DistortionChanges:
    """Changes of the distortion, each from a stamp on; it replaces changes at that stamp or later."""

    _KEPT = 64  # older images no longer arrive

    def __init__(self) -> None:
        self._from_ns = [-1]
        self._distorters = [FrameDistorter(None)]
        self._newest_stamp_ns = -1
        self._begins_with_first = False

    @property
    def newest(self) -> FrameDistorter:
        """The distorter that was set last."""
        return self._distorters[-1]

    def set(self, spec: DistortionSpec | None, from_ns: int | None, *, or_later: bool = False) -> int:
        """Distort by ``spec`` from ``from_ns`` on, where its schedule begins; None: from the next image on.

        Args:
            spec: The distortion; None for none.
            from_ns: First stamp.
            or_later: Where images of later stamps have passed already, distort from the next one on.

        Returns:
            The first stamp that is distorted this way. Before any image has passed, that is 0 without
            ``from_ns``; the schedule then begins with the first image.

        Raises:
            UsageError: The distortion does not exist, or images of later stamps have passed already.
        """
        next_ns = self._newest_stamp_ns + 1
        effective_ns = next_ns if from_ns is None else max(from_ns, next_ns) if or_later else from_ns
        if effective_ns < next_ns:
            raise UsageError(
                "images from that stamp on have passed already",
                expected=f"a stamp above {self._newest_stamp_ns} ns",
                got=from_ns,
            )
        distorter = FrameDistorter(spec, effective_ns)
        keep = bisect_right(self._from_ns, effective_ns - 1)
        self._from_ns = [*self._from_ns[:keep], effective_ns][-self._KEPT :]
        self._distorters = [*self._distorters[:keep], distorter][-self._KEPT :]
        self._begins_with_first = from_ns is None and next_ns == 0
        return effective_ns

    def at(self, stamp_ns: int) -> FrameDistorter:
        """Return the distorter of the image at ``stamp_ns``, and note that it has passed."""
        if self._begins_with_first:
            self._begins_with_first = False
            self._distorters[-1] = FrameDistorter(self.newest.spec, stamp_ns)
        self._newest_stamp_ns = max(self._newest_stamp_ns, stamp_ns)
        index = max(0, bisect_right(self._from_ns, stamp_ns) - 1)
        return self._distorters[index]
