"""Recording of clean images and the arm's state outside of a trial, by the drivers that a trial uses."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import Final

import rclpy
from diagnostic_msgs.msg import DiagnosticStatus
from geometry_msgs.msg import PoseStamped
from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.parameter import Parameter
from rclpy.serialization import serialize_message
from rclpy.signals import SignalHandlerOptions

from embodied_iqa.base.clock import MONOTONIC, Clock
from embodied_iqa.base.errors import InputError, UserError
from embodied_iqa.base.kinematics import tool_along_z
from embodied_iqa.base.kinematics.models import flange_pose
from embodied_iqa.base.lazy import load
from embodied_iqa.data.recording.recording_queue import RecordingQueue
from embodied_iqa.data.recording.trial_reading import METADATA
from embodied_iqa.data.recording.writer import TrialWriter, WriterOptions
from embodied_iqa.imaging.images.frame import Frame, View
from embodied_iqa.imaging.images.hand_eye import PoseHistory
from embodied_iqa.live.cameras.camera_rig import CameraFeed, CameraRig
from embodied_iqa.live.cell.arm_reading import ArmReader, open_arm
from embodied_iqa.live.ros.conversion import frame_to_msgs, joints_to_msg, pose_of
from embodied_iqa.live.ros.node import Health
from embodied_iqa.live.ros.recorded_topics import arm_topics, camera_topics
from embodied_iqa.runs.graph.arm_parameters import ArmParameters
from embodied_iqa.runs.graph.camera_parameters import CameraParameters
from embodied_iqa.runs.graph.clean_recording_plan import CleanRecordingPlan, CleanRecordingProgress
from embodied_iqa.runs.graph.parameters import GraphParameters

_LOOK_S: Final = 0.2
_CLOSE_DEADLINE_S: Final = 30.0
_JOINTS, _TOOL, _STATUS = (topic.name for topic in arm_topics())


class CleanRecorder:
    """Writes frames and arm states to a recording, and notices what stays away.

    Args:
        plan: What to record.
        clock: Of the silences.

    Raises:
        RecordingWriteError: The file exists or cannot be written.
    """

    def __init__(self, plan: CleanRecordingPlan, clock: Clock = MONOTONIC) -> None:
        graph, self._plan, self._clock = plan.graph, plan, clock
        self._has_arm = graph.arm_node.robot.is_real
        arm = [topic for topic in arm_topics() if topic.name != _STATUS] if self._has_arm else []
        writer = TrialWriter(plan.path, options=WriterOptions(compression=graph.recorder_node.compression))
        try:
            writer.add_metadata(METADATA, plan.metadata or {})
            for topic in (*camera_topics(graph.camera_node.views), *arm):
                writer.add_channel(topic.name, topic.type_name, topic.qos_text)
        except UserError:
            writer.discard()
            raise
        self._queue = RecordingQueue(writer, capacity_bytes=graph.recorder_node.queue_bytes, clock=clock)
        self._images = dict.fromkeys(graph.camera_node.views, 0)
        self._earlier = dict(self._images)
        self._arm_states = 0
        self._started_s = clock.now_s()
        self._ended_s: float | None = None
        self._seen_s = dict.fromkeys(self._images, self._started_s)
        self._T_flange_tool = tool_along_z(graph.arm_node.tool_length_m)
        self.tool_poses = PoseHistory()

    def begin(self) -> None:
        """Start the time of the recording anew: cameras and arm are open, or every camera has an image."""
        self._started_s = self._clock.now_s()
        self._seen_s = dict.fromkeys(self._images, self._started_s)
        self._earlier = dict(self._images)

    def end(self) -> None:
        """End the time of the recording: closing cameras and arm takes time of its own."""
        self._ended_s = self._clock.now_s()

    def take_frame(self, log_ns: int, frame: Frame) -> None:
        """Record a frame that arrived at a ROS time (ns), unless the time is over; from any thread."""
        if self._ended_s is not None:
            return
        view, base = frame.view, self._plan.graph.camera_node.frames.base
        info, pose, image = frame_to_msgs(frame, base)
        for name, cdr in (
            ("camera_info", serialize_message(info)),
            ("pose", serialize_message(pose)),
            ("image_raw", image),
        ):
            self._queue.put(f"/camera/{view}/{name}", cdr, log_ns)
        self._images[view] += 1
        self._seen_s[view] = self._clock.now_s()

    def take_joints(self, stamp_ns: int, q_rad: tuple[float, ...]) -> None:
        """Record joint angles ``(6,)`` (rad) of a ROS time (ns), and where the tool is; see `take_frame`."""
        if self._ended_s is not None:
            return
        arm = self._plan.graph.arm_node
        T_base_tool = flange_pose(arm.model.geometry, q_rad) @ self._T_flange_tool
        self.tool_poses.add(stamp_ns, T_base_tool)
        joints = joints_to_msg(stamp_ns, q_rad, (), arm.all_joints, arm.frames.base)
        pose = PoseStamped(header=joints.header, pose=pose_of(T_base_tool))
        self._queue.put(_JOINTS, serialize_message(joints), stamp_ns)
        self._queue.put(_TOOL, serialize_message(pose), stamp_ns)
        self._arm_states += 1

    def progress(self) -> CleanRecordingProgress:
        """Return how far it has come."""
        seconds = (self._clock.now_s() if self._ended_s is None else self._ended_s) - self._started_s
        return CleanRecordingProgress(
            seconds,
            dict(self._images),
            self._arm_states,
            self._queue.status.total_lost,
            dict(self._earlier),
        )

    def check(self, cameras: Health, arm_problem: str = "") -> None:
        """Check that the recording goes on.

        Args:
            cameras: State of the source, with the reasons of a silence.
            arm_problem: Why the arm is not read.

        Raises:
            InputError: The disk is full, or a camera or the arm has been silent for too long.
        """
        if self._queue.error:
            raise InputError(self._queue.error)
        silence_s, now_s = self._plan.silence_s, self._clock.now_s()
        for view, seen_s in self._seen_s.items():
            if now_s - seen_s > silence_s:
                why = _reasons(view, cameras)
                raise InputError(f"no image of the {view} camera for {silence_s:g} s{why}")
        if arm_problem and now_s - self._started_s > silence_s:
            raise InputError(f"the arm is not read any more: {arm_problem}")

    def close(self) -> CleanRecordingProgress:
        """Finish the file; a recording without any image is removed.

        Raises:
            RecordingWriteError: The disk is too slow to finish it.
        """
        found = self.progress()
        status = self._queue.close(_CLOSE_DEADLINE_S)
        if not any(found.images.values()):
            self._plan.path.unlink(missing_ok=True)
        return replace(found, lost=status.total_lost)


def record_clean(
    plan: CleanRecordingPlan,
    show: Callable[[CleanRecordingProgress], None],
    tell: Callable[[str], None] = lambda _line: None,
) -> CleanRecordingProgress:
    """Record until the time is over or Ctrl-C; either way the file is whole.

    Args:
        plan: What to record.
        show: Called several times a second, and at any end with what the file holds.
        tell: Called with what the user should know of the arm.

    Returns:
        What was recorded.

    Raises:
        UserError: A camera or the arm cannot be opened (nothing is written then), the disk is full, or one of
            them became silent: what was recorded before is in the file, which is whole.
        KeyboardInterrupt: As the user wished.
    """
    with ExitStack() as stack:
        recorder = CleanRecorder(plan)
        done: list[CleanRecordingProgress] = []

        def finish() -> None:
            done.append(recorder.close())
            if any(done[0].images.values()):
                show(done[0])

        stack.callback(finish)
        node = stack.enter_context(cell_node("clean_recorder", plan.namespace, plan.graph))
        arm = _open_arm(plan.graph.arm_node, node, recorder)
        if arm is not None:
            stack.callback(arm.close)
            tell(arm.remark)
        feed = _open_feed(plan.graph.camera_node, node, recorder)
        stack.callback(feed.close)
        executor = SingleThreadedExecutor(context=node.context)
        stack.callback(executor.shutdown, 0.0)
        executor.add_node(node)
        stack.callback(recorder.end)
        for progress in _recorded(recorder, plan.seconds, executor):
            show(progress)
            recorder.check(feed.health(), arm.problem if arm else "")
    return done[0]


def _recorded(
    recorder: CleanRecorder, seconds: float, executor: SingleThreadedExecutor
) -> Iterator[CleanRecordingProgress]:
    """Spin for a time from the first moment when every camera has an image; yield several times a second."""
    recorder.begin()
    next_s = 0.0
    is_begun = False
    while (progress := recorder.progress()).seconds < seconds or not is_begun:
        if not is_begun and all(progress.images.values()):
            is_begun = True
            recorder.begin()
            continue
        left_s = seconds - progress.seconds if is_begun else _LOOK_S
        executor.spin_once(timeout_sec=min(_LOOK_S, left_s))
        if (now_s := time.monotonic()) >= next_s:
            next_s = now_s + _LOOK_S
            yield progress


def _reasons(view: View, cameras: Health) -> str:
    """Return why a camera may be silent, with a colon in front: what failed, or what was refused."""
    if cameras.level != DiagnosticStatus.OK:
        return f": {cameras.message}"
    counts = {name: value for name, value in cameras.values.items() if name.startswith(f"{view} ") and value}
    return f": {', '.join(f'{name} {value}' for name, value in counts.items())}" if counts else ""


@contextmanager
def cell_node(name: str, namespace: str, graph: GraphParameters | None = None) -> Iterator[Node]:
    """A node in a context of its own, which leaves Ctrl-C to Python.

    Args:
        name: Of the node.
        namespace: Of the node.
        graph: Its topics take the overrides of the quality of service that those of arm and cameras have.
    """
    taken = {} if graph is None else {**graph.qos.get("arm_node", {}), **graph.qos.get("camera_node", {})}
    overrides = [Parameter(parameter, value=value) for parameter, value in taken.items()]
    context = Context()
    rclpy.init(context=context, signal_handler_options=SignalHandlerOptions.NO)
    try:
        node = Node(name, namespace=namespace, context=context, parameter_overrides=overrides)
        try:
            yield node
        finally:
            node.destroy_node()
    finally:
        rclpy.try_shutdown(context=context)


def _open_arm(config: ArmParameters, node: Node, recorder: CleanRecorder) -> ArmReader | None:
    return open_arm(config, node, recorder.take_joints) if config.robot.is_real else None


def _open_feed(config: CameraParameters, node: Node, recorder: CleanRecorder) -> CameraFeed:
    """Open the cameras of a trial, without their depth, which is not recorded."""
    plain = replace(
        config, topic=replace(config.topic, depth=False), realsense=replace(config.realsense, depth=False)
    )

    def publish(frame: Frame) -> None:
        recorder.take_frame(node.get_clock().now().nanoseconds, frame)

    feed: CameraFeed = load(config.source.opener)(CameraRig(node, plain, publish, recorder.tool_poses))
    return feed
