"""The vision-language-action model: decides on distorted frames, and for the scores on the raw ones too."""

from __future__ import annotations

import sys
from time import perf_counter

import numpy as np
from embodied_iqa_msgs.msg import ActionChunk, ArmStatus
from embodied_iqa_msgs.srv import SetTask
from geometry_msgs.msg import PoseStamped
from rclpy.publisher import Publisher
from sensor_msgs.msg import JointState

from embodied_iqa.images.assembler import Source
from embodied_iqa.images.frame import Frame, View
from embodied_iqa.images.poses import matrix_from_pose
from embodied_iqa.kinematics import TOOL_2F140_M, Kinematics, tool_along_z
from embodied_iqa.ros.conversion import chunk_to_msg, ns_of, optical_frame, pose_of, time_of
from embodied_iqa.ros.frames import FrameInput
from embodied_iqa.ros.node import Health, ManagedNode, main_of
from embodied_iqa.ros.qos import EVENT, STATE
from embodied_iqa.subjects.protocols import Vla, VlaObservation
from embodied_iqa.subjects.registry import make_vla
from embodied_iqa.trial.decider import Decider, DeciderState
from embodied_iqa.trial.parameters import VlaParameters

_SECOND_NS = 1_000_000_000
_BOTH = (Source.RAW, Source.DISTORTED)


class VlaNode(ManagedNode[VlaParameters]):
    """/vla/actions for the arm, /vla/reference_actions for the scores; /vla/set_task starts and stops it."""

    def __init__(self) -> None:
        super().__init__("vla_node", VlaParameters)
        self._subject: Vla | None = None
        self._input: FrameInput | None = None
        self._decider = Decider(round(self.config.decide_again_s * _SECOND_NS), self.config.max_chunks)
        self._state = DeciderState()
        self._pose: PoseStamped | None = None if self.config.has_arm else self._assumed_pose()
        self._gripper = 0.0
        self._failures = 0
        self._latency_ms = 0.0
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
        self._subject = make_vla(self.config.subject, self.config.options, self.get_logger().info)
        self._input = FrameInput(
            self, self._subject.info.views, self.config.keep_frames, lambda _view: self._consider()
        )

    def unload(self) -> None:
        """Let the subject and its frames go."""
        self._subject = None
        if self._input is not None:
            self._input.close()
            self._input = None

    def health(self) -> Health:
        """Say how many decisions were taken."""
        name = self.config.subject if self._subject is not None else "not loaded"
        values: dict[str, object] = {"decisions": self._state.sequence, "failures": self._failures}
        return Health(message=name, values=values | {"latency_ms": round(self._latency_ms, 2)})

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
        response.success = True
        self._consider()
        return response

    def _consider(self) -> None:
        """Decide if it is time to and a pair of frames is there."""
        if not self.active or self._subject is None or self._input is None or self._pose is None:
            return
        info, frames = self._subject.info, self._input.frames
        stamp_ns = self._decider.choose(self._state, self._whole_stamps())
        if stamp_ns is None:
            return
        self._state = self._decider.decided(self._state, stamp_ns)
        for source in _BOTH:
            seen = {view: frames.frame(view, source, stamp_ns) for view in info.views}
            chunk = self._decide(self._subject, self._pose, seen)
            self._label(chunk, info.views[0], source, stamp_ns)
            self._outputs[source].publish(chunk)

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

    def _decide(self, subject: Vla, pose: PoseStamped, seen: dict[View, Frame | None]) -> ActionChunk:
        info = subject.info
        observation = VlaObservation(
            frames={view: frame for view, frame in seen.items() if frame is not None},
            instruction=self._state.task,
            T_base_tool=matrix_from_pose(pose.pose),
            gripper=self._gripper,
            step=self._state.step,
        )
        began = perf_counter()
        message = self._act(subject, observation)
        self._latency_ms = message.latency_ms = (perf_counter() - began) * 1e3
        message.tool_pose, message.gripper = pose.pose, self._gripper
        message.subject, message.subject_version = info.name, info.version
        return message

    def _act(self, subject: Vla, observation: VlaObservation) -> ActionChunk:
        """Ask the subject; whatever it raises becomes a chunk that says so, never an action."""
        try:
            return chunk_to_msg(subject.act(observation))
        except Exception as error:  # noqa: BLE001 - a subject may be anybody's code
            self._failures += 1
            self.get_logger().error(f"{subject.info.name} failed: {error!r}")
            return ActionChunk(
                status=ActionChunk.STATUS_FAILED,
                reason=f"{type(error).__name__}: {error}",
                target_u=float(np.nan),
                target_v=float(np.nan),
            )

    def _label(self, message: ActionChunk, view: View, source: Source, stamp_ns: int) -> None:
        message.header.stamp = time_of(stamp_ns)
        message.header.frame_id = optical_frame(view)
        message.view, message.source = str(view), int(source)
        message.sequence, message.step = self._state.sequence, self._state.step
        message.task = self._state.task


def main() -> int:
    """Run the node."""
    return main_of(VlaNode)


if __name__ == "__main__":
    sys.exit(main())
