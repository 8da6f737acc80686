"""Frames of arm and cameras on /tf and /tf_static; one that another node publishes too is left to it."""

from __future__ import annotations

import threading
from collections import deque
from functools import partial
from typing import Any, Final

import numpy as np
from geometry_msgs.msg import Quaternion, Transform, TransformStamped, Vector3
from numpy.typing import NDArray
from rclpy.clock import Clock, ClockType
from rclpy.node import Node
from rclpy.timer import Timer

from embodied_iqa.base.errors import MissingDependencyError
from embodied_iqa.base.kinematics.se3 import matrix_to_quaternion
from embodied_iqa.base.lazy import load
from embodied_iqa.live.ros.conversion import header_of, ns_of
from embodied_iqa.live.ros.qos import LATCHED, TRANSFORMS, TRANSFORMS_STATIC
from embodied_iqa.runs.graph.frame_parameters import FramePublishing

Array = NDArray[np.float64]

_INSTALL: Final = "sudo apt-get install ros-jazzy-tf2-msgs"
_QUIET_S: Final = 2.0
"""Time for the frames of others to arrive before ours are published."""
_REMEMBERED: Final = 4096
"""Sent transforms of a frame that are still known when they come back; more than wait in a queue."""


class FrameBroadcaster:
    """Publishes frames, each on one of the two topics, until another node is heard to publish it.

    Two parents of a frame, or two sources of one, make every listener jump between them: ours gives way, with
    one line. Methods may be called from any thread.

    Args:
        node: The node.
        publish: Whether frames are published; with ``auto`` not where tf2_msgs is missing.

    Raises:
        MissingDependencyError: ``on``, and tf2_msgs is not installed.
    """

    def __init__(self, node: Node, publish: FramePublishing) -> None:
        self._node = node
        self._lock = threading.Lock()
        self._fixed: dict[str, TransformStamped] = {}
        self._sent: dict[str, deque[tuple[object, ...]]] = {}
        self._parents: dict[str, str] = {}
        self._left: dict[str, str] = {}
        self._others: dict[str, tuple[str, str]] = {}
        self._is_quiet = True
        self._publish = publish
        self._state = "off"
        self._message: Any = None
        if publish is FramePublishing.OFF:
            return
        try:
            self._message = load("tf2_msgs.msg:TFMessage", _INSTALL)
        except MissingDependencyError as error:
            if publish is FramePublishing.ON:
                raise
            self._state = f"off: {error}"
            return
        self._state = "on"
        self._moving_publisher = node.create_publisher(self._message, "/tf", TRANSFORMS)
        self._fixed_publisher = node.create_publisher(self._message, "/tf_static", LATCHED)
        for topic, qos in (("/tf", TRANSFORMS), ("/tf_static", TRANSFORMS_STATIC)):
            node.create_subscription(self._message, topic, partial(self._hear, topic), qos)
        steady = Clock(clock_type=ClockType.STEADY_TIME)
        self._timer: Timer = node.create_timer(_QUIET_S, self._begin, clock=steady)

    @property
    def state(self) -> str:
        """What is published, for diagnostics."""
        return "off" if self._is_muted else "; ".join([self._state, *self._left.values()])

    @property
    def _is_muted(self) -> bool:
        return self._publish is FramePublishing.OFF

    def why_not(self, publish: FramePublishing) -> str:
        """Return why this cannot be set while the node runs: what was off at its start cannot come on."""
        if publish in {self._publish, FramePublishing.OFF} or self._message is not None:
            return ""
        return f"frames.publish {publish} holds from the start of the node, which has them {self._state}"

    def set(self, publish: FramePublishing) -> None:
        """Publish no more, or again."""
        with self._lock:
            self._publish = publish
            if self._message is not None:
                self._publish_fixed()

    def fix(self, parent: str, child: str, T_parent_child: Array) -> None:
        """Publish a transform ``(4, 4)`` (m) that never changes."""
        with self._lock:
            if self._message is None:
                return
            self._fixed[child] = self._remember(parent, child, T_parent_child, 0)
            self._claim(parent, child)
            self._publish_fixed()

    def send(self, parent: str, child: str, T_parent_child: Array, stamp_ns: int) -> None:
        """Publish a transform ``(4, 4)`` (m) of one time (ROS time, ns)."""
        with self._lock:
            if self._message is None or child in self._left:
                return
            sent = self._remember(parent, child, T_parent_child, stamp_ns)
            self._claim(parent, child)
            if not (self._is_quiet or self._is_muted or child in self._left):
                self._moving_publisher.publish(self._message(transforms=[sent]))

    def _begin(self) -> None:
        self._timer.cancel()
        with self._lock:
            self._is_quiet = False
            self._publish_fixed()

    def _publish_fixed(self) -> None:
        if not self._is_quiet and (self._fixed or self._left):
            fixed = [] if self._is_muted else [*self._fixed.values()]
            self._fixed_publisher.publish(self._message(transforms=fixed))

    def _remember(self, parent: str, child: str, T: Array, stamp_ns: int) -> TransformStamped:
        message = _to_msg(parent, child, T, stamp_ns)
        self._parents[child] = parent
        sent = self._sent.setdefault(child, deque(maxlen=_REMEMBERED))
        sent.appendleft(_values(message))  # the newest first: what comes back is found at once
        return message

    def _hear(self, topic: str, message: Any) -> None:
        """Note the frames of others, and give way where one of them is ours."""
        with self._lock:
            for heard in message.transforms:
                parent, child = heard.header.frame_id.lstrip("/"), heard.child_frame_id.lstrip("/")
                if child not in self._left and _values(heard) in self._sent.get(child, ()):
                    continue  # ours, which comes back
                self._others[child] = (parent, topic)
                for frame in (child, parent):
                    if frame in self._parents:
                        self._claim(self._parents[frame], frame)

    def _claim(self, parent: str, child: str) -> None:
        """Leave a frame to another node that publishes it, or its parent as its child."""
        if child in self._left:
            return
        for one, other in ((child, ""), (parent, child)):
            theirs, topic = self._others.get(one, ("", ""))
            if theirs and other in {"", theirs}:
                self._leave(child, f"{theirs} -> {one} on {topic}")
                return

    def _leave(self, child: str, what: str) -> None:
        self._left[child] = f"{child} is left to another node, which publishes {what}"
        self._node.get_logger().warning(f"{self._left[child]}; set frames.publish to off to say so")
        if self._fixed.pop(child, None) is not None:
            self._publish_fixed()


def _values(message: Any) -> tuple[object, ...]:
    moved, turned = message.transform.translation, message.transform.rotation
    numbers = (moved.x, moved.y, moved.z, turned.x, turned.y, turned.z, turned.w)
    return (message.header.frame_id.lstrip("/"), ns_of(message.header.stamp), *numbers)


def _to_msg(parent: str, child: str, T: Array, stamp_ns: int) -> TransformStamped:
    x, y, z = T[:3, 3].tolist()
    qx, qy, qz, qw = matrix_to_quaternion(T[:3, :3])
    moved = Transform(translation=Vector3(x=x, y=y, z=z), rotation=Quaternion(x=qx, y=qy, z=qz, w=qw))
    return TransformStamped(header=header_of(stamp_ns, parent), child_frame_id=child, transform=moved)
