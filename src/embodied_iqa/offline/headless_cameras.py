"""Cameras, distortion and gate of a run without ROS: pictures are drawn only when somebody looks at them."""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import replace

from embodied_iqa.distortions import FrameDistorter
from embodied_iqa.errors import InternalError, UserError
from embodied_iqa.gate.calibration import GateCalibration
from embodied_iqa.gate.calibration_file import find_calibration
from embodied_iqa.gate.judge import GateConfig, GateFrame, GateState, step
from embodied_iqa.gate.statistics import ImageStatistics, measure
from embodied_iqa.gate.verdict import GateLease, GateMode
from embodied_iqa.images.assembler import Source
from embodied_iqa.images.frame import Frame, View
from embodied_iqa.images.message_geometry import as_sent
from embodied_iqa.scenes.snapshot import WorldSnapshot
from embodied_iqa.simulation.renderer import SceneRenderer
from embodied_iqa.trial.record import VerdictRecord

__all__ = ["HeadlessCameras"]


class HeadlessCameras:
    """Remembers what the world looked like, and draws it on demand.

    Args:
        renderer: Of the run's scene.
        distorter: What is done to every picture of the run.
        calibrations: Thresholds of the gate.
        gate: The gate's rules.
        kept: Stamps that can still be looked at.
    """

    def __init__(
        self,
        renderer: SceneRenderer,
        distorter: FrameDistorter,
        calibrations: Sequence[GateCalibration],
        gate: GateConfig,
        kept: int,
    ) -> None:
        self._renderer = renderer
        self._distorter = distorter
        self._calibrations = calibrations
        self._gate = gate
        self._kept = kept
        self._gate_states: dict[View, GateState] = {}
        self._snapshots: OrderedDict[int, WorldSnapshot] = OrderedDict()
        self._frames: dict[tuple[int, View, Source], Frame] = {}
        self.drawn = 0

    @property
    def distorts(self) -> bool:
        """Whether raw and distorted pictures differ."""
        return self._distorter.spec is not None

    def take(self, snapshot: WorldSnapshot, stamp_ns: int) -> None:
        """Take a picture of every view; it is drawn when it is looked at."""
        self._snapshots[stamp_ns] = replace(snapshot, time_ns=stamp_ns)
        while len(self._snapshots) > self._kept:
            gone, _ = self._snapshots.popitem(last=False)
            self._frames = {key: frame for key, frame in self._frames.items() if key[0] != gone}

    def frame(self, view: View, source: Source, stamp_ns: int) -> Frame:
        """Return a picture that was taken."""
        key = (stamp_ns, view, source)
        if key not in self._frames:
            self._frames[key] = self._draw(view, source, stamp_ns)
        return self._frames[key]

    def judge(self, view: View, stamp_ns: int, now_ns: int) -> tuple[VerdictRecord, GateLease]:
        """Let the gate judge a picture, as gate_node does."""
        statistics = None
        if self._gate.mode is not GateMode.OFF:
            statistics = _measured(self.frame(view, Source.DISTORTED, stamp_ns))
        calibration = None
        if statistics is not None:
            size = statistics.width_px, statistics.height_px
            calibration = find_calibration(self._calibrations, view, *size)
        frame = GateFrame(view, stamp_ns, now_ns, statistics)
        state = self._gate_states.get(view, GateState())
        self._gate_states[view], quality, lease = step(state, frame, calibration, self._gate)
        return VerdictRecord(stamp_ns, view, quality.verdict, quality.reason, math.nan), lease

    def _draw(self, view: View, source: Source, stamp_ns: int) -> Frame:
        if source is Source.DISTORTED:
            raw = self.frame(view, Source.RAW, stamp_ns)
            return replace(raw, rgb=self._distorter.apply(raw.rgb, view, stamp_ns))
        if stamp_ns not in self._snapshots:
            raise InternalError(f"no picture was taken at {stamp_ns} ns, or it is no longer kept")
        self.drawn += 1
        frame = self._renderer.frame(view, self._snapshots[stamp_ns])
        return replace(frame, T_base_camera=as_sent(frame.T_base_camera))


def _measured(frame: Frame) -> ImageStatistics | None:
    """Return the statistics, or None where the picture is too small for them: the gate rejects it."""
    try:
        return measure(frame.rgb)
    except UserError:
        return None
