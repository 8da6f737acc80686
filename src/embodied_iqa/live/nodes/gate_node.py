"""The quality gate: judges every distorted image and the decisions on them; no motion without its lease."""

from __future__ import annotations

from functools import partial
from time import monotonic_ns, perf_counter, perf_counter_ns
from typing import Final

from embodied_iqa_msgs import msg as ours
from rclpy.lifecycle import LifecycleState, TransitionCallbackReturn
from sensor_msgs.msg import Image

from embodied_iqa.arm.verdict import GateMode, Verdict
from embodied_iqa.base.errors import UserError
from embodied_iqa.base.memory import reuse_large_blocks
from embodied_iqa.imaging.images.frame import View
from embodied_iqa.imaging.images.image_cdr import image_from_cdr, image_to_cdr
from embodied_iqa.live.ros.conversion import decision_of, lease_to_msg, optical_frame, quality_to_msg
from embodied_iqa.live.ros.frames import REPAIRED
from embodied_iqa.live.ros.gate_report import GateReport, why_not_gating
from embodied_iqa.live.ros.late_count import LateCount
from embodied_iqa.live.ros.node import Health, ManagedNode, leave, main_of
from embodied_iqa.live.ros.qos import EVENT, IMAGE, STATE, adjustable, image_input
from embodied_iqa.quality.gate.calibration_file import shared_gate_file
from embodied_iqa.quality.gate.camera_log import CameraLog
from embodied_iqa.quality.gate.gatekeeper import Gatekeeper
from embodied_iqa.quality.gate.judge import ImageQuality
from embodied_iqa.quality.gate.judges import make_judge
from embodied_iqa.quality.gate.waiting_decisions import WaitingDecisions
from embodied_iqa.runs.graph.parameters import GateParameters

_DURATION: Final = "gate_node.judge.lease.ttl_s"


class GateNode(ManagedNode[GateParameters]):
    """/distorted/<view>/image_raw -> /gate/quality and /gate/lease. Inactive or dead: no lease, no motion.

    Where the gate has a second stage, /vla/actions -> a further lease for each decision.
    """

    def __init__(self) -> None:
        super().__init__("gate_node", GateParameters)
        self._gatekeeper = Gatekeeper(None, self.config.judge, perf_counter_ns)
        self._verdicts = GateReport()
        self._refused = 0
        self._repaired = 0
        self._decisions = WaitingDecisions()
        self._decided = dict.fromkeys(Verdict, 0)
        self._late = LateCount()
        self._logs: dict[View, CameraLog] = {}
        self._lease_publisher = self.create_publisher(ours.GateLease, "gate/lease", STATE)
        self._quality_publisher = self.create_publisher(ours.ImageQuality, "gate/quality", STATE)
        self._passed_on = {
            view: self.create_publisher(Image, REPAIRED.format(view=view), **adjustable(IMAGE))
            for view in (self.config.views if self.config.judge.repairs else ())
        }
        self.create_subscription(ours.ActionChunk, "vla/actions", self._take_decision, EVENT)
        for view in self.config.views:
            topic = f"distorted/{view}/image_raw"
            take, qos = partial(self._judge, view), image_input(newest_only=self.config.newest_only)
            self.create_subscription(Image, topic, self._late.counting(take), raw=True, **adjustable(qos))

    def load(self) -> None:
        """Read the calibration, and the networks of a learned judge."""
        if self.config.judge.mode is not GateMode.OFF:
            if self.config.judge_note:
                self.get_logger().info(self.config.judge_note)
            file, kind = shared_gate_file(self.config.calibration), self.config.judge.kind
            judge = make_judge(kind, file, self.config.policy)
            self._gatekeeper = Gatekeeper(judge, self.config.judge, perf_counter_ns)
            self._verdicts = GateReport.of(file, kind, self.config.policy)

    def on_activate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Start judging; without an arm nothing obeys a lease, and the log has no holds."""
        self._logs = {view: self._log(view) for view in self.config.views} if self.config.has_arm else {}
        return super().on_activate(state)

    def _log(self, view: View) -> CameraLog:
        log, lease = self.get_logger(), self.config.judge.lease
        return CameraLog(
            view,
            lease,
            monotonic_ns(),
            log.warning,
            log.info,
            setting=_DURATION,
            stops_time=self.config.simulated,
        )

    def health(self) -> Health:
        """Return the number of images by verdict; a warning of a camera that is slower than its leases."""
        values = self._verdicts.verdicts()
        values |= {"refused": self._refused, "late": self._late.total}
        if self.config.judge.repairs:
            values["repaired"] = self._repaired
        if any(self._decided.values()) or self._decisions.dropped:
            values["decisions dropped"] = self._decisions.dropped
            values |= {f"decisions {verdict.name.lower()}": count for verdict, count in self._decided.items()}
        options = self.config.judge
        message = f"mode {options.mode}, judge {options.kind}"
        wrong = [why_not_gating(self, self._lease_publisher.topic_name)]
        wrong += [log.why_slow() for log in self._logs.values() if self.active]
        return self._verdicts.health(message, values, "; ".join(filter(None, wrong)))

    def _judge(self, view: View, cdr: bytes) -> None:
        if not self.active:
            return
        began = perf_counter()
        try:
            image = image_from_cdr(cdr)
        except UserError as error:
            self._refused += 1
            self.get_logger().error(f"{view}: {error}", throttle_duration_sec=1.0)
            return
        now_ns = self.get_clock().now().nanoseconds
        quality, lease = self._gatekeeper.judge(view, image.stamp_ns, image.rgb, now_ns)
        if view in self._logs:
            age_ns = self.get_clock().now().nanoseconds - quality.stamp_ns
            self._logs[view].judged(quality, self.config.judge, monotonic_ns(), age_ns)
        if view in self._passed_on:  # before the lease: the policy decides on what it is for
            self._pass_on(quality, cdr)
        self._lease_publisher.publish(lease_to_msg(lease, self.config.judge.mode))
        latency_ms = (perf_counter() - began) * 1e3
        self._verdicts.add(quality, latency_ms)
        self._quality_publisher.publish(quality_to_msg(quality, latency_ms))
        self._judge_decisions()

    def _take_decision(self, message: ours.ActionChunk) -> None:
        if not self.active or message.status != ours.ActionChunk.STATUS_ACT:
            return
        try:
            dropped = self._decisions.add(decision_of(message, self.config.views))
        except UserError as error:
            self._refused += 1
            self.get_logger().error(f"decision {message.sequence}: {error}", throttle_duration_sec=1.0)
            return
        if dropped is not None:
            self.get_logger().warning(
                f"decision {dropped.sequence} dropped: its frame was not judged, and newer ones wait",
                throttle_duration_sec=1.0,
            )
        self._judge_decisions()

    def _judge_decisions(self) -> None:
        """Judge the decisions whose frame is judged; the others wait for it."""
        now_ns = self.get_clock().now().nanoseconds
        for decision in self._decisions.take(self._gatekeeper.knows):
            lease = self._gatekeeper.judge_decision(decision, now_ns)
            if lease is not None:
                self._decided[lease.judged] += 1
                self._lease_publisher.publish(lease_to_msg(lease, self.config.judge.mode))

    def _pass_on(self, quality: ImageQuality, cdr: bytes) -> None:
        """Publish what the policy sees: the repaired image, or else the image as received."""
        if quality.repaired is not None:
            self._repaired += 1
            cdr = image_to_cdr(quality.repaired, quality.stamp_ns, optical_frame(quality.view))
        self._passed_on[quality.view].publish(cdr)


def main() -> int:
    """Run the node."""
    reuse_large_blocks()
    return main_of(GateNode)


if __name__ == "__main__":
    leave(main())
