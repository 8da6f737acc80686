"""A vla_node with images of its views, an arm that stands still, and what the node says."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from diagnostic_msgs.msg import DiagnosticArray
from embodied_iqa_msgs.msg import ActionChunk
from embodied_iqa_msgs.srv import SetTask
from geometry_msgs.msg import PoseStamped
from sensor_msgs.msg import CameraInfo, Image, JointState

from embodied_iqa.imaging.images.frame import Intrinsics, View
from embodied_iqa.imaging.images.image_cdr import image_to_cdr
from embodied_iqa.live.ros.conversion import camera_info_of, ns_of, pose_of, time_of
from embodied_iqa.live.ros.qos import EVENT, IMAGE, STATE
from ros_graph import RosGraph

TASK = "pick the red cube"
PERIOD_NS = 66_666_667
TOPICS = ("/camera/{}/image_raw", "/distorted/{}/image_raw")
T_TOOL = np.array([[0.0, 1, 0, -0.4], [1, 0, 0, 0], [0, 0, -1, 0.35], [0, 0, 0, 1]])
"""In front of the robot, pointing down."""
Q_RAD = (0.0,) * 6
"""Joints beside it; nothing compares them with the pose."""


class Bench:
    """See the module.

    Args:
        graph: With vla_node in it, active.
        views: That its subject looks at.

    Attributes:
        listeners: Nodes that look at the raw and at the distorted images.
    """

    listeners = 1, 1

    def __init__(self, graph: RosGraph, views: tuple[View, ...] = (View.TOP,)) -> None:
        self.graph, self.views = graph, views
        self.stamp_ns = 50_000_000_000
        self.actions = graph.subscribe(ActionChunk, "/vla/actions", EVENT)
        self.references = graph.subscribe(ActionChunk, "/vla/reference_actions", EVENT)
        self.diagnostics = graph.subscribe(DiagnosticArray, "/diagnostics", 10)
        self.images = {
            (view, topic): graph.publisher(Image, topic.format(view), IMAGE, listeners=count)
            for view in views
            for topic, count in zip(TOPICS, self.listeners, strict=True)
        }
        self.infos = {
            view: graph.publisher(CameraInfo, f"/camera/{view}/camera_info", IMAGE) for view in views
        }
        self.cameras = {view: graph.publisher(PoseStamped, f"/camera/{view}/pose", IMAGE) for view in views}
        self.tool = graph.publisher(PoseStamped, "/arm/tool_pose", STATE)
        self.joints = graph.publisher(JointState, "/arm/joint_states", STATE)

    def show(self) -> None:
        """One more frame, raw and distorted."""
        self.stamp_ns += PERIOD_NS
        tool, joints = PoseStamped(pose=pose_of(self.T_tool())), JointState(position=[*Q_RAD, 0.25])
        for message, publisher in ((tool, self.tool), (joints, self.joints)):
            message.header.stamp = time_of(self.stamp_ns)
            publisher.publish(message)
        for view in self.views:
            its_ns = self.stamp_of(view)
            info = camera_info_of(Intrinsics(64, 48, 50.0, 50.0, 31.5, 23.5))
            pose = PoseStamped(pose=pose_of(np.eye(4)))
            for message, publisher in ((info, self.infos[view]), (pose, self.cameras[view])):
                message.header.stamp = time_of(its_ns)
                publisher.publish(message)
            for topic in TOPICS:
                rgb = self.image(view, topic)
                self.images[view, topic].publish(image_to_cdr(rgb, its_ns, str(view)))

    def stamp_of(self, _view: View) -> int:
        """The stamp of a camera's image in the present frame."""
        return self.stamp_ns

    def T_tool(self) -> np.ndarray:
        """The tool at the present stamp."""
        return T_TOOL

    def image(self, _view: View, topic: str) -> np.ndarray:
        """The image of the present stamp: bright where it is raw, dark where it is distorted."""
        return np.full((48, 64, 3), 200 if topic == TOPICS[0] else 40, dtype=np.uint8)

    def begin(self) -> int:
        """Set the task for frames from the next one on."""

        def is_set() -> bool:
            self.show()
            return self.set_task(self.stamp_ns + 1)

        self.graph.wait(is_set, "frames to decide on")
        return self.stamp_ns

    def set_task(self, from_ns: int, task: str = TASK) -> bool:
        request = {"task": task, "from_stamp": time_of(from_ns)}
        return bool(self.graph.call(SetTask, "/vla/set_task", **request).success)

    def decision(self, after_ns: int, *, asked: bool = False) -> tuple[ActionChunk, ActionChunk]:
        """The first decision on a frame after a stamp, for the arm and for the scores.

        Args:
            after_ns: The stamp.
            asked: The policy has been asked already, so that no further frame is needed.
        """

        def both() -> list[ActionChunk]:
            if not asked:
                self.show()
            found = [
                next((chunk for chunk in inbox.messages if ns_of(chunk.header.stamp) > after_ns), None)
                for inbox in (self.actions, self.references)
            ]
            return [] if None in found else found

        distorted, raw = self.graph.wait(both, "a decision")
        return distorted, raw

    def counts(self) -> dict[str, int]:
        """What /diagnostics says of vla_node now."""
        for message in reversed(self.diagnostics.messages):
            for status in message.status:
                if status.name == "vla_node":
                    return {item.key: float(item.value) for item in status.values}
        return {}

    def until_counted(self, is_enough: Callable[[dict], bool]) -> None:
        self.graph.wait(lambda: is_enough(self.counts()), "the count on /diagnostics")
