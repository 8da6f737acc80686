"""The vision-language-action model: decides on distorted frames and, for the scores, on raw ones."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

import numpy as np
from diagnostic_msgs.msg import DiagnosticStatus
from embodied_iqa_msgs.msg import ActionChunk, ArmStatus, GateLease
from embodied_iqa_msgs.srv import SetTask
from geometry_msgs.msg import Pose, PoseStamped
from numpy.typing import NDArray
from rclpy.publisher import Publisher
from sensor_msgs.msg import JointState
from std_msgs.msg import Bool

from embodied_iqa.base.errors import UsageError, UserError
from embodied_iqa.base.units import SECOND_NS
from embodied_iqa.data.recording.trial_record import ChunkRecord
from embodied_iqa.imaging.images.assembler import Source
from embodied_iqa.imaging.images.frame import Frame, View, parse_view
from embodied_iqa.imaging.images.message_geometry import matrix_from_pose
from embodied_iqa.imaging.images.pairing import Arrived, missing_pair, paired_stamps
from embodied_iqa.imaging.images.state_history import StateHistory
from embodied_iqa.live.ros.conversion import chunk_to_msg, ns_of, pose_of
from embodied_iqa.live.ros.frames import FrameInput, tool_pose_of
from embodied_iqa.live.ros.goals import name_frames
from embodied_iqa.live.ros.inference import NodeInference
from embodied_iqa.live.ros.node import Health, ManagedNode, leave, main_of
from embodied_iqa.live.ros.qos import EVENT, STATE, adjustable
from embodied_iqa.models.subjects.inference import Outcome
from embodied_iqa.models.subjects.known_tasks import check_parses
from embodied_iqa.runs.graph.parameters import VlaParameters
from embodied_iqa.runs.graph.policy_loading import assumed_tool_pose, load_policy
from embodied_iqa.runs.trial.deciding import DecisionRequest, act, chunk_record
from embodied_iqa.runs.trial.decision_desk import DecisionDesk
from embodied_iqa.runs.trial.decision_timing import ArmProgress, Decider
from embodied_iqa.world.protocols import ActionChunk as Chunk
from embodied_iqa.world.protocols import SubjectInfo, Vla, close_subject

_IDLE_NS = 3 * SECOND_NS


class VlaNode(ManagedNode[VlaParameters]):
    """/vla/actions for the arm, /vla/reference_actions for the scores; /vla/set_task starts and stops it.

    /vla/deciding says whether a question waits for its answer.

    Inference runs in a thread of its own. Until both answers are there, no further question is asked; then
    the newest frame is next. With a receding horizon only the arm's answer is waited for.
    """

    def __init__(self) -> None:
        super().__init__("vla_node", VlaParameters)
        self._subject: Vla | None = None
        self._input: FrameInput | None = None
        self._inference: NodeInference[Chunk] = NodeInference(self)
        config = self.config
        decider = Decider(round(config.decide_again_s * SECOND_NS), config.max_chunks, config.horizon)
        self._desk = DecisionDesk(decider)
        self._reference: tuple[DecisionRequest, Callable[[], None]] | None = None
        self._poses: StateHistory[Pose] = StateHistory()
        self._joints: StateHistory[tuple[float, ...]] = StateHistory()
        self._assumed_tool = None if self.config.has_arm else self._tool_without_arm()
        self._outputs: dict[Source, Publisher[ActionChunk]] = {
            Source.DISTORTED: self.create_publisher(ActionChunk, "vla/actions", EVENT),
            Source.RAW: self.create_publisher(ActionChunk, "vla/reference_actions", EVENT),
        }
        self._deciding = self.create_publisher(Bool, "vla/deciding", EVENT)
        self._said_deciding = False
        self._late_before, self._idle_words = 0, ""
        self.create_subscription(PoseStamped, "arm/tool_pose", self._take_pose, **adjustable(STATE))
        self.create_subscription(JointState, "arm/joint_states", self._take_joints, **adjustable(STATE))
        self.create_subscription(ArmStatus, "arm/status", self._take_status, EVENT)
        self.create_subscription(GateLease, "gate/lease", self._take_lease, STATE)
        self.create_service(SetTask, "vla/set_task", self._set_task)

    def load(self) -> None:
        """Load the subject and start to keep frames of its views."""
        self._subject = load_policy(self.config, self.progress)
        self._input = FrameInput(
            self,
            self._subject.info.views,
            self.config.keep_frames,
            lambda _view: self._consider(),
            newest_only=self.config.newest_only,
            repaired=self.config.repaired,
        )

    def unload(self) -> None:
        """Unload the subject and its frames; answers that are still to come are dropped."""
        subject, self._subject = self._subject, None
        self._desk.forget()
        self._reference = None
        self._say_deciding()
        close_subject(subject)
        self._inference.destroy()
        self._inference = NodeInference(self)
        if self._input is not None:
            self._input.close()
            self._input = None

    def health(self) -> Health:
        """Return the number of decisions, their latencies, and how many were dropped."""
        health = self._inference.health(
            str(self.config.subject) if self._subject is not None else "not loaded"
        )
        desk = self._desk
        health.values |= {"decisions": desk.state.sequence, "dropped": desk.dropped}
        if desk.is_receding:
            health.values["references skipped"] = desk.skipped
        if self._input is not None:
            health.values["late images"] = self._input.late.total
        if health.level == DiagnosticStatus.OK and (waits := self._why_idle()):
            health.level, health.message = DiagnosticStatus.WARN, waits
        return health

    def _why_idle(self) -> str:
        """Return what an idle arm has waited for longer than a camera takes, in words that last."""
        late, idle_ns = 0 if self._input is None else self._input.late.total, self._desk.idle_ns
        if not idle_ns:
            self._late_before, self._idle_words = late, ""
        elif idle_ns >= _IDLE_NS and not self._idle_words:
            words = missing_pair(self._arrived(), self.config.policy.pairing_tolerance_ns)
            slow = "; images come too late for it: is the computer overloaded?"
            cause = slow if late > self._late_before else ""
            self._idle_words = f"the arm waits for a decision: {words}{cause}"
        return self._idle_words

    def _tool_without_arm(self) -> tuple[Pose, float]:
        return pose_of(assumed_tool_pose(self.config)), 0.0

    def _tool_at(self, stamp_ns: int) -> tuple[Pose, float] | None:
        """Return the pose of the tool and the state of the gripper in an image; None where not yet known."""
        if self._assumed_tool is not None:
            return self._assumed_tool
        pose, joints = self._poses.at(stamp_ns), self._joints.at(stamp_ns)
        return None if pose is None or joints is None else (pose, joints[-1])

    def _joints_at(self, stamp_ns: int) -> NDArray[np.float64] | None:
        """Return the joint angles ``(6,)`` in an image, of the arm whose joints a policy may command."""
        if not self.config.shows_joints:
            return None
        if not self.config.has_arm:
            return np.array(self.config.assumed_q_rad)
        joints = self._joints.at(stamp_ns)
        return None if joints is None or len(joints) != 7 else np.array(joints[:6])

    def _take_pose(self, message: PoseStamped) -> None:
        if tool_pose_of(self, message) is not None:
            self._poses.add(ns_of(message.header.stamp), message.pose)
            self._consider()

    def _take_joints(self, message: JointState) -> None:
        if message.position:
            self._joints.add(ns_of(message.header.stamp), tuple(map(float, message.position)))
            self._consider()

    def _take_status(self, message: ArmStatus) -> None:
        arm = ArmProgress(
            stamp_ns=ns_of(message.header.stamp),
            ready=message.state in {ArmStatus.STATE_IDLE, ArmStatus.STATE_HOLDING} and not message.has_goal,
            completed=message.completed_sequence if message.has_completed else None,
            whole=message.completed_whole,
            held=message.held_by_gate,
            refused=message.refused,
        )
        self._desk.arm_seen(arm)
        self._consider()

    def _take_lease(self, lease: GateLease) -> None:
        if lease.of_decision or (lease.verdict == GateLease.VERDICT_PASS and not self._desk.is_receding):
            return
        try:
            view = parse_view(lease.view)
        except UsageError as error:
            self.get_logger().error(f"/gate/lease: {error}", throttle_duration_sec=1.0)
            return
        note = self._desk.passed if lease.verdict == GateLease.VERDICT_PASS else self._desk.rejected
        note(view, ns_of(lease.header.stamp))
        self._consider()

    def _set_task(self, request: SetTask.Request, response: SetTask.Response) -> SetTask.Response:
        if not self.active or self._subject is None:
            response.message = "vla_node is not active"
            return response
        if request.task and not self._pairs():
            response.message = missing_pair(self._arrived(), self.config.policy.pairing_tolerance_ns)
            return response
        try:
            if request.task:
                check_parses(self.config.subject, request.task)
        except UserError as error:
            response.message = str(error)
            return response
        self._desk.set_task(request.task, ns_of(request.from_stamp))
        response.success = True
        self._consider()
        return response

    def _consider(self) -> None:
        """Decide if it is time to, and a pair of frames is there."""
        self._decide_if_due()
        self._say_deciding()

    def _say_deciding(self) -> None:
        if self._desk.is_busy != self._said_deciding:
            self._said_deciding = self._desk.is_busy
            self._deciding.publish(Bool(data=self._said_deciding))

    def _decide_if_due(self) -> None:
        subject, frames = self._subject, self._input
        if not self.active or subject is None or frames is None or self._desk.is_busy:
            return
        pairs = self._pairs()
        stamp_ns = self._desk.choose(list(pairs))
        tool = None if stamp_ns is None else self._tool_at(stamp_ns)
        if stamp_ns is None or tool is None:
            return
        pose, gripper = tool
        turn = self._desk.state.turn
        info = subject.info.at_turn(turn)
        questions = self._desk.ask(stamp_ns, matrix_from_pose(pose), gripper, self._joints_at(stamp_ns))
        for place, request in enumerate(questions, start=1):
            found = {
                view: frames.frames.frame(view, request.source, its_ns)
                for view, its_ns in pairs[stamp_ns].items()
            }
            seen = {view: frame for view, frame in found.items() if frame is not None}
            start = partial(
                self._inference.start,
                partial(act, subject, request, seen, turn),
                partial(self._answered, request, pose, info, seen),
                deadline_s=place * self.config.answer_deadline_s,
                key=request.source,
            )
            if self._desk.is_receding and request.source is Source.RAW:
                self._reference = request, start
            else:
                start()

    def _answered(
        self,
        request: DecisionRequest,
        pose: Pose,
        info: SubjectInfo,
        seen: Mapping[View, Frame],
        outcome: Outcome[Chunk],
    ) -> None:
        """Publish a decision, unless the run that it belongs to is over.

        The pose is that of the request as it was received: its matrix does not give the same quaternion back.
        """
        if not self._desk.close(request, active=self.active):
            return
        if outcome.result is None:
            self.get_logger().error(f"{info.name} failed: {outcome.reason}")
        record = chunk_record(info, request, outcome, seen)
        self._outputs[record.source].publish(_message_of(record, request.task, pose))
        self._desk.came_to(record)
        newest_ns = max(self._pairs(), default=record.stamp_ns)
        self._desk.published(newest_ns)
        if request.source is Source.DISTORTED and self._reference is not None:
            (raw, start), self._reference = self._reference, None
            if self._desk.time_for_reference(raw, newest_ns):
                start()
        self._consider()

    def _pairs(self) -> dict[int, dict[View, int]]:
        """Return the stamps of the images, raw and distorted, of each possible decision: `paired_stamps`."""
        if self._subject is None or self._input is None:
            return {}
        tolerance_ns = self.config.policy.pairing_tolerance_ns
        return paired_stamps(self._arrived(), tolerance_ns, self._desk.state.from_ns)

    def _arrived(self) -> dict[View, Arrived]:
        """Return what has arrived of every camera of the policy."""
        if self._subject is None or self._input is None:
            return {}
        views, frames = self._subject.info.at_turn(self._desk.state.turn).views, self._input.frames
        return {view: frames.arrived(view, *Source) for view in views}


def _message_of(record: ChunkRecord, task: str, pose: Pose) -> ActionChunk:
    message = chunk_to_msg(record)
    name_frames(message, ((record.view, record.stamp_ns), *record.other_frames))
    message.source, message.task = int(record.source), task
    message.sequence, message.step = record.sequence, record.step
    message.tool_pose, message.gripper = pose, record.gripper
    message.joints = [] if record.q_rad is None else record.q_rad.tolist()
    message.subject, message.subject_version = record.subject, record.subject_version
    message.latency_ms = record.latency_ms
    return message


def main() -> int:
    """Run the node."""
    return main_of(VlaNode)


if __name__ == "__main__":
    leave(main())
