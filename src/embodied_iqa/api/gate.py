"""The quality gate in the Python interface."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.arm.verdict import GateLease
from embodied_iqa.imaging.images.frame import parse_view
from embodied_iqa.quality.gate.gatekeeper import Gatekeeper
from embodied_iqa.quality.gate.judge import GateOptions, ImageQuality
from embodied_iqa.quality.gate.judgement import parse_judge
from embodied_iqa.quality.gate.judges import load_judge, shared_judge
from embodied_iqa.quality.gate.second_stage import GateDecision
from embodied_iqa.runs.graph.parameters import GateParameters

Image = NDArray[np.uint8]


class Gate:
    """The quality gate: judges the images of one robot's cameras in the order in which they were taken.

    Args:
        calibration: File of `embodied-iqa gate calibrate` or `gate fit`; None for that of the simulated cell.
        options: Rules of the gate, such as the number of bad frames that give HOLD.
        judge: ``statistics``, ``learned`` or ``metric:NAME``; empty: that of the rules.
        policy: Subject that decides on the images. A learned judge with a second stage for it also judges
            its motions; empty: images alone.

    Raises:
        UsageError: An unknown judge.
        InputError: The file cannot be read, is from another version, or has no fit of this judge.
    """

    def __init__(
        self,
        calibration: Path | str | None = None,
        options: GateOptions | None = None,
        judge: str = "",
        policy: str = "",
    ) -> None:
        options = options or GateOptions()
        if judge:
            options = replace(options, kind=parse_judge(judge))
        if calibration is None:
            made = shared_judge(options.kind, GateParameters().calibration, policy)
        else:
            made = load_judge(options.kind, Path(calibration), policy)
        self._gatekeeper = Gatekeeper(made, options)
        self._motions = 0

    def judge(self, image: Image, view: str = "top", stamp_ns: int | None = None) -> ImageQuality:
        """Return verdict, reason and statistics of the next image of a camera.

        `frame_verdict` is the verdict on this image alone; `verdict` includes the frames before it.

        Args:
            image: ``(H, W, 3)`` uint8 RGB.
            view: Name of the camera, as in the gate's file.
            stamp_ns: Time stamp of the image in nanoseconds; None for now.
        """
        now_ns = time.time_ns() if stamp_ns is None else stamp_ns
        quality, _ = self._gatekeeper.judge(parse_view(view), now_ns, image, now_ns)
        return quality

    def judge_motion(self, seen: float | None, stamp_ns: int, view: str = "top") -> GateLease | None:
        """Return the verdict of the second stage on a motion that the policy decided on.

        `judged` is the verdict and `reason` says why the motion does not pass; `verdict` is PASS in the modes
        that let everything pass. Move only if the image passed, too.

        Args:
            seen: Probability in [0, 1] that the image shows the target, by the policy; None where it
                reports none.
            stamp_ns: Time stamp of the image, `stamp_ns` of its quality.
            view: Camera of the image.

        Returns:
            None where the judge has no second stage for this policy and camera, or the image was not among
            the newest that were judged.
        """
        self._motions += 1
        decision = GateDecision(parse_view(view), stamp_ns, self._motions, seen)
        return self._gatekeeper.judge_decision(decision, stamp_ns)
