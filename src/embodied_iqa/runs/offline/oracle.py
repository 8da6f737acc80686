"""The oracle of a headless run: a gate that knows the schedule of the distortion."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.arm.verdict import GateLease, Verdict
from embodied_iqa.imaging.distortions import FrameDistorter
from embodied_iqa.imaging.images.frame import View
from embodied_iqa.quality.gate.judge import GateFrame, GateOptions, GateState, ImageQuality, step
from embodied_iqa.quality.gate.judgement import Judgement

_GOOD = Judgement(Verdict.PASS, "")


class OracleGatekeeper:
    """Passes an image exactly while the level in force is 0: the best that a gate on images can do.

    A live robot cannot have it, since nobody knows when its images go bad.

    Args:
        distorter: Of the run.
        options: Rules of the gate; with ``recover_frames`` 1 nothing is held after a burst.
    """

    measures = False
    """No pixels are needed."""

    def __init__(self, distorter: FrameDistorter, options: GateOptions) -> None:
        self._distorter = distorter
        self._options = options
        self._states: dict[View, GateState] = {}

    def judge(
        self, view: View, stamp_ns: int, _rgb: NDArray[np.uint8] | None, now_ns: int
    ) -> tuple[ImageQuality, GateLease]:
        """See `Gatekeeper.judge`."""
        level = self._distorter.level_at(stamp_ns, view)
        judgement = Judgement(Verdict.HOLD, f"distorted at level {level}", at_once=True) if level else _GOOD
        frame = GateFrame(view, stamp_ns, now_ns, judgement)
        state = self._states.get(view, GateState())
        self._states[view], quality, lease = step(state, frame, self._options)
        return quality, lease
