"""Recorder node: serialised messages of raw subscriptions, written to an MCAP file."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping
from functools import partial
from pathlib import Path

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from embodied_iqa_msgs.srv import RecordTrial
from std_srvs.srv import SetBool

from embodied_iqa.base.errors import UserError
from embodied_iqa.data.recording.recording_queue import RecordingQueue
from embodied_iqa.data.recording.writer import TrialWriter, WriterOptions
from embodied_iqa.live.ros.late_count import LateCount
from embodied_iqa.live.ros.node import RECORDING_FAILED, BaseNode, Health, leave, main_of
from embodied_iqa.live.ros.qos import IMAGE, RECORDED_IMAGE, adjustable
from embodied_iqa.live.ros.recorded_topics import RecordedTopic, recorded_topics
from embodied_iqa.runs.graph.recording_parameters import RecorderParameters

_CLOSE_DEADLINE_S = 30.0


class RecorderNode(BaseNode[RecorderParameters]):
    """/recorder/record opens and closes a recording with everything that scoring a trial again needs."""

    def __init__(self) -> None:
        super().__init__("recorder_node", RecorderParameters)
        self._options = WriterOptions(compression=self.config.compression)
        self._topics = recorded_topics(self.config.views, distorted_images=self.config.distorted_images)
        self._queue: RecordingQueue | None = None
        self._path = ""
        self._paused = False
        self._left_out = 0
        self._late = LateCount()
        self._reported = False
        for topic in self._topics:
            take = partial(self._take, topic)
            has_one_publisher = topic.kind is not DiagnosticArray
            callback = self._late.counting(take, topic.name) if has_one_publisher else take
            qos = RECORDED_IMAGE if topic.qos is IMAGE else topic.qos
            self.create_subscription(topic.kind, topic.live_name, callback, raw=True, **adjustable(qos))
        self.create_service(RecordTrial, "recorder/record", self._record)
        self.create_service(SetBool, "recorder/pause", self._pause)

    def health(self) -> Health:
        """Return the counts of written and lost messages."""
        if self._queue is None:
            return Health(message="no recording open")
        self._report_failure()
        status = self._queue.status
        lost = status.total_lost + self._late.total
        values: dict[str, object] = {"written": status.written, "queued": status.queued, "lost": lost}
        return Health(
            level=DiagnosticStatus.ERROR if lost or status.error else DiagnosticStatus.OK,
            message=f"{RECORDING_FAILED}{status.error}" if status.error else self._path,
            values=values | {"left out in pauses": self._left_out},
        )

    def _take(self, topic: RecordedTopic, cdr: bytes) -> None:
        if self._paused and topic.is_image:
            self._left_out += 1
        elif self._queue is not None:
            self._queue.put(topic.name, cdr, self.get_clock().now().nanoseconds or time.time_ns())
            if self._queue.error and not self._reported:
                self._report()

    def _report_failure(self) -> None:
        """Log the first write error of a recording."""
        if self._queue is not None and self._queue.error and not self._reported:
            self._reported = True
            self.get_logger().error(f"{RECORDING_FAILED}{self._queue.error}")

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

    def _pause(self, request: SetBool.Request, response: SetBool.Response) -> SetBool.Response:
        """Record no images until the pause or the recording ends."""
        self._paused = request.data and self._queue is not None
        response.success = self._paused == request.data
        response.message = "" if response.success else "no recording is open"
        return response

    def _open(self, request: RecordTrial.Request) -> None:
        if self._queue is not None:
            raise UserError(f"already recording to {self._path}")
        if len(request.metadata_keys) != len(request.metadata_values):
            raise UserError(
                "metadata of a recording",
                expected="a value for each key",
                got=f"{len(request.metadata_keys)} keys, {len(request.metadata_values)} values",
            )
        writer = TrialWriter(Path(request.path), options=self._options)
        try:
            metadata = zip(request.metadata_keys, request.metadata_values, strict=True)
            writer.add_metadata("embodied_iqa", dict(metadata))
            for topic in self._topics:
                writer.add_channel(topic.name, topic.type_name, topic.qos_text)
        except UserError:
            writer.discard()
            raise
        self._queue = RecordingQueue(writer, capacity_bytes=self.config.queue_bytes)
        self._path = request.path
        self._paused, self._left_out, self._reported = False, 0, False
        self._late.restart()  # messages that came while it was opened are not part of it
        self.get_logger().info(f"recording to {request.path}")

    def _close(self, response: RecordTrial.Response) -> None:
        queue, self._queue = self._queue, None
        if queue is None:
            raise UserError("no recording is open")
        status = queue.close(_CLOSE_DEADLINE_S)
        response.messages, response.dropped = status.written, status.total_lost + self._late.total
        lost = lost_in_words(response.dropped, self._late.by_topic + Counter(status.dropped))
        response.message = lost
        counts = f"{response.messages} messages recorded, {response.dropped} lost"
        self.get_logger().info(f"closed {self._path}: {counts}")
        if status.error:
            raise UserError(f"{status.error}; {counts}")

    def destroy_node(self) -> None:
        """Close an open recording."""
        queue, self._queue = self._queue, None
        try:
            if queue is not None:
                queue.close(_CLOSE_DEADLINE_S)
        except UserError as error:
            self.get_logger().error(str(error))
        super().destroy_node()


def lost_in_words(total: int, by_topic: Mapping[str, int]) -> str:
    """Return how many messages are not in a recording, and of which topics; empty where it is whole."""
    if not total:
        return ""
    topics = ", ".join(f"{topic} {number}" for topic, number in sorted(by_topic.items()))
    return f"{total} messages are not in the recording{f': {topics}' if topics else ''}"


def main() -> int:
    """Run the node."""
    return main_of(RecorderNode)


if __name__ == "__main__":
    leave(main())
