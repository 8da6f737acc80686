"""The recorder: raw subscriptions, straight into an MCAP file."""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass
from pathlib import Path

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from embodied_iqa_msgs import msg as ours
from embodied_iqa_msgs.srv import RecordTrial
from geometry_msgs.msg import PoseStamped
from rclpy.qos import QoSProfile
from sensor_msgs.msg import CameraInfo, CompressedImage, Image, JointState

from embodied_iqa.errors import UserError
from embodied_iqa.recording.compression import Compression
from embodied_iqa.recording.recording_queue import RecordingQueue
from embodied_iqa.recording.writer import TrialWriter, WriterOptions
from embodied_iqa.ros.node import BaseNode, Health, main_of
from embodied_iqa.ros.qos import EVENT, LATCHED, PICTURE, STATE
from embodied_iqa.trial.parameters import RecorderParameters

_CLOSE_DEADLINE_S = 30.0


@dataclass(frozen=True, slots=True)
class _Topic:
    """What is recorded."""

    name: str
    kind: type
    qos: QoSProfile

    @property
    def type_name(self) -> str:
        package = self.kind.__module__.partition(".")[0]
        return f"{package}/msg/{self.kind.__name__}"


def _topics(config: RecorderParameters) -> list[_Topic]:
    topics = [
        _Topic("/distortion/state", ours.DistortionState, LATCHED),
        _Topic("/gate/quality", ours.ImageQuality, STATE),
        _Topic("/gate/lease", ours.GateLease, STATE),
        _Topic("/vlm/answer", ours.VlmAnswer, EVENT),
        _Topic("/vla/actions", ours.ActionChunk, EVENT),
        _Topic("/vla/reference_actions", ours.ActionChunk, EVENT),
        _Topic("/arm/joint_states", JointState, STATE),
        _Topic("/arm/tool_pose", PoseStamped, STATE),
        _Topic("/arm/status", ours.ArmStatus, EVENT),
        _Topic("/sim/snapshot", ours.SimState, STATE),
        _Topic("/trial/events", ours.TrialEvent, EVENT),
        _Topic("/diagnostics", DiagnosticArray, EVENT),
    ]
    for view in config.views:
        topics += [
            _Topic(f"/camera/{view}/image_raw", Image, PICTURE),
            _Topic(f"/camera/{view}/camera_info", CameraInfo, PICTURE),
            _Topic(f"/camera/{view}/pose", PoseStamped, PICTURE),
            _Topic(f"/distorted/{view}/preview/compressed", CompressedImage, EVENT),
        ]
        if config.distorted_pictures:
            topics.append(_Topic(f"/distorted/{view}/image_raw", Image, PICTURE))
    return topics


class RecorderNode(BaseNode[RecorderParameters]):
    """/recorder/record opens and closes a recording of all that a trial needs to be scored again."""

    def __init__(self) -> None:
        super().__init__("recorder_node", RecorderParameters)
        self._options = WriterOptions(compression=Compression(self.config.compression))
        self._topics = _topics(self.config)
        self._queue: RecordingQueue | None = None
        self._path = ""
        for topic in self._topics:
            self.create_subscription(
                topic.kind, topic.name, lambda cdr, t=topic: self._take(t, cdr), topic.qos, raw=True
            )
        self.create_service(RecordTrial, "/recorder/record", self._record)

    def health(self) -> Health:
        """Say what was written and what was lost."""
        if self._queue is None:
            return Health(message="no recording open")
        status = self._queue.status
        lost = status.total_lost
        return Health(
            level=DiagnosticStatus.ERROR if lost or status.error else DiagnosticStatus.OK,
            message=status.error or self._path,
            values={"written": status.written, "queued": status.queued, "lost": lost},
        )

    def _take(self, topic: _Topic, cdr: bytes) -> None:
        if self._queue is not None:
            self._queue.put(topic.name, cdr, self.get_clock().now().nanoseconds or time.time_ns())

    def _record(self, request: RecordTrial.Request, response: RecordTrial.Response) -> RecordTrial.Response:
        try:
            if request.start:
                self._open(request)
            else:
                self._close(response)
            response.success = True
        except UserError as error:
            response.message = str(error)
        return response

    def _open(self, request: RecordTrial.Request) -> None:
        if self._queue is not None:
            raise UserError(f"already recording to {self._path}")
        writer = TrialWriter(Path(request.path), options=self._options)
        queue = RecordingQueue(writer, capacity_bytes=self.config.queue_bytes)
        queue.add_metadata(
            "embodied_iqa", dict(zip(request.metadata_keys, request.metadata_values, strict=True))
        )
        for topic in self._topics:
            queue.add_channel(topic.name, topic.type_name)
        self._queue, self._path = queue, request.path

    def _close(self, response: RecordTrial.Response) -> None:
        queue, self._queue = self._queue, None
        if queue is None:
            raise UserError("no recording is open")
        status = queue.close(_CLOSE_DEADLINE_S)
        response.messages, response.dropped = status.written, status.total_lost
        response.message = status.error

    def destroy_node(self) -> None:
        """Finish an open recording before the node goes."""
        queue, self._queue = self._queue, None
        if queue is not None:
            queue.close(_CLOSE_DEADLINE_S)
        super().destroy_node()


def main() -> int:
    """Run the node."""
    return main_of(RecorderNode)


if __name__ == "__main__":
    sys.exit(main())
