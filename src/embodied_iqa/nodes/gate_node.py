"""The quality gate: judges every distorted picture and leases it to the arm, or not."""

from __future__ import annotations

import math
import sys
from pathlib import Path
from time import perf_counter

import numpy as np
from embodied_iqa_msgs import msg as ours
from numpy.typing import NDArray

from embodied_iqa.errors import UserError
from embodied_iqa.gate.calibration import GateCalibration
from embodied_iqa.gate.calibration_file import find_calibration, load_calibrations
from embodied_iqa.gate.judge import GateFrame, GateState, ImageQuality, step
from embodied_iqa.gate.statistics import ImageStatistics, Statistic, measure
from embodied_iqa.gate.verdict import GateMode, Verdict
from embodied_iqa.graph.parameters import GateParameters
from embodied_iqa.images.frame import View
from embodied_iqa.images.image_cdr import image_from_cdr
from embodied_iqa.resources import shared_file
from embodied_iqa.ros.conversion import lease_to_msg, optical_frame, time_of
from embodied_iqa.ros.node import Health, ManagedNode, main_of
from embodied_iqa.ros.pictures import subscribe_pictures
from embodied_iqa.ros.qos import STATE


class GateNode(ManagedNode[GateParameters]):
    """/distorted/<view>/image_raw -> /gate/quality and /gate/lease. Inactive or dead: no lease, no motion."""

    def __init__(self) -> None:
        super().__init__("gate_node", GateParameters)
        views = self.config.views
        self._calibrations: tuple[GateCalibration, ...] = ()
        self._states = {view: GateState() for view in views}
        self._counts = dict.fromkeys(Verdict, 0)
        self._refused = 0
        self._latency_ms = 0.0
        self._lease_publisher = self.create_publisher(ours.GateLease, "/gate/lease", STATE)
        self._quality_publisher = self.create_publisher(ours.ImageQuality, "/gate/quality", STATE)
        for view in views:
            subscribe_pictures(self, f"/distorted/{view}/image_raw", lambda cdr, v=view: self._judge(v, cdr))

    def load(self) -> None:
        """Read the thresholds."""
        if self.config.judge.mode is GateMode.OFF:
            return
        path = Path(self.config.calibration)
        self._calibrations = load_calibrations(path if path.is_absolute() else shared_file(str(path)))

    def health(self) -> Health:
        """Say how many pictures got which verdict."""
        values: dict[str, object] = {verdict.name.lower(): count for verdict, count in self._counts.items()}
        values |= {"refused": self._refused, "latency_ms": round(self._latency_ms, 2)}
        return Health(message=f"mode {self.config.judge.mode}", values=values)

    def _judge(self, view: View, cdr: bytes) -> None:
        if not self.active:
            return
        began = perf_counter()
        try:
            picture = image_from_cdr(cdr)
        except UserError as error:
            self._refused += 1
            self.get_logger().error(f"{view}: {error}", throttle_duration_sec=1.0)
            return
        statistics = None if self.config.judge.mode is GateMode.OFF else _measure(picture.rgb)
        now_ns = self.get_clock().now().nanoseconds
        frame = GateFrame(view, picture.stamp_ns, now_ns, statistics)
        calibration = None
        if statistics is not None:
            calibration = find_calibration(
                self._calibrations, view, statistics.width_px, statistics.height_px
            )
        self._states[view], quality, lease = step(self._states[view], frame, calibration, self.config.judge)
        self._counts[lease.judged] += 1
        self._lease_publisher.publish(lease_to_msg(lease, self.config.judge.mode))
        self._latency_ms = (perf_counter() - began) * 1e3
        self._quality_publisher.publish(_quality_to_msg(quality, self._latency_ms))


def _measure(rgb: NDArray[np.uint8]) -> ImageStatistics | None:
    """Return the statistics, or None where the picture is too small for them: the gate rejects it."""
    try:
        return measure(rgb)
    except UserError:
        return None


def _quality_to_msg(quality: ImageQuality, latency_ms: float) -> ours.ImageQuality:
    message = ours.ImageQuality(
        view=str(quality.view),
        frame_verdict=int(quality.frame_verdict),
        verdict=int(quality.verdict),
        reason=quality.reason,
        latency_ms=latency_ms,
    )
    message.header.stamp = time_of(quality.stamp_ns)
    message.header.frame_id = optical_frame(quality.view)
    for statistic in Statistic:
        value = math.nan if quality.statistics is None else quality.statistics.value(statistic)
        setattr(message, statistic.value, float(value))
    return message


def main() -> int:
    """Run the node."""
    return main_of(GateNode)


if __name__ == "__main__":
    sys.exit(main())
