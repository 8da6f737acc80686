"""The quality gate of several cameras: the one place where a picture becomes a verdict and a lease."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.errors import first_line
from embodied_iqa.gate.judge import GateFrame, GateOptions, GateState, ImageQuality, step
from embodied_iqa.gate.judgement import Judgement, PictureJudge
from embodied_iqa.gate.repair import Clock, judge_repaired
from embodied_iqa.gate.verdict import GateLease, GateMode, Verdict
from embodied_iqa.images.frame import View


class Gatekeeper:
    """Judges pictures; live, in a headless trial and in rescoring.

    Args:
        judge: Judges each picture alone.
        options: Rules of the gate; may be replaced between two frames.
        clock: Real time in ns, for the time limit of repairs; None where it does not count.
    """

    def __init__(self, judge: PictureJudge, options: GateOptions, clock: Clock | None = None) -> None:
        self.options = options
        self._judge = judge
        self._clock = clock
        self._states: dict[View, GateState] = {}

    @property
    def measures(self) -> bool:
        """Whether pictures are measured; in mode OFF their pixels are not needed."""
        return self.options.mode is not GateMode.OFF

    def judge(
        self, view: View, stamp_ns: int, rgb: NDArray[np.uint8] | None, now_ns: int
    ) -> tuple[ImageQuality, GateLease]:
        """Judge the next picture of a camera; see `gate.judge.step` for the rules.

        Args:
            view: The camera.
            stamp_ns: When the picture was taken, ROS time.
            rgb: ``(H, W, 3)`` uint8, red first; None where it was not drawn, which mode OFF allows. In the
                other modes a picture that is missing or cannot be measured is rejected.
            now_ns: ROS time; the stamp itself when a recording is judged again.
        """
        judgement = self.judge_alone(view, rgb) if self.measures else None
        frame = GateFrame(view, stamp_ns, now_ns, judgement)
        state = self._states.get(view, GateState())
        self._states[view], quality, lease = step(state, frame, self.options)
        return quality, lease

    def judge_alone(self, view: View, rgb: NDArray[np.uint8] | None) -> Judgement:
        """Judge a picture without the frames before it; where the judge fails, the picture is rejected.

        One that does not pass is repaired and judged again, if the rules say so.
        """
        try:
            judgement = self._judge.judge(view, rgb)
        except Exception as error:  # noqa: BLE001 - whatever fails in a judge must not let a picture pass
            return Judgement(Verdict.REJECT, f"the judge failed: {first_line(error)}")
        if rgb is None or not self.options.repairs:
            return judgement
        return judge_repaired(self._judge, view, rgb, judgement, self.options.repair, clock=self._clock)
