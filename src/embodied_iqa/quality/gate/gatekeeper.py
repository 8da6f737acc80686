"""The quality gate of several cameras: the one place where an image becomes a verdict and a lease."""

from __future__ import annotations

from collections import OrderedDict
from typing import Final

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.arm.verdict import GateLease, GateMode, Verdict
from embodied_iqa.base.errors import first_line
from embodied_iqa.imaging.images.frame import View
from embodied_iqa.quality.gate.judge import GateFrame, GateOptions, GateState, ImageQuality, step
from embodied_iqa.quality.gate.judgement import ImageJudge, Judgement
from embodied_iqa.quality.gate.repair import Clock, judge_repaired
from embodied_iqa.quality.gate.second_stage import GateDecision, Prediction, SecondStage, judge_decision
from embodied_iqa.quality.gate.still_images import StillImages

_FRAMES_KEPT: Final = 64
"""Judged frames that a decision may be about: of three cameras over a second at least."""


class Gatekeeper:
    """Judges images; live, in a headless trial and in rescoring.

    Args:
        judge: Judges each image alone; None for a gate that measures nothing, as in mode OFF. What it is to
            measure all the same is rejected.
        options: Rules of the gate; may be replaced between two frames.
        clock: Real time in ns, for the time limit of repairs; None where it does not count.
    """

    def __init__(self, judge: ImageJudge | None, options: GateOptions, clock: Clock | None = None) -> None:
        self.options = options
        self._judge = judge
        self._clock = clock
        self._still = StillImages()
        self._states: dict[View, GateState] = {}
        self._judged: OrderedDict[tuple[View, int], tuple[SecondStage | None, Prediction | None]] = (
            OrderedDict()
        )

    @property
    def measures(self) -> bool:
        """Whether images are measured; in mode OFF their pixels are not needed."""
        return self.options.mode is not GateMode.OFF

    def judge(
        self, view: View, stamp_ns: int, rgb: NDArray[np.uint8] | None, now_ns: int
    ) -> tuple[ImageQuality, GateLease]:
        """Judge the next image of a camera; see `gate.judge.step` for the rules.

        Args:
            view: The camera.
            stamp_ns: When the image was taken, ROS time.
            rgb: ``(H, W, 3)`` uint8, red first; None where it was not drawn, which mode OFF allows. In the
                other modes an image that is missing or cannot be measured is rejected.
            now_ns: ROS time; the stamp itself when a recording is judged again.
        """
        judgement = self.judge_alone(view, rgb) if self.measures else None
        still_s = self.options.still_s
        if judgement is not None and judgement.statistics is not None and rgb is not None and still_s:
            judgement = self._still.judged(judgement, view, stamp_ns, rgb, still_s)
        frame = GateFrame(view, stamp_ns, now_ns, judgement)
        state = self._states.get(view, GateState())
        self._states[view], quality, lease = step(state, frame, self.options)
        second = None if judgement is None else judgement.second
        self._judged[view, stamp_ns] = second, quality.prediction  # not the judgement: it may hold images
        while len(self._judged) > _FRAMES_KEPT:
            self._judged.popitem(last=False)
        return quality, lease

    def knows(self, view: View, stamp_ns: int) -> bool:
        """Return whether a frame was judged, and not too long ago."""
        return (view, stamp_ns) in self._judged

    def judge_decision(self, decision: GateDecision, now_ns: int) -> GateLease | None:
        """Judge a motion that the policy decided on; None where the gate has no second stage for its frame.

        A decision on a frame that is not known, because it is not judged yet or too old, is None, too: the
        lease of a frame says whether a decision on it needs a verdict, and without a verdict nothing moves.

        Args:
            decision: The decision.
            now_ns: ROS time; the stamp itself when a recording is judged again.
        """
        second, prediction = self._judged.get((decision.view, decision.stamp_ns), (None, None))
        if second is None:
            return None
        verdict, reason = judge_decision(second, prediction, decision)
        return GateLease(
            view=decision.view,
            frame_stamp_ns=decision.stamp_ns,
            verdict=self.options.obeyed(verdict),
            judged=verdict,
            expires_ns=self.options.lease.end_ns(decision.stamp_ns, now_ns),
            reason=reason,
            decision=decision.sequence,
        )

    def judge_alone(self, view: View, rgb: NDArray[np.uint8] | None) -> Judgement:
        """Judge an image without the frames before it; where the judge fails, the image is rejected.

        One that does not pass is repaired and judged again, if the rules say so.
        """
        if self._judge is None:
            return Judgement(Verdict.REJECT, "the gate has no judge")
        try:
            judgement = self._judge.judge(view, rgb)
        except Exception as error:  # noqa: BLE001 - whatever fails in a judge must not let an image pass
            return Judgement(Verdict.REJECT, f"the judge failed: {first_line(error)}")
        if rgb is None or not self.options.repairs:
            return judgement
        return judge_repaired(self._judge, view, rgb, judgement, self.options.repair, clock=self._clock)
