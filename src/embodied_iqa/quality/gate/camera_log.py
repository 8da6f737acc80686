"""What a gate logs of a camera: holds that begin and end, and leases that end before its next image."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final

from embodied_iqa.arm.lease_options import LeaseOptions
from embodied_iqa.imaging.images.frame import View
from embodied_iqa.quality.gate.camera_pace import CameraPace
from embodied_iqa.quality.gate.hold_log import HoldLog
from embodied_iqa.quality.gate.judge import GateOptions, ImageQuality

_SLOWER: Final = 3
"""Periods of a camera without an image after which images are missing."""
_LOST_SHARE: Final = 0.1
_GUIDE: Final = "images that never arrive"


class CameraLog:
    """The log of one camera, whichever node judges its images.

    Args:
        view: The camera.
        lease: Times of its leases.
        begun_ns: Now, on any clock that never goes back; that of all times here.
        warn: Receives the line of a hold that begins, and once that leases end too early.
        tell: Receives the line of a hold that ends.
        setting: Name of the duration of a lease, as the user sets it.
        stops_time: Time may stand still, as in a simulation: a pause of the images does not count as a hold.
    """

    def __init__(
        self,
        view: View,
        lease: LeaseOptions,
        begun_ns: int,
        warn: Callable[[str], object],
        tell: Callable[[str], object],
        *,
        setting: str,
        stops_time: bool = False,
    ) -> None:
        self._view, self._judged = view, 0
        self._pace = CameraPace(view, lease, setting)
        self._holds = HoldLog(view, begun_ns, warn, tell)
        self._warn, self._stops_time = warn, stops_time
        self._is_warned = False

    def judged(self, quality: ImageQuality, options: GateOptions, now_ns: int, age_ns: int = 0) -> None:
        """Note the judgement of an image.

        Args:
            quality: The judgement.
            options: Rules of the gate; their mode may change.
            now_ns: Now.
            age_ns: From the stamp of the image until now, by the clock of the stamps.
        """
        self._judged += 1
        self._pace.add(quality.stamp_ns, age_ns)
        pause_ns = self._pause_ns(options)
        self._holds.judged(now_ns, quality.verdict, quality.reason, options.mode, pause_ns)

    def silent(self, now_ns: int) -> None:
        """Note that no image comes, which the camera has reported."""
        self._holds.silent(now_ns)

    def why_slow(self, lost: int = 0) -> str:
        """Return that leases end before the next one, which is logged once; empty where they last.

        Args:
            lost: Images that were published and never arrived: where these are many, no other lease helps.
        """
        slow = self._pace.warning()
        if lost > _LOST_SHARE * (lost + self._judged):
            lossy = f"{self._view}: {lost} of {lost + self._judged} images were lost on the way"
            slow = f"{lossy}: give the camera's node config/fastdds_shared_memory.xml (guide: {_GUIDE})"
        if slow and not self._is_warned:
            self._is_warned = True
            self._warn(slow)
        return slow

    def _pause_ns(self, options: GateOptions) -> float:
        """Return how long a camera pauses when no lease outlasts it and it is not just slow."""
        if self._stops_time or self._pace.period_ns is None:
            return math.inf
        return max(options.reset_gap_ns, _SLOWER * self._pace.period_ns)
