"""The gate by itself: judges the images of other people's cameras and passes on the good ones."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from time import monotonic_ns, perf_counter, perf_counter_ns
from typing import Final

from embodied_iqa_msgs import msg as ours
from embodied_iqa_msgs.srv import JudgeImage
from rclpy.lifecycle import LifecycleState, TransitionCallbackReturn
from rclpy.publisher import Publisher
from sensor_msgs.msg import CompressedImage, Image

from embodied_iqa.arm.verdict import GateMode, Verdict
from embodied_iqa.base.errors import InputError, UsageError, UserError
from embodied_iqa.base.memory import reuse_large_blocks
from embodied_iqa.imaging.images.frame import View
from embodied_iqa.imaging.images.image_cdr import frame_from_cdr, image_to_cdr
from embodied_iqa.imaging.images.topic_camera import OF_IMAGES, TopicCamera, TopicOptions
from embodied_iqa.live.ros.asked_image import asked_image, asked_view
from embodied_iqa.live.ros.conversion import lease_to_msg, ns_of, quality_to_msg
from embodied_iqa.live.ros.gate_report import GateReport, why_not_gating
from embodied_iqa.live.ros.image_topics import why_no_images
from embodied_iqa.live.ros.late_count import LateCount
from embodied_iqa.live.ros.node import Health, ManagedNode, leave, main_of
from embodied_iqa.live.ros.node_parameters import warn_of_idle_sections
from embodied_iqa.live.ros.qos import IMAGE, NEWEST_SENSOR, STATE, adjustable
from embodied_iqa.quality.gate.camera_log import CameraLog
from embodied_iqa.quality.gate.gatekeeper import Gatekeeper
from embodied_iqa.quality.gate.image_filters import compile_for
from embodied_iqa.quality.gate.judge import ImageQuality
from embodied_iqa.quality.gate.judgement import ImageJudge
from embodied_iqa.quality.gate.judges import advice_in_words, make_judge, unfitted, unfitted_in_words
from embodied_iqa.quality.gate.overlay import overlaid
from embodied_iqa.runs.graph.gate_only_parameters import GateOnlyParameters, passed_topics
from embodied_iqa.runs.graph.topic_parameters import Transport

_MODE: Final = "judge.mode"
_DURATION: Final = "judge.lease.ttl_s"
_COUNTED: Final = ("lost", *OF_IMAGES)
"""Of the counts of a camera, those that a node can have which takes images alone and each as it comes."""
_UNCALIBRATED: Final = (
    "not calibrated, every image is rejected: set calibration (embodied-iqa gate calibrate)"
)


class GateOnlyNode(ManagedNode[GateOnlyParameters]):
    """Images of others -> ~/lease, ~/passed/image_raw and ~/quality. Inactive or dead: no lease, no image.

    With several cameras the images that passed are on ~/passed/<view>/image_raw. Who listens on
    ~/overlay/image_raw sees each image with its verdict.
    """

    changeable = frozenset({_MODE})

    def __init__(self) -> None:
        super().__init__("gate", GateOnlyParameters)
        warn_of_idle_sections(self)
        self._file = self.config.file()
        self._topics = self.config.topics(self._file)
        self._options = self.config.judge
        self._is_compressed = self.config.topic.transport is Transport.COMPRESSED
        if self._options.repair.enabled and self._is_compressed:
            raise UsageError("compressed images are not repaired", expected="topic.transport: raw")
        self._judge: ImageJudge | None = None
        self._verdicts = GateReport()
        self._gatekeeper = Gatekeeper(self._judge, self._options)
        self._is_loaded = False
        self._held: dict[View, str] = {}
        self._lost: dict[View, str] = {}
        self._logs: dict[View, CameraLog] = {}
        self._late = {view: LateCount() for view in self._topics}
        self._cameras: dict[View, TopicCamera] = {}
        self._passed: dict[View, Publisher[Image] | Publisher[CompressedImage]] = {}
        self._overlays: dict[View, Publisher[Image]] = {}
        self._connect()
        self.create_service(JudgeImage, "~/judge", self._judge_one)

    def _connect(self) -> None:
        kind = CompressedImage if self._is_compressed else Image
        self._lease_publisher = self.create_publisher(ours.GateLease, "~/lease", STATE)
        self._quality_publisher = self.create_publisher(ours.ImageQuality, "~/quality", **adjustable(STATE))
        passed = passed_topics(self._topics, self.config.topic.transport)
        for view, topic in self._topics.items():
            below = f"{view}/" if len(self._topics) > 1 else ""
            self._passed[view] = self.create_publisher(kind, f"~/{passed[view]}", **adjustable(IMAGE))
            overlay = f"~/overlay/{below}image_raw"
            self._overlays[view] = self.create_publisher(Image, overlay, **adjustable(NEWEST_SENSOR))
            take = self._late[view].counting(partial(self._take, view))
            self.create_subscription(kind, topic, take, raw=True, **adjustable(NEWEST_SENSOR))

    def start(self) -> None:
        """Configure and activate.

        Raises:
            InputError: The calibration or the judge cannot be loaded.
        """
        if self.trigger_configure() is not TransitionCallbackReturn.SUCCESS:
            raise InputError(self.failure or "the gate cannot be configured")
        self.trigger_activate()

    def load(self) -> None:
        """Read the calibration, and the networks of a learned judge."""
        self._file = self.config.file()
        self._judge = make_judge(self._options.kind, self._file)
        compile_for(one.width_px * one.height_px for one in self._file.cameras)
        self._gatekeeper = Gatekeeper(self._judge, self._options, perf_counter_ns)
        self._is_loaded = True
        self._verdicts = GateReport.of(self._file, self._options.kind)
        if not self._file.cameras:
            self.get_logger().warning(_UNCALIBRATED)
        kind = self._options.kind
        by_statistics = unfitted(kind, self._file, self._topics)
        for words in (
            unfitted_in_words(kind, by_statistics),
            advice_in_words(kind, self._file, self._topics),
        ):
            if words:
                self.get_logger().warning(words)

    def unload(self) -> None:
        """Judge nothing until the next `configure`."""
        self._is_loaded = False

    def on_activate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Start judging, without the history of an earlier time."""
        self._gatekeeper = Gatekeeper(self._judge, self._options, perf_counter_ns)
        self._held.clear()
        self._lost.clear()
        self._logs = {view: self._log(view) for view in self._topics}
        self._cameras = {view: self._camera(view) for view in self._topics}
        for view, topic in self._topics.items():
            passed = self._passed[view].topic_name
            self.get_logger().info(f"{view}: {topic} -> {passed}, mode {self._options.mode}")
        return super().on_activate(state)

    def health(self) -> Health:
        """Return counts of images, by verdict and by what is wrong with their messages."""
        values = self._verdicts.verdicts()
        wrong = [why_not_gating(self, self._lease_publisher.topic_name)]
        for view, camera in self._cameras.items():
            if self.active:
                self._judge_next(view, b"")  # reports a silent camera
                if camera.silence:
                    self._logs[view].silent(monotonic_ns())
                slow = self._logs[view].why_slow(camera.counts()["lost"])
                wrong += [self._why_held(view, camera), slow]
            counts = camera.counts().items()
            values |= {f"{view} {name}": count for name, count in counts if count or name in _COUNTED}
        message = f"mode {self._options.mode}, judge {self._options.kind}"
        uncalibrated = "" if self._file.cameras else _UNCALIBRATED
        return self._verdicts.health(message, values, "; ".join(filter(None, [*wrong, uncalibrated])))

    def _why_held(self, view: View, camera: TopicCamera) -> str:
        """Return why nothing passes of a camera at present; empty where its newest image passed."""
        if view in self._lost:
            return self._lost[view]
        why = camera.silence or (self._held.get(view, "") if self._file.cameras else "")
        return f"{view}: {why}" if why else ""

    def _log(self, view: View) -> CameraLog:
        log, lease = self.get_logger(), self._options.lease
        return CameraLog(view, lease, monotonic_ns(), log.warning, log.info, setting=_DURATION)

    def _camera(self, view: View) -> TopicCamera:
        wanted, late = self.config.topic, self._late[view]
        late.restart()
        options = TopicOptions(
            image=self._topics[view],
            compressed=self._is_compressed,
            ahead_s=wanted.ahead_s,
            stale_s=wanted.stale_s,
            give_up_s=wanted.give_up_s,
        )
        return TopicCamera(
            view,
            options,
            None,
            self._now_ns,
            report=self.get_logger().warning,
            missed=lambda: late.total,
            why_none=partial(why_no_images, self, options.image, compressed=options.compressed),
        )

    def _take(self, view: View, cdr: bytes) -> None:
        if self.active:
            self._cameras[view].take_image(cdr)
            self._judge_next(view, cdr)

    def _judge_next(self, view: View, cdr: bytes) -> None:
        """Judge the image that waits, if there is one that can be used."""
        began = perf_counter()
        try:
            taken = self._cameras[view].read_rgbd(0.0)
        except InputError as error:
            self._lost[view] = str(error)
            return
        if taken is None:
            return
        self._lost.pop(view, None)
        frame, frame_id = taken.frame, frame_from_cdr(cdr)
        quality, lease = self._gatekeeper.judge(view, frame.stamp_ns, frame.rgb, self._now_ns())
        self._note(quality)
        self._lease_publisher.publish(lease_to_msg(lease, self._options.mode, frame_id))
        if lease.verdict is Verdict.PASS:
            self._passed[view].publish(_passed_on(quality, cdr, frame_id))
        latency_ms = (perf_counter() - began) * 1e3
        self._verdicts.add(quality, latency_ms)
        self._quality_publisher.publish(quality_to_msg(quality, latency_ms, frame_id))
        overlay = self._overlays[view]
        if overlay.get_subscription_count():
            overlay.publish(image_to_cdr(overlaid(frame.rgb, quality), frame.stamp_ns, frame_id))

    def _note(self, quality: ImageQuality) -> None:
        """Remember and log whether a camera is held, and how fast it is."""
        self._held[quality.view] = "" if quality.verdict is Verdict.PASS else quality.reason
        age_ns = self._now_ns() - quality.stamp_ns
        self._logs[quality.view].judged(quality, self._options, monotonic_ns(), age_ns)

    def _judge_one(self, request: JudgeImage.Request, response: JudgeImage.Response) -> JudgeImage.Response:
        """Answer with the judgement of one image alone; a gate that is not configured judges nothing."""
        began = perf_counter()
        response.quality.verdict = response.quality.frame_verdict = ours.ImageQuality.VERDICT_REJECT
        try:
            view = asked_view(request.view, self._topics)
            header, rgb = asked_image(request)
        except UserError as error:
            response.message = str(error)
            return response
        if not self._is_loaded:
            response.message = "the gate is not configured"
            return response
        judgement = self._gatekeeper.judge_alone(view, rgb)
        verdict, stamp_ns = judgement.verdict, ns_of(header.stamp)
        quality = ImageQuality(view, stamp_ns, judgement, verdict, verdict, judgement.reason)
        latency_ms = (perf_counter() - began) * 1e3
        response.quality = quality_to_msg(quality, latency_ms, header.frame_id)
        response.success = True
        return response

    def why_not(self, wanted: GateOnlyParameters) -> str:
        """Return why a mode would set a robot in motion at this moment; empty where it would not."""
        return why_mode_stays(self._options.mode, wanted.judge.mode, self._held if self.active else {})

    def changed(self) -> None:
        """Judge in the new mode."""
        self._options = self._gatekeeper.options = self.config.judge

    def _now_ns(self) -> int:
        return self.get_clock().now().nanoseconds


def why_mode_stays(mode: GateMode, wanted: GateMode, held: Mapping[View, str]) -> str:
    """Return why the mode of a gate cannot change now; empty where it can.

    Args:
        mode: The present one.
        wanted: The new one.
        held: Why the newest image of each camera is held; empty for one that passes.
    """
    if mode is not GateMode.ON or wanted is GateMode.ON:
        return ""
    reasons = [f"{view}: {reason}" for view, reason in held.items() if reason]
    if not reasons:
        return ""
    return (
        f"the gate holds ({'; '.join(reasons)}): {wanted} would release the robot at this moment; "
        "deactivate the gate first, or wait until the images pass"
    )


def _passed_on(quality: ImageQuality, cdr: bytes, frame_id: str) -> bytes:
    """Return the message of an image that passed: as received, unless it was repaired."""
    return cdr if quality.repaired is None else image_to_cdr(quality.repaired, quality.stamp_ns, frame_id)


def gate() -> GateOnlyNode:
    """Return the node, active if it starts by itself."""
    node = GateOnlyNode()
    if node.config.autostart:
        node.start()
    return node


def main() -> int:
    """Run the node."""
    reuse_large_blocks()
    return main_of(gate)


if __name__ == "__main__":
    leave(main())
