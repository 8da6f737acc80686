"""What a gate reports on /diagnostics: verdicts, latency, and whether its calibration still holds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Self

from diagnostic_msgs.msg import DiagnosticStatus
from rclpy.node import Node

from embodied_iqa.arm.verdict import Verdict
from embodied_iqa.live.ros.node import Health, ManagedNode
from embodied_iqa.quality.gate.calibration_file import GateFile
from embodied_iqa.quality.gate.drift import DriftWatch
from embodied_iqa.quality.gate.judge import ImageQuality
from embodied_iqa.quality.gate.judgement import JudgeChoice

_INACTIVE: Final = "not active: no lease, so nothing may move"
_REPEAT_S: Final = 60.0


def several_gates(node: Node, topic: str) -> str:
    """Return that more than one gate grants leases: one would permit what another one holds; else empty.

    Args:
        node: Who takes or grants them.
        topic: Of the leases.
    """
    name = node.resolve_topic_name(topic)
    gates = node.count_publishers(name)
    killed = "one that was killed counts for some seconds more"
    return f"{gates} publishers of {name}: expected one gate; {killed}" if gates > 1 else ""


def why_not_gating(node: ManagedNode[Any], topic: str) -> str:
    """Return why a gate does not do its work, or not it alone, which it logs; empty where all is well.

    Args:
        node: The gate.
        topic: Of its leases.
    """
    doubled = several_gates(node, topic)
    if doubled:
        node.get_logger().warning(doubled, throttle_duration_sec=_REPEAT_S)
    return "; ".join(filter(None, ("" if node.active else _INACTIVE, doubled)))


class GateReport:
    """Counts of the images of a gate.

    Args:
        drift: Compares them with the calibration.
        thresholds: Of the fitted judge, by name.
    """

    def __init__(
        self, drift: DriftWatch | None = None, thresholds: Mapping[str, float] | None = None
    ) -> None:
        self._drift = drift or DriftWatch({})
        self._thresholds = dict(thresholds or {})
        self._counts = dict.fromkeys(Verdict, 0)
        self._latency_ms = 0.0

    @classmethod
    def of(cls, file: GateFile, kind: JudgeChoice, policy: str = "") -> Self:
        """Return the report of a judge of a file; for the policy see `DriftWatch.of`."""
        chosen = (gate for gate in file.fitted if gate.choice == kind)
        thresholds = {f"{gate.view} threshold": round(gate.threshold, 4) for gate in chosen}
        return cls(DriftWatch.of(file.fitted, kind, policy), thresholds)

    def add(self, quality: ImageQuality, latency_ms: float) -> None:
        """Count a judged image and how long that took."""
        self._counts[quality.verdict] += 1
        self._drift.add(quality)
        self._latency_ms = latency_ms

    def verdicts(self) -> dict[str, object]:
        """Return the number of images by verdict, whatever the mode."""
        return {verdict.name.lower(): count for verdict, count in self._counts.items()}

    def health(self, message: str, values: Mapping[str, object], warning: str = "") -> Health:
        """Return the state to report.

        Args:
            message: What the gate does, in words.
            values: Details that come first.
            warning: Why it cannot work as it should; empty where it can.
        """
        known = {
            **values,
            "latency_ms": round(self._latency_ms, 2),
            **self._thresholds,
            **self._drift.values(),
        }
        drifted = self._drift.warning()
        if not warning and drifted:
            warning = f"the promise of the calibration does not hold: {drifted}"
        if warning:
            return Health(DiagnosticStatus.WARN, f"{message}: {warning}", known)
        return Health(message=message, values=known)
