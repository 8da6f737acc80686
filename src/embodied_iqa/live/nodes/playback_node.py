"""Playback node: plays a recorded trial through distortion, gate and subjects, into a new recording."""

from __future__ import annotations

import struct
import threading
import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

from embodied_iqa_msgs import srv
from embodied_iqa_msgs.msg import ActionChunk, ArmStatus, GateLease, TrialEvent
from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.client import Client
from rosgraph_msgs.msg import Clock

from embodied_iqa.base.errors import UserError
from embodied_iqa.base.units import MILLISECOND_NS, SECOND_NS
from embodied_iqa.data.recording.reader import TrialReader
from embodied_iqa.data.recording.recorded import RecordedMessage
from embodied_iqa.data.recording.trial_reading import read_trial
from embodied_iqa.data.recording.trial_record import RunRecord
from embodied_iqa.imaging.images.assembler import Source
from embodied_iqa.imaging.images.frame import View
from embodied_iqa.imaging.images.image_cdr import stamp_from_cdr
from embodied_iqa.live.ros.calls import ENDING, AnswerT, RequestT, call
from embodied_iqa.live.ros.conversion import ns_of, spec_to_msg, time_of
from embodied_iqa.live.ros.lifecycle import LifecycleManager
from embodied_iqa.live.ros.names import CLOCK_TOPIC
from embodied_iqa.live.ros.node import BaseNode, Health, Spin, leave, main_of
from embodied_iqa.live.ros.node_parameters import values_of_node
from embodied_iqa.live.ros.qos import CLOCK, EVENT, STATE
from embodied_iqa.live.ros.recorded_topics import arm_topics, camera_topics, recorded_topics
from embodied_iqa.live.ros.spinning import ThreadedExecutor
from embodied_iqa.live.ros.trial_commands import vla_problem
from embodied_iqa.runs.graph.recorded_graph import played_metadata
from embodied_iqa.runs.graph.recording_parameters import PlaybackParameters

MessageT = TypeVar("MessageT")
_POLL_S = 0.05
_JOIN_S = 1.0
_EVENTS = "/trial/events"
_STATUS = "/arm/status"
_WARM_UP_NS = 50 * SECOND_NS
_WARM_UP_STEP_NS = 50 * MILLISECOND_NS
_WARM_UP_WAIT_S = 0.2
_STAMP = struct.Struct("<iI")
_STAMP_OFFSET = 4


def current_message(recorded: Any, kind: type[MessageT]) -> MessageT:
    """Return a recorded message as its type is defined today; fields that it lacks have their defaults.

    Args:
        recorded: With its fields as attributes, as `TrialReader.decode` returns it.
        kind: Message class without sequences.
    """
    message: Any = kind()
    for name in message.get_fields_and_field_types():
        if hasattr(recorded, name):
            value, default = getattr(recorded, name), type(getattr(message, name))
            nested = hasattr(default, "get_fields_and_field_types")
            setattr(message, name, current_message(value, default) if nested else default(value))
    current: MessageT = message
    return current


class PlaybackNode(BaseNode[PlaybackParameters]):
    """Replaces world, cameras, arm and trial; ends at the end of the recording.

    The next image is published only after the gate has judged the last one, so that a slow machine loses
    none.
    """

    def __init__(self) -> None:
        super().__init__("playback_node", PlaybackParameters)
        self._trial = read_trial(Path(self.config.recording))
        group = ReentrantCallbackGroup()
        self._lifecycle = LifecycleManager(self, self.config.managed_nodes, group)
        self._distort = self.create_client(srv.SetDistortion, "distortion/set", callback_group=group)
        self._set_task = self.create_client(srv.SetTask, "vla/set_task", callback_group=group)
        self._ask_vlm = self.create_client(srv.AskVlm, "vlm/ask", callback_group=group)
        self._record = self.create_client(srv.RecordTrial, "recorder/record", callback_group=group)
        events = [topic for topic in recorded_topics((), distorted_images=False) if topic.name == _EVENTS]
        self._outputs = {
            topic.name: self.create_publisher(topic.kind, topic.live_name, topic.qos)
            for topic in (*camera_topics(self.config.views), *arm_topics(), *events)
        }
        self._clock_publisher = self.create_publisher(Clock, CLOCK_TOPIC, CLOCK)
        self._judged: dict[str, int] = {}
        self._arrived = threading.Condition()
        self.create_subscription(GateLease, "gate/lease", self._take_lease, STATE, callback_group=group)
        self._run: RunRecord | None = None
        self._first_sequence: int | None = None
        self.create_subscription(ActionChunk, "vla/actions", self._take_chunk, EVENT, callback_group=group)
        self._images = 0
        self.error: Exception | None = None
        self._thread = threading.Thread(target=self._work, name="playback", daemon=True)
        self._thread.start()

    @property
    def done(self) -> bool:
        """Whether the playback has ended or failed."""
        return not self._thread.is_alive()

    def health(self) -> Health:
        """Return the number of published images."""
        return Health(message=str(self.error or "ok"), values={"images": self._images})

    def end(self) -> None:
        """End the playback's thread."""
        with self._arrived:
            self._arrived.notify_all()
        self._thread.join(_JOIN_S)

    def _work(self) -> None:
        try:
            self._play()
        except Exception as error:  # noqa: BLE001 - raised again in the thread that spins
            self.error = error

    def _play(self) -> None:
        deadline_s = self.config.start_deadline_s
        self._lifecycle.bring_up(deadline_s)
        self._wait_for_listeners(time.monotonic() + deadline_s)
        gate = values_of_node(self, "gate_node", deadline_s=deadline_s)
        metadata = played_metadata(self._trial.metadata, gate)
        request = srv.RecordTrial.Request(
            start=True,
            path=self.config.out,
            metadata_keys=list(metadata),
            metadata_values=list(metadata.values()),
        )
        with TrialReader(Path(self.config.recording)) as reader:
            self._warm_up(reader, time.monotonic() + deadline_s)
            self._call(self._record, request)
            for run in self._trial.runs:
                self._play_run(reader, run)
        time.sleep(self.config.drain_s)  # messages on their way to the recorder are part of the recording
        self._call(self._record, srv.RecordTrial.Request(start=False))

    def _play_run(self, reader: TrialReader, run: RunRecord) -> None:
        start, task = time_of(run.start_ns), self._trial.task
        self._run, self._first_sequence = run, None
        spec = spec_to_msg(run.distortion)
        self._call(self._distort, srv.SetDistortion.Request(distortion=spec, from_stamp=start))
        self._call(self._set_task, srv.SetTask.Request(task=task, from_stamp=start))
        asked = run.answers if self.config.has_vlm else ()
        questions = {answer.stamp_ns: answer.view for answer in asked}
        for message, stamp_ns in self._messages(reader, run):
            self._clock_publisher.publish(Clock(clock=time_of(stamp_ns)))
            self._publish(reader, message)
            if not message.topic.endswith("image_raw"):
                continue
            self._images += 1
            judged_view, deadline_s = message.topic.split("/")[2], self.config.reply_deadline_s
            if not self._is_judged(judged_view, stamp_ns, deadline_s):
                raise UserError(f"the gate has not judged an image of {judged_view} within {deadline_s} s")
            # a frame is complete once a later one has come: its pose may be recorded after its image
            for asked_ns in [asked_ns for asked_ns in questions if asked_ns < stamp_ns]:
                self._ask(task, questions.pop(asked_ns), asked_ns)
        for asked_ns, view in questions.items():
            self._ask(task, view, asked_ns)
        self._call(self._set_task, srv.SetTask.Request(task=""))

    def _publish(self, reader: TrialReader, message: RecordedMessage) -> None:
        """Publish a recorded message; definitions have changed since the first recordings."""
        output: object = message.cdr
        if message.topic == _EVENTS:
            output = current_message(reader.decode(message), TrialEvent)
        elif message.topic == _STATUS and self._run is not None:
            recorded = min((chunk.sequence for chunk in self._run.chunks), default=None)
            status = current_message(reader.decode(message), ArmStatus)
            output = renumbered(status, recorded, self._first_sequence)
        self._outputs[message.topic].publish(output)

    def _ask(self, task: str, view: View, stamp_ns: int) -> None:
        for source in Source:
            request = srv.AskVlm.Request(
                task=task, view=str(view), source=int(source), stamp=time_of(stamp_ns)
            )
            self._call(self._ask_vlm, request)

    def _warm_up(self, reader: TrialReader, until: float) -> None:
        """Publish the first images with earlier stamps until gate and subjects have processed them.

        Endpoints that have just discovered each other may lose messages; the first image of a run must not be
        lost.
        """
        first = {message.topic: message.cdr for message in self._first_messages(reader)}
        stamp_ns = max(0, self._trial.runs[0].start_ns - _WARM_UP_NS)
        while True:
            stamp_ns += _WARM_UP_STEP_NS
            for topic, cdr in first.items():
                self._outputs[topic].publish(_with_stamp(cdr, stamp_ns))
            judged = all(self._is_judged(view, stamp_ns, _WARM_UP_WAIT_S) for view in self.config.views)
            request = srv.AskVlm.Request(task=self._trial.task, stamp=time_of(stamp_ns))
            answered = judged and (
                not self.config.has_vlm or call(self._ask_vlm, request, self.config.reply_deadline_s).success
            )
            if answered and not vla_problem(self._set_task, self._trial.task, self.config.reply_deadline_s):
                return
            if time.monotonic() > until:
                raise UserError("the first image does not reach the gate, the VLM and the VLA")

    def _first_messages(self, reader: TrialReader) -> Iterator[RecordedMessage]:
        """Yield the first message of each topic of cameras and arm, the images last."""
        names = [topic.name for topic in (*camera_topics(self.config.views), *arm_topics())]
        names = [name for name in names if name in reader.topics and name != _STATUS]
        for name in sorted(names, key=lambda name: name.endswith("image_raw")):
            yield from islice(reader.messages([name]), 1)

    def _is_judged(self, view: str, stamp_ns: int, wait_s: float) -> bool:
        with self._arrived:
            judged = self._arrived.wait_for(
                lambda: ENDING.is_set() or self._judged.get(view, -1) >= stamp_ns, wait_s
            )
        if ENDING.is_set():
            raise UserError("the playback is stopping")
        return judged

    def _messages(self, reader: TrialReader, run: RunRecord) -> Iterator[tuple[RecordedMessage, int]]:
        """Yield the messages of a run with their stamps; the marks of a run have its first and last stamp."""
        topics = [name for name in self._outputs if name in reader.topics]
        for message in reader.messages(topics):
            stamp_ns = stamp_from_cdr(message.cdr)
            if not run.start_ns <= stamp_ns <= run.end_ns:
                continue
            if message.topic == _EVENTS and reader.decode(message).run_index != run.index:
                continue
            yield message, stamp_ns

    def _wait_for_listeners(self, until: float) -> None:
        """Wait until distortion and recorder subscribe to every view, and both subjects to any view."""
        while True:
            listeners = {
                view: {
                    info.node_name
                    for info in self.get_subscriptions_info_by_topic(f"camera/{view}/image_raw")
                }
                for view in self.config.views
            }
            everywhere = all({"distortion_node", "recorder_node"} <= names for names in listeners.values())
            matched = all(
                self._outputs[f"/camera/{view}/image_raw"].get_subscription_count() >= len(names)
                for view, names in listeners.items()
            )
            subjects = {"vla_node", *["vlm_node"] * self.config.has_vlm}
            if everywhere and matched and subjects <= set().union(*listeners.values()):
                return
            if time.monotonic() > until or ENDING.is_set():
                raise UserError("not every node subscribes to the cameras", got=listeners)
            time.sleep(_POLL_S)

    def _take_lease(self, lease: GateLease) -> None:
        with self._arrived:
            self._judged[lease.view] = ns_of(lease.header.stamp)
            self._arrived.notify_all()

    def _take_chunk(self, chunk: ActionChunk) -> None:
        """Note the number of the first decision of the present run."""
        run = self._run
        if run is None or not run.start_ns <= ns_of(chunk.header.stamp) <= run.end_ns:
            return
        if self._first_sequence is None:
            self._first_sequence = chunk.sequence

    def _call(self, client: Client[RequestT, AnswerT], request: RequestT) -> None:
        response = call(client, request, self.config.reply_deadline_s)
        if not response.success:
            raise UserError(f"{client.service_name}: {response.message}")


def renumbered(status: ArmStatus, recorded: int | None, played: int | None) -> ArmStatus:
    """Return a recorded report of the arm, about the decisions of the playback.

    The numbers of decisions are never reset while a VLA runs: in the recorded session, other tasks may have
    come before. A goal that the playback has not decided on yet has not ended either.

    Args:
        status: The report; changed in place.
        recorded: Number of the first decision of the recorded run; None where it has none.
        played: Number of the first decision of this run in the playback; None before it.
    """
    for flag, name in (("has_goal", "goal_sequence"), ("has_completed", "completed_sequence")):
        sequence = getattr(status, name)
        is_known = recorded is not None and played is not None and sequence >= recorded
        if getattr(status, flag) and is_known:
            setattr(status, name, sequence - recorded + played)
        elif flag == "has_completed":
            status.has_completed = status.completed_whole = False
            status.completed_sequence = 0
    return status


def _with_stamp(cdr: bytes, stamp_ns: int) -> bytes:
    """Return a serialised message, which begins with a header, with another stamp."""
    stamp = _STAMP.pack(*divmod(stamp_ns, SECOND_NS))
    return cdr[:_STAMP_OFFSET] + stamp + cdr[_STAMP_OFFSET + _STAMP.size :]


def _spin(node: PlaybackNode, spin: Spin) -> None:
    spin(_POLL_S)
    if node.done:
        if node.error is not None:
            raise node.error
        raise SystemExit(0)


def main() -> int:
    """Run the node until the end of the recording."""
    try:
        return main_of(PlaybackNode, executor=lambda: ThreadedExecutor(3), work=_spin)
    except SystemExit:
        return 0


if __name__ == "__main__":
    leave(main())
