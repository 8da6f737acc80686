"""Listens to a gate node for its live page: verdicts, reasons, predictions, and the overlay images.

Run as ``python -m embodied_iqa.live.ros.gate_watching /gate``; a line in, a state in JSON out.
"""

from __future__ import annotations

import json
import math
import os
import re
import sys
from functools import partial
from typing import Any, Final

import rclpy
from diagnostic_msgs.msg import DiagnosticArray
from embodied_iqa_msgs import msg as ours
from rclpy.node import Node
from rclpy.signals import SignalHandlerOptions
from sensor_msgs.msg import Image

from embodied_iqa.arm.verdict import GateMode, Verdict
from embodied_iqa.base.clock import MONOTONIC, Clock
from embodied_iqa.base.errors import InputError
from embodied_iqa.imaging.images.frame import View, is_view
from embodied_iqa.imaging.images.image_cdr import image_from_cdr
from embodied_iqa.live.ros.environment import prepare_environment
from embodied_iqa.live.ros.qos import NEWEST_SENSOR, SENSOR
from embodied_iqa.live.ros.spinning import SpinThread
from embodied_iqa.quality.gate.proxy.live_view import GateLive

_LOOK_S: Final = 1.0
_STALE_S: Final = 2.0
"""Age of an overlay after which it is not shown: its verdict stands in it."""
_JUDGE: Final = re.compile(r"judge (learned|metric:|statistics)")
"""In the message of a gate on /diagnostics."""


class GateWatch:
    """What a gate node publishes, as `GateLive` shows it.

    Args:
        node: Subscribes.
        name: Of the gate.
        clock: Of the last minute.
    """

    def __init__(self, node: Node, name: str, clock: Clock = MONOTONIC) -> None:
        self._node, self._name = node, name
        self._live = GateLive(clock, _STALE_S)
        self._views: dict[str, dict[str, Any]] = {}
        self._mode, self._kind = str(GateMode.ON), ""
        self._heard: set[str] = set()
        node.create_subscription(ours.ImageQuality, f"{name}/quality", self.take_quality, SENSOR)
        node.create_subscription(ours.GateLease, f"{name}/lease", self.take_lease, SENSOR)
        node.create_subscription(DiagnosticArray, "/diagnostics", self.take_diagnostics, SENSOR)
        node.create_timer(_LOOK_S, self.look)

    def state(self) -> dict[str, Any]:
        """Return the last minute; where nothing has come and nobody publishes, why as ``silent``."""
        topic = f"{self._name}/quality"
        if not self._views and not self._node.count_publishers(topic):
            domain = os.environ.get("ROS_DOMAIN_ID", "0")
            return {"silent": f"no gate: nobody publishes {topic} in ROS domain {domain}"}
        return self._live.snapshot()

    def take_quality(self, message: ours.ImageQuality) -> None:
        """Note a judged image."""
        if not is_view(message.view) or message.verdict not in {*Verdict}:
            return  # of nobody who knows these messages
        verdict, value = Verdict(message.verdict).name, _known(message.predicted)
        threshold = _known(message.threshold)
        seen = {"verdict": verdict, "reason": message.reason, "value": value, "threshold": threshold}
        self._views = {**self._views, message.view: seen}
        self._live.add(self._report(), {message.view: (verdict, value)}, {})

    def take_lease(self, message: ours.GateLease) -> None:
        """Note the mode."""
        self._mode = dict(enumerate(map(str, GateMode))).get(message.mode, "unknown")

    def look(self) -> None:
        """Subscribe to overlays that are new."""
        for topic, kinds in self._node.get_topic_names_and_types():
            if topic.startswith(f"{self._name}/overlay/") and "sensor_msgs/msg/Image" in kinds:
                self._hear(topic)

    def _hear(self, topic: str) -> None:
        if topic not in self._heard:
            self._heard.add(topic)
            view = topic.removeprefix(f"{self._name}/overlay/").rpartition("/")[0]
            self._node.create_subscription(
                Image, topic, partial(self.take_overlay, view), NEWEST_SENSOR, raw=True
            )

    def take_overlay(self, view: str, cdr: bytes) -> None:
        """Show an overlay; of the only camera where its topic names none."""
        names = [view] if view else list(self._views)
        if len(names) == 1 and self._views:
            try:
                self._live.add(self._report(), {}, {View(names[0]): image_from_cdr(cdr).rgb})
            except InputError:
                return

    def take_diagnostics(self, message: DiagnosticArray) -> None:
        """Note which judge it is."""
        name = self._name.removeprefix("/")
        for status in message.status:
            if status.name in {name, f"{name}_node"} and (found := _JUDGE.search(status.message)):
                self._kind = found[1]

    def _report(self) -> dict[str, Any]:
        """Return the newest verdicts in the form of the proxy's answers."""
        worst = max(self._views.values(), key=lambda one: Verdict[one["verdict"]])
        reasons = (one["reason"] for one in self._views.values() if one["reason"])
        known = [one["value"] for one in self._views.values() if one["value"] is not None]
        return {
            "verdict": worst["verdict"],
            "reason": "; ".join(reasons),
            "mode": self._mode,
            "expected_loss": max(known) if known and self._kind == "learned" else None,
            "views": self._views,
        }


def _known(value: float) -> float | None:
    return value if math.isfinite(value) else None


def main() -> int:
    """Answer until the input ends; return the exit code."""
    prepare_environment()
    rclpy.init(signal_handler_options=SignalHandlerOptions.NO)
    node = Node("studio_gate")
    watch = GateWatch(node, sys.argv[1])
    spin = SpinThread(node)
    try:
        for _line in sys.stdin:
            sys.stdout.write(json.dumps(watch.state(), allow_nan=False) + "\n")
            sys.stdout.flush()
    except KeyboardInterrupt:
        return 0
    finally:
        spin.close()
        node.destroy_node()
        rclpy.try_shutdown()
    return 0


if __name__ == "__main__":
    sys.exit(main())
