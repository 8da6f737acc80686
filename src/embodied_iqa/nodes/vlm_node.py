"""The vision-language model: answers questions about frames."""

from __future__ import annotations

import sys
import threading
import time
from time import perf_counter

from embodied_iqa_msgs.msg import VlmAnswer
from embodied_iqa_msgs.srv import AskVlm
from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.executors import MultiThreadedExecutor

from embodied_iqa.errors import EmbodiedIqaError, UserError
from embodied_iqa.graph.parameters import VlmParameters
from embodied_iqa.images.assembler import Source
from embodied_iqa.images.frame import Frame, View, parse_view
from embodied_iqa.ros.conversion import ns_of, optical_frame, time_of
from embodied_iqa.ros.frames import FrameInput
from embodied_iqa.ros.inference import NodeInference
from embodied_iqa.ros.node import Health, ManagedNode, main_of
from embodied_iqa.ros.qos import EVENT
from embodied_iqa.subjects.protocols import Vlm
from embodied_iqa.subjects.registry import make_vlm
from embodied_iqa.subjects.worker import OutcomeKind

_QUESTIONS = 4
"""Most questions that wait while one is answered."""


class VlmNode(ManagedNode[VlmParameters]):
    """/vlm/ask answers about a raw or distorted frame by stamp; every answer goes to /vlm/answer too."""

    def __init__(self) -> None:
        super().__init__("vlm_node", VlmParameters)
        self._subject: Vlm | None = None
        self._input: FrameInput | None = None
        self._arrived = threading.Condition()
        self._inference = NodeInference(self, limit=_QUESTIONS)
        self._publisher = self.create_publisher(VlmAnswer, "/vlm/answer", EVENT)
        self.create_service(AskVlm, "/vlm/ask", self._ask, callback_group=ReentrantCallbackGroup())

    def load(self) -> None:
        """Load the subject and start to keep frames of its views."""
        self._subject = make_vlm(self.config.subject, self.config.options, self.progress)
        self._input = FrameInput(self, self._subject.info.views, self.config.keep_frames, self._frame_arrived)

    def unload(self) -> None:
        """Let the subject and its frames go; who waits for an answer is told."""
        self._subject = None
        self._inference.destroy()
        self._inference = NodeInference(self, limit=_QUESTIONS)
        if self._input is not None:
            self._input.close()
            self._input = None

    def health(self) -> Health:
        """Say how many questions were answered, and how fast."""
        return self._inference.health(self.config.subject if self._subject is not None else "not loaded")

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
        view = parse_view(request.view) if request.view else subject.info.views[0]
        source, stamp_ns = _source(request.source), ns_of(request.stamp)
        self._wait_for(view, source, stamp_ns)

        def think() -> VlmAnswer:
            # only now: where the newest frame is asked about, a newer one may have come in the meantime
            return _message(subject, self._wait_for(view, source, stamp_ns), source, request.task)

        outcome = self._inference.ask(
            think, deadline_s=self.config.answer_deadline_s, key=None if stamp_ns else (view, source)
        )
        if outcome.kind is OutcomeKind.FAILED:
            self.get_logger().error(f"{self.config.subject} failed: {outcome.reason}")
        if outcome.result is None:
            raise UserError(f"{self.config.subject} gave no answer: {outcome.reason}")
        answer: VlmAnswer = outcome.result
        self._publisher.publish(answer)
        return answer

    def _wait_for(self, view: View, source: Source, stamp_ns: int) -> Frame:
        """Return the frame asked for, which may still be on its way.

        Raises:
            UserError: It has not come in time, or is no longer kept.
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
                self._arrived.wait(left_s)


def _message(subject: Vlm, frame: Frame, source: Source, task: str) -> VlmAnswer:
    began = perf_counter()
    text = subject.answer(frame, task)
    answer = VlmAnswer(
        view=str(frame.view),
        source=int(source),
        task=task,
        answer=text,
        subject=subject.info.name,
        subject_version=subject.info.version,
        latency_ms=1e3 * (perf_counter() - began),
    )
    answer.header.stamp = time_of(frame.stamp_ns)
    answer.header.frame_id = optical_frame(frame.view)
    return answer


def _source(number: int) -> Source:
    try:
        return Source(number)
    except ValueError:
        raise UserError("unknown source of a picture", got=number, available=map(int, Source)) from None


def main() -> int:
    """Run the node; each question that waits blocks a thread, and two more listen."""
    return main_of(VlmNode, executor=lambda: MultiThreadedExecutor(num_threads=_QUESTIONS + 3))


if __name__ == "__main__":
    sys.exit(main())
