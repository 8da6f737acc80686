"""The vision-language-action model: decides on distorted frames, and for the scores on the raw ones too."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from time import perf_counter

import numpy as np
from embodied_iqa_msgs.msg import ActionChunk, ArmStatus
from embodied_iqa_msgs.srv import SetTask
from geometry_msgs.msg import Pose, PoseStamped
from rclpy.publisher import Publisher
from sensor_msgs.msg import JointState

from embodied_iqa.graph.parameters import VlaParameters
from embodied_iqa.images.assembler import Source
from embodied_iqa.images.frame import Frame, View
from embodied_iqa.images.message_geometry import matrix_from_pose
from embodied_iqa.kinematics import TOOL_2F140_M, Kinematics, tool_along_z
from embodied_iqa.ros.conversion import chunk_to_msg, ns_of, optical_frame, pose_of, time_of
from embodied_iqa.ros.frames import FrameInput
from embodied_iqa.ros.inference import NodeInference
from embodied_iqa.ros.node import Health, ManagedNode, main_of
from embodied_iqa.ros.qos import EVENT, STATE
from embodied_iqa.subjects.protocols import Closable, SubjectInfo, Vla, VlaObservation
from embodied_iqa.subjects.registry import make_vla
from embodied_iqa.subjects.worker import Outcome
from embodied_iqa.trial.decider import Decider, DeciderState

_SECOND_NS = 1_000_000_000
_BOTH = (Source.DISTORTED, Source.RAW)
"""The arm waits for the first."""


@dataclass(frozen=True, slots=True, eq=False)
class _Question:
    """What the subject is asked, and what its answer belongs to.

    Attributes:
        run: Counts the tasks that were set.
        source: Of the picture.
        stamp_ns: Of the picture.
        sequence: Of the decision.
        step: Chunks executed before.
        task: The instruction.
        pose: The tool, as the subject is told.
        gripper: Its state, as the subject is told.
    """

    run: int
    source: Source
    stamp_ns: int
    sequence: int
    step: int
    task: str
    pose: Pose
    gripper: float


class VlaNode(ManagedNode[VlaParameters]):
    """/vla/actions for the arm, /vla/reference_actions for the scores; /vla/set_task starts and stops it.

    The subject thinks in a thread of its own. While it does, no further question is asked; when it has
    answered, the newest frame is next.
    """

    def __init__(self) -> None:
        super().__init__("vla_node", VlaParameters)
        self._subject: Vla | None = None
        self._input: FrameInput | None = None
        self._inference = NodeInference(self)
        self._decider = Decider(round(self.config.decide_again_s * _SECOND_NS), self.config.max_chunks)
        self._state = DeciderState()
        self._run = 0
        self._open: set[_Question] = set()
        self._dropped = 0
        self._pose: PoseStamped | None = None if self.config.has_arm else self._assumed_pose()
        self._gripper = 0.0
        self._outputs: dict[Source, Publisher] = {
            Source.DISTORTED: self.create_publisher(ActionChunk, "/vla/actions", EVENT),
            Source.RAW: self.create_publisher(ActionChunk, "/vla/reference_actions", EVENT),
        }
        self.create_subscription(PoseStamped, "/arm/tool_pose", self._take_pose, STATE)
        self.create_subscription(JointState, "/arm/joint_states", self._take_joints, STATE)
        self.create_subscription(ArmStatus, "/arm/status", self._take_status, EVENT)
        self.create_service(SetTask, "/vla/set_task", self._set_task)

    def load(self) -> None:
        """Load the subject and start to keep frames of its views."""
        self._subject = make_vla(self.config.subject, self.config.options, self.progress)
        self._input = FrameInput(
            self, self._subject.info.views, self.config.keep_frames, lambda _view: self._consider()
        )

    def unload(self) -> None:
        """Let the subject and its frames go; what it still says is dropped."""
        subject, self._subject = self._subject, None
        self._open.clear()
        if isinstance(subject, Closable):
            subject.close()
        self._inference.destroy()
        self._inference = NodeInference(self)
        if self._input is not None:
            self._input.close()
            self._input = None

    def health(self) -> Health:
        """Say how many decisions were taken, how fast, and how many came too late."""
        health = self._inference.health(self.config.subject if self._subject is not None else "not loaded")
        health.values |= {"decisions": self._state.sequence, "dropped": self._dropped}
        return health

    def _assumed_pose(self) -> PoseStamped:
        kinematics = Kinematics(tool_along_z(TOOL_2F140_M))
        return PoseStamped(pose=pose_of(kinematics.forward(self.config.assumed_q_rad)))

    def _take_pose(self, message: PoseStamped) -> None:
        self._pose = message

    def _take_joints(self, message: JointState) -> None:
        if message.position:
            self._gripper = float(message.position[-1])

    def _take_status(self, message: ArmStatus) -> None:
        completed = message.completed_sequence if message.has_completed else None
        self._state = self._decider.arm_seen(
            self._state,
            ready=message.state in {ArmStatus.STATE_IDLE, ArmStatus.STATE_HOLDING} and not message.has_goal,
            completed=completed,
            whole=message.completed_whole,
            stamp_ns=ns_of(message.header.stamp),
        )
        self._consider()

    def _set_task(self, request: SetTask.Request, response: SetTask.Response) -> SetTask.Response:
        if not self.active:
            response.message = "vla_node is not active"
            return response
        if request.task and not self._whole_stamps():
            response.message = "no whole frame of every view has arrived yet"
            return response
        self._state = self._decider.set_task(self._state, request.task, ns_of(request.from_stamp))
        self._run += 1
        self._open.clear()
        response.success = True
        self._consider()
        return response

    def _consider(self) -> None:
        """Decide if it is time to and a pair of frames is there."""
        subject, frames = self._subject, self._input
        if not self.active or subject is None or frames is None or self._pose is None or self._open:
            return
        stamp_ns = self._decider.choose(self._state, self._whole_stamps())
        if stamp_ns is None:
            return
        self._state = self._decider.decided(self._state, stamp_ns)
        questions = [self._question(source, stamp_ns, self._pose.pose) for source in _BOTH]
        self._open.update(questions)
        for place, question in enumerate(questions, start=1):
            seen = {view: frames.frames.frame(view, question.source, stamp_ns) for view in subject.info.views}
            self._inference.start(
                partial(_decide, subject, question, seen),
                partial(self._answered, question, subject.info),
                deadline_s=place * self.config.answer_deadline_s,
                key=question.source,
            )

    def _question(self, source: Source, stamp_ns: int, pose: Pose) -> _Question:
        state = self._state
        return _Question(
            self._run, source, stamp_ns, state.sequence, state.step, state.task, pose, self._gripper
        )

    def _answered(self, question: _Question, info: SubjectInfo, outcome: Outcome[ActionChunk]) -> None:
        """Publish what the subject decided, unless the run that it belongs to is over."""
        if question not in self._open or not self.active:
            self._open.discard(question)
            self._dropped += 1
            return
        self._open.discard(question)
        message = outcome.result
        if message is None:
            self.get_logger().error(f"{info.name} failed: {outcome.reason}")
            message = _failed(outcome.reason, outcome.latency_ms)
        _label(message, question, info)
        self._outputs[question.source].publish(message)
        if not self._open:
            stamps_ns = self._whole_stamps()
            self._state = self._decider.answered(
                self._state, stamps_ns[-1] if stamps_ns else question.stamp_ns
            )
            self._consider()

    def _whole_stamps(self) -> list[int]:
        """Return the stamps, oldest first, of which every view's raw and distorted frame is there."""
        if self._subject is None or self._input is None or self._pose is None:
            return []
        views, frames = self._subject.info.views, self._input.frames
        return [
            stamp_ns
            for stamp_ns in frames.stamps_ns(views[0])
            if all(frames.frame(view, source, stamp_ns) is not None for view in views for source in _BOTH)
        ]


def _decide(subject: Vla, question: _Question, seen: Mapping[View, Frame | None]) -> ActionChunk:
    """Ask the subject; in its own thread."""
    observation = VlaObservation(
        frames={view: frame for view, frame in seen.items() if frame is not None},
        instruction=question.task,
        T_base_tool=matrix_from_pose(question.pose),
        gripper=question.gripper,
        step=question.step,
    )
    began = perf_counter()
    message = chunk_to_msg(subject.act(observation))
    message.latency_ms = (perf_counter() - began) * 1e3
    return message


def _failed(reason: str, latency_ms: float) -> ActionChunk:
    """Return a chunk that says why there is none; it never moves anything."""
    return ActionChunk(
        status=ActionChunk.STATUS_FAILED,
        reason=reason,
        target_u=float(np.nan),
        target_v=float(np.nan),
        latency_ms=latency_ms,
    )


def _label(message: ActionChunk, question: _Question, info: SubjectInfo) -> None:
    view = info.views[0]
    message.header.stamp = time_of(question.stamp_ns)
    message.header.frame_id = optical_frame(view)
    message.view, message.source = str(view), int(question.source)
    message.sequence, message.step, message.task = question.sequence, question.step, question.task
    message.tool_pose, message.gripper = question.pose, question.gripper
    message.subject, message.subject_version = info.name, info.version


def main() -> int:
    """Run the node."""
    return main_of(VlaNode)


if __name__ == "__main__":
    sys.exit(main())
