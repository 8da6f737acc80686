"""A camera, or its driver, that sends one image again and again: its stamps are new, what it shows is not."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.arm.verdict import Verdict
from embodied_iqa.base.units import SECOND_NS
from embodied_iqa.imaging.images.frame import View
from embodied_iqa.quality.gate.judgement import Judgement

_STEP_PX: Final = 8
"""Every eighth pixel of every eighth row: the noise of a sensor never leaves all of them as they were."""


class StillImages:
    """Knows since when each camera has sent the same pixels."""

    def __init__(self) -> None:
        self._first: dict[View, tuple[NDArray[np.uint8], int]] = {}

    def judged(
        self, judgement: Judgement, view: View, stamp_ns: int, rgb: NDArray[np.uint8], limit_s: float
    ) -> Judgement:
        """Return the judgement of an image: at least HOLD, at once, where its pixels last for too long.

        Args:
            judgement: Of the image alone.
            view: The camera.
            stamp_ns: When the image was taken; earlier than the first of the same, the clock was set back.
            rgb: ``(H, W, 3)`` uint8; its memory may be used again for the next image.
            limit_s: Longest time between the first and the last image with the same pixels.
        """
        pixels, first = rgb[::_STEP_PX, ::_STEP_PX], self._first.get(view)
        if first is None or stamp_ns < first[1] or not np.array_equal(pixels, first[0]):
            self._first[view] = pixels.copy(), stamp_ns
            return judgement
        still_s = (stamp_ns - first[1]) / SECOND_NS
        if still_s <= limit_s:
            return judgement
        reason = f"no pixel has changed for {still_s:.1f} s: camera or driver repeats an image (still_s)"
        told = "; ".join(filter(None, (reason, judgement.reason)))
        return replace(judgement, verdict=max(judgement.verdict, Verdict.HOLD), reason=told, at_once=True)
