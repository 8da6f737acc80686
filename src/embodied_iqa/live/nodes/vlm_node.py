"""The vision-language model: answers questions about frames."""

from __future__ import annotations

import threading
import time

from embodied_iqa_msgs.msg import VlmAnswer
from embodied_iqa_msgs.srv import AskVlm
from rclpy.callback_groups import ReentrantCallbackGroup

from embodied_iqa.base.errors import EmbodiedIqaError, UserError
from embodied_iqa.data.recording.trial_record import AnswerRecord
from embodied_iqa.imaging.images.assembler import Source
from embodied_iqa.imaging.images.frame import Frame, View, parse_view
from embodied_iqa.live.ros.calls import ENDING
from embodied_iqa.live.ros.conversion import header_of, ns_of, optical_frame
from embodied_iqa.live.ros.frames import FrameInput
from embodied_iqa.live.ros.inference import NodeInference
from embodied_iqa.live.ros.node import Health, ManagedNode, leave, main_of
from embodied_iqa.live.ros.qos import EVENT
from embodied_iqa.live.ros.spinning import ThreadedExecutor
from embodied_iqa.models.subjects.inference import OutcomeKind
from embodied_iqa.models.subjects.known_tasks import check_parses
from embodied_iqa.models.subjects.registry import make_vlm
from embodied_iqa.runs.graph.camera_parameters import check_vlm_camera
from embodied_iqa.runs.graph.parameters import VlmParameters
from embodied_iqa.runs.trial.deciding import describe
from embodied_iqa.world.protocols import Vlm, close_subject

_QUESTIONS = 4
"""Most questions that wait while one is answered."""


class VlmNode(ManagedNode[VlmParameters]):
    """/vlm/ask answers about a raw or distorted frame by stamp; every answer goes to /vlm/answer too."""

    def __init__(self) -> None:
        super().__init__("vlm_node", VlmParameters)
        self._subject: Vlm | None = None
        self._views: tuple[View, ...] = ()
        self._input: FrameInput | None = None
        self._arrived = threading.Condition()
        self._inference: NodeInference[AnswerRecord] = NodeInference(self, limit=_QUESTIONS)
        self._publisher = self.create_publisher(VlmAnswer, "vlm/answer", EVENT)
        self.create_service(AskVlm, "vlm/ask", self._ask, callback_group=ReentrantCallbackGroup())

    def load(self) -> None:
        """Load the subject and start to keep frames of its views."""
        subject = make_vlm(self.config.subject, self.config.options, self.progress)
        cameras = self.config.cameras.split(",") if self.config.cameras else []
        try:
            shown = subject.info.shown_view(cameras)
            if cameras:
                check_vlm_camera(self.config.subject, shown, cameras)
        except UserError:
            close_subject(subject)
            raise
        self._subject = subject
        self._views = subject.info.views if shown in subject.info.views else (shown,)
        self._input = FrameInput(self, self._views, self.config.keep_frames, self._frame_arrived)

    def unload(self) -> None:
        """Unload the subject and its frames; questions that wait end without an answer."""
        subject, self._subject = self._subject, None
        self._inference.destroy()
        close_subject(subject)
        self._inference = NodeInference(self, limit=_QUESTIONS)
        if self._input is not None:
            self._input.close()
            self._input = None

    def health(self) -> Health:
        """Return the number of answers and their latencies."""
        return self._inference.health(str(self.config.subject) if self._subject is not None else "not loaded")

    def end(self) -> None:
        """End questions, also those that wait for a frame."""
        super().end()
        with self._arrived:
            self._arrived.notify_all()

    def _frame_arrived(self, _view: View) -> None:
        with self._arrived:
            self._arrived.notify_all()

    def _ask(self, request: AskVlm.Request, response: AskVlm.Response) -> AskVlm.Response:
        try:
            response.answer = self._answer(request)
            response.success = True
        except EmbodiedIqaError as error:
            response.message = str(error)
        return response

    def _answer(self, request: AskVlm.Request) -> VlmAnswer:
        subject = self._subject
        if not self.active or subject is None:
            raise UserError("vlm_node is not active")
        check_parses(self.config.subject, request.task)
        view = parse_view(request.view, self._views) if request.view else self._views[0]
        source, stamp_ns = _source(request.source), ns_of(request.stamp)
        self._wait_for(view, source, stamp_ns)

        def ask() -> AnswerRecord:
            # only now: where the newest frame is asked about, a newer one may have come in the meantime
            return describe(subject, self._wait_for(view, source, stamp_ns), source, request.task)

        outcome = self._inference.ask(
            ask, deadline_s=self.config.answer_deadline_s, key=None if stamp_ns else (view, source)
        )
        if outcome.kind is OutcomeKind.FAILED:
            self.get_logger().error(f"{self.config.subject} failed: {outcome.reason}")
        if outcome.result is None:
            raise UserError(f"{self.config.subject} gave no answer: {outcome.reason}")
        message = _message_of(outcome.result, request.task)
        self._publisher.publish(message)
        return message

    def _wait_for(self, view: View, source: Source, stamp_ns: int) -> Frame:
        """Return the requested frame, which may still be on its way.

        Raises:
            UserError: It did not arrive in time, or is no longer kept.
        """
        if self._input is None:
            raise UserError("vlm_node is not configured")
        frames = self._input.frames
        deadline = time.monotonic() + self.config.frame_deadline_s
        with self._arrived:
            while True:
                wanted = stamp_ns or frames.newest_stamp_ns(view, source)
                frame = None if wanted is None else frames.frame(view, source, wanted)
                if frame is not None:
                    return frame
                if (left_s := deadline - time.monotonic()) <= 0:
                    kept = frames.stamps_ns(view)
                    raise UserError(
                        f"no {source.name.lower()} frame of {view} in {self.config.frame_deadline_s} s",
                        expected=f"stamp {stamp_ns} ns" if stamp_ns else "any frame",
                        got=f"{len(kept)} frames up to {kept[-1]} ns" if kept else "none",
                    )
                if ENDING.is_set():
                    raise UserError("vlm_node is stopping")
                self._arrived.wait(left_s)


def _message_of(record: AnswerRecord, task: str) -> VlmAnswer:
    return VlmAnswer(
        header=header_of(record.stamp_ns, optical_frame(record.view)),
        view=str(record.view),
        source=int(record.source),
        task=task,
        answer=record.answer,
        subject=record.subject,
        subject_version=record.subject_version,
        latency_ms=record.latency_ms,
    )


def _source(number: int) -> Source:
    try:
        return Source(number)
    except ValueError:
        raise UserError("unknown image source", got=number, available=map(int, Source)) from None


def main() -> int:
    """Run the node; each question that waits blocks a thread, and two more listen."""
    return main_of(VlmNode, executor=lambda: ThreadedExecutor(_QUESTIONS + 3))


if __name__ == "__main__":
    leave(main())
