"""Frames on /tf and /tf_static: what is published, what comes back, and what is left to others."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

from embodied_iqa.base.errors import MissingDependencyError, UsageError
from embodied_iqa.base.kinematics import tool_along_z
from embodied_iqa.base.kinematics.models import T_BASELINK_BASE
from embodied_iqa.imaging.images.frame import View
from embodied_iqa.imaging.images.message_geometry import matrix_from_pose
from embodied_iqa.live.cameras.camera_poses import fix_cameras
from embodied_iqa.live.ros.transforms import FrameBroadcaster
from embodied_iqa.runs.graph.arm_parameters import ArmDriver, ArmParameters, RobotKind
from embodied_iqa.runs.graph.camera_parameters import CameraParameters, HandEyeParameters
from embodied_iqa.runs.graph.camera_sources import CameraSource
from embodied_iqa.runs.graph.frame_parameters import FrameParameters, FramePublishing

TOP = np.array([[0, -1, 0, -0.8], [-1, 0, 0, 0.1], [0, 0, -1, 0.7], [0, 0, 0, 1.0]])
AUTO, ON, OFF = FramePublishing


class Message(SimpleNamespace):
    """TFMessage, whose package has no wheel: its one field is that of its definition."""

    transforms: list[Any]


class Bus:
    """Carries what is published to every subscription, as DDS does, also to the publisher's own."""

    def __init__(self) -> None:
        self.sent: list[tuple[str, Any]] = []
        self.takers: list[tuple[str, Callable[[Any], None]]] = []

    def publish(self, topic: str, message: Any) -> None:
        self.sent.append((topic, message))
        for heard, take in self.takers:
            if heard == topic:
                take(message)


class Node:
    """As much of a node as a broadcaster needs; the test decides when its timer fires."""

    def __init__(self, bus: Bus) -> None:
        self.bus, self.warnings, self._waiting = bus, list[str](), list[tuple[str, Any]]()
        self.begin: Callable[[], None] = lambda: None

    def get_logger(self) -> Any:
        return SimpleNamespace(warning=self.warnings.append)

    def create_publisher(self, _kind: Any, topic: str, _qos: Any) -> Any:
        return SimpleNamespace(publish=lambda message: self.bus.publish(topic, message))

    def create_subscription(self, _kind: Any, topic: str, take: Callable[[Any], None], _qos: Any) -> None:
        self.bus.takers.append((topic, lambda message: self._waiting.append((message, take))))

    def create_timer(self, _period: float, callback: Callable[[], None], **_more: Any) -> Any:
        self.begin = callback
        return SimpleNamespace(cancel=lambda: None)

    def spin(self) -> None:
        while self._waiting:
            message, take = self._waiting.pop(0)
            take(message)


@pytest.fixture
def bus(monkeypatch: pytest.MonkeyPatch) -> Bus:
    package, module = ModuleType("tf2_msgs"), ModuleType("tf2_msgs.msg")
    module.TFMessage = Message  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "tf2_msgs", package)
    monkeypatch.setitem(sys.modules, "tf2_msgs.msg", module)
    return Bus()


def broadcaster(bus: Bus, *, quiet: bool = False) -> tuple[Node, FrameBroadcaster]:
    node: Any = Node(bus)
    frames = FrameBroadcaster(node, AUTO)
    if not quiet:
        node.begin()
    return node, frames


def frames_of(message: Any) -> list[tuple[str, str]]:
    return [(one.header.frame_id, one.child_frame_id) for one in message.transforms]


def test_fixed_frames_are_latched_together_and_moving_ones_carry_their_time(bus: Bus) -> None:
    node, frames = broadcaster(bus)
    frames.fix("base_link", "base", T_BASELINK_BASE)
    frames.fix("base", "top_camera_optical_frame", TOP)
    frames.send("base", "tool0", tool_along_z(0.3), 5_000_000_007)
    node.spin()
    (fixed_topic, fixed), (topic, moving) = bus.sent[-2:]
    assert (fixed_topic, topic) == ("/tf_static", "/tf")
    assert frames_of(fixed) == [("base_link", "base"), ("base", "top_camera_optical_frame")]
    found = fixed.transforms[1].transform
    assert np.allclose(
        matrix_from_pose(SimpleNamespace(position=found.translation, orientation=found.rotation)), TOP
    )
    assert frames_of(moving) == [("base", "tool0")]
    stamp = moving.transforms[0].header.stamp
    assert (stamp.sec, stamp.nanosec, moving.transforms[0].transform.translation.z) == (5, 7, 0.3)
    assert (node.warnings, frames.state) == ([], "on"), "what comes back is our own"


def test_nothing_is_published_before_others_could_be_heard(bus: Bus) -> None:
    node, frames = broadcaster(bus, quiet=True)
    frames.fix("base_link", "base", T_BASELINK_BASE)
    frames.send("base", "tool0", TOP, 1)
    assert bus.sent == []
    node.begin()
    frames.send("base", "tool0", TOP, 2)
    assert [topic for topic, _message in bus.sent] == ["/tf_static", "/tf"]


@pytest.mark.parametrize("first", [True, False])
def test_frames_that_another_node_publishes_are_left_to_it(bus: Bus, *, first: bool) -> None:
    def publish_urdf() -> None:
        """As robot_state_publisher does."""
        theirs.fix("base_link", "base", TOP)
        theirs.fix("flange", "tool0", TOP)

    _, theirs = broadcaster(bus)
    node, frames = broadcaster(bus)
    if first:
        publish_urdf()
        node.spin()
    frames.fix("base_link", "base", T_BASELINK_BASE)
    frames.fix("tool0", "wrist_camera_optical_frame", TOP)
    frames.send("base", "tool0", TOP, 1)
    if not first:
        publish_urdf()
        node.spin()
    bus.sent.clear()
    frames.send("base", "tool0", TOP, 2)
    frames.fix("base", "top_camera_optical_frame", TOP)
    node.spin()
    (sent,) = bus.sent
    children = [child for _parent, child in frames_of(sent[1])]
    assert children == ["wrist_camera_optical_frame", "top_camera_optical_frame"]
    assert len(node.warnings) == 2, "one line for each frame"
    assert "tool0 is left to another node, which publishes flange -> tool0 on /tf_static" in frames.state


def test_the_same_two_frames_the_other_way_round_are_no_tree(bus: Bus) -> None:
    node, frames = broadcaster(bus)
    frames.fix("base_link", "base", T_BASELINK_BASE)
    _, theirs = broadcaster(bus)
    theirs.fix("base", "base_link", T_BASELINK_BASE)
    node.spin()
    assert frames_of(bus.sent[-1][1]) == []
    assert "base is left to another node, which publishes base -> base_link" in frames.state


def test_frames_above_and_below_ours_are_welcome(bus: Bus) -> None:
    node, frames = broadcaster(bus)
    frames.fix("base_link", "base", T_BASELINK_BASE)
    _, theirs = broadcaster(bus)
    theirs.fix("world", "base_link", TOP)
    theirs.send("tool0", "gripper", TOP, 3)
    frames.send("base", "tool0", TOP, 4)
    node.spin()
    assert (frames.state, node.warnings) == ("on", [])


def test_frames_can_be_switched_off_and_on_again_while_the_node_runs(bus: Bus) -> None:
    _, frames = broadcaster(bus)
    frames.fix("base_link", "base", T_BASELINK_BASE)
    assert frames.why_not(OFF) == ""
    frames.set(OFF)
    assert (frames_of(bus.sent[-1][1]), frames.state) == ([], "off"), "nobody who joins later gets them"
    bus.sent.clear()
    frames.send("base", "tool0", TOP, 1)
    assert bus.sent == []
    assert frames.why_not(ON) == ""
    frames.set(ON)
    frames.send("base", "tool0", TOP, 2)
    assert [frames_of(message) for _, message in bus.sent] == [[("base_link", "base")], [("base", "tool0")]]


def test_frames_that_were_off_at_the_start_cannot_come_on(bus: Bus) -> None:
    node: Any = Node(bus)
    frames = FrameBroadcaster(node, OFF)
    assert frames.why_not(OFF) == ""
    assert frames.why_not(ON) == "frames.publish on holds from the start of the node, which has them off"


def test_without_the_package_only_who_asks_for_frames_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tf2_msgs", None)
    node: Any = Node(Bus())
    frames = FrameBroadcaster(node, AUTO)
    frames.send("base", "tool0", TOP, 1)
    assert frames.state.startswith("off: tf2_msgs")
    assert FrameBroadcaster(node, OFF).state == "off"
    with pytest.raises(MissingDependencyError, match="sudo apt-get install ros-jazzy-tf2-msgs"):
        FrameBroadcaster(node, ON)


def test_cameras_are_placed_in_the_frame_that_their_calibration_names() -> None:
    hand_eye = HandEyeParameters(
        T_base_camera={View("top"): tuple(TOP.ravel())},
        T_flange_camera={View("wrist"): tuple(tool_along_z(0.1).ravel())},
    )
    config = CameraParameters(
        source=CameraSource.TOPIC,
        views=(View("top"), View("wrist"), View("side")),
        hand_eye=hand_eye,
        frames=FrameParameters(prefix="left_"),
    )
    placed: list[tuple[str, str]] = []
    views = fix_cameras(config, lambda parent, child, _T: placed.append((parent, child)))
    assert views == {"top", "wrist"}, "an unknown pose is published nowhere"
    assert placed == [
        ("left_base", "top_camera_optical_frame"),
        ("left_tool0", "wrist_camera_optical_frame"),
    ]


@pytest.mark.parametrize(
    ("source", "expected"),
    [(CameraSource.SIMULATED, []), (CameraSource.FILES, ["top"]), (CameraSource.BAG, ["top"])],
)
def test_a_calibration_places_no_camera_whose_images_come_with_a_pose(
    source: CameraSource, expected: list[str]
) -> None:
    hand_eye = HandEyeParameters(
        T_base_camera={View("top"): tuple(TOP.ravel())},
        T_flange_camera={View("wrist"): tuple(tool_along_z(0.1).ravel())},
    )
    config = CameraParameters(source=source, path="images", hand_eye=hand_eye)
    placed: list[str] = []
    views = fix_cameras(config, lambda _parent, child, _T: placed.append(child.partition("_")[0]))
    assert (sorted(views), placed) == (expected, expected)


def test_the_arm_beside_another_driver_has_its_frames_unless_they_are_asked_for() -> None:
    driven = {"robot": RobotKind.UR5, "driver": ArmDriver.ROS2_CONTROL}
    assert ArmParameters().arm_frames is AUTO
    assert ArmParameters(**driven).arm_frames is OFF
    assert ArmParameters(**driven, frames=FrameParameters(publish=ON)).arm_frames is ON


def test_names_of_joints_are_those_of_a_ur_with_a_prefix() -> None:
    arm = ArmParameters(frames=FrameParameters(prefix="left_"), gripper_joint="finger_joint")
    assert arm.all_joints[0] == "left_shoulder_pan_joint"
    assert arm.all_joints[-1] == "left_finger_joint"
    for wrong in (("a",) * 6, ("a", "b", "c", "d", "e"), ("a", "b", "c", "d", "e", "gripper")):
        with pytest.raises(UsageError, match="expected six names, from base to flange"):
            ArmParameters(joints=wrong)
    with pytest.raises(UsageError, match="prefix cannot begin a name"):
        FrameParameters(prefix="left/")
