"""Topics of a recorded trial, with their types and quality of service."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from diagnostic_msgs.msg import DiagnosticArray
from embodied_iqa_msgs import msg as ours
from geometry_msgs.msg import PoseStamped
from rclpy.qos import QoSProfile
from sensor_msgs.msg import CameraInfo, CompressedImage, Image, JointState

from embodied_iqa.data.recording.writer import qos_text
from embodied_iqa.imaging.images.frame import View
from embodied_iqa.live.ros.names import DIAGNOSTICS, type_name_of
from embodied_iqa.live.ros.qos import CHANGES, EVENT, IMAGE, STATE


@dataclass(frozen=True, slots=True)
class RecordedTopic:
    """A topic.

    Attributes:
        name: The name in a recording, such as `/gate/lease`, whatever the namespace of the graph.
        kind: The message class.
        qos: What the publisher offers.
    """

    name: str
    kind: type[object]
    qos: QoSProfile

    @property
    def type_name(self) -> str:
        """Return the name of the type in a recording."""
        return type_name_of(self.kind)

    @property
    def live_name(self) -> str:
        """Return the name for publishers and subscriptions: relative, so that it follows the namespace."""
        return self.name if self.name == DIAGNOSTICS else self.name.removeprefix("/")

    @property
    def is_image(self) -> bool:
        """Whether its messages are images."""
        return self.kind in {Image, CompressedImage}

    @property
    def qos_text(self) -> str:
        """Return the quality of service in the notation of recordings."""
        return qos_text(transient_local=self.qos is CHANGES, depth=self.qos.depth)


def camera_topics(views: Iterable[View]) -> list[RecordedTopic]:
    """Return the topics of the cameras; of each view, the small messages come before the image."""
    return [
        topic
        for view in views
        for topic in (
            RecordedTopic(f"/camera/{view}/camera_info", CameraInfo, IMAGE),
            RecordedTopic(f"/camera/{view}/pose", PoseStamped, IMAGE),
            RecordedTopic(f"/camera/{view}/image_raw", Image, IMAGE),
        )
    ]


def arm_topics() -> list[RecordedTopic]:
    """Return the topics of the arm."""
    return [
        RecordedTopic("/arm/joint_states", JointState, STATE),
        RecordedTopic("/arm/tool_pose", PoseStamped, STATE),
        RecordedTopic("/arm/status", ours.ArmStatus, EVENT),
    ]


def recorded_topics(views: Iterable[View], *, distorted_images: bool) -> list[RecordedTopic]:
    """Return all topics of a recording."""
    views = tuple(views)
    topics = [
        *camera_topics(views),
        *arm_topics(),
        RecordedTopic("/distortion/state", ours.DistortionState, CHANGES),
        RecordedTopic("/gate/quality", ours.ImageQuality, STATE),
        RecordedTopic("/gate/lease", ours.GateLease, STATE),
        RecordedTopic("/vlm/answer", ours.VlmAnswer, EVENT),
        RecordedTopic("/vla/actions", ours.ActionChunk, EVENT),
        RecordedTopic("/vla/reference_actions", ours.ActionChunk, EVENT),
        RecordedTopic("/sim/snapshot", ours.SimState, STATE),
        RecordedTopic("/trial/events", ours.TrialEvent, EVENT),
        RecordedTopic(DIAGNOSTICS, DiagnosticArray, EVENT),
    ]
    for view in views:
        topics.append(RecordedTopic(f"/distorted/{view}/preview/compressed", CompressedImage, EVENT))
        if distorted_images:
            topics.append(RecordedTopic(f"/distorted/{view}/image_raw", Image, IMAGE))
    return topics
