"""camera_node with recordings of RealSense cameras: pixels, stamps, depth and camera poses on the topics."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from geometry_msgs.msg import PoseStamped
from sensor_msgs.msg import CameraInfo, Image

from embodied_iqa.base.kinematics import tool_along_z
from embodied_iqa.imaging.images.frame import Intrinsics, View
from embodied_iqa.imaging.images.image_cdr import image_from_cdr
from embodied_iqa.imaging.images.message_geometry import matrix_from_pose
from embodied_iqa.imaging.images.realsense import RealSenseCamera, RealSenseOptions
from embodied_iqa.live.ros.conversion import ns_of, pose_of, time_of
from embodied_iqa.live.ros.qos import IMAGE, STATE
from embodied_iqa.world.scenes.dimensions import CELL_VIEWS
from software_realsense import SoftwareRealSense

rs = pytest.importorskip("pyrealsense2", reason="needs requirements/hardware.txt")
RosGraph = pytest.importorskip("ros_graph").RosGraph

WIDTH, HEIGHT, RATE, COUNT = 160, 120, 30, 12
LENS = Intrinsics(WIDTH, HEIGHT, 150.0, 150.0, 79.5, 59.5)
TOP = np.array([[0, -1, 0, -0.8], [-1, 0, 0, 0.1], [0, 0, -1, 0.7], [0, 0, 0, 1.0]])
WRIST = np.array([[1, 0, 0, 0.0], [0, 1, 0, -0.08], [0, 0, 1, 0.05], [0, 0, 0, 1.0]])
T_BASE_TOOL = np.array([[1, 0, 0, -0.4], [0, -1, 0, 0.0], [0, 0, -1, 0.35], [0, 0, 0, 1.0]])


def colours(view: View, number: int) -> np.ndarray:
    rng = np.random.default_rng([CELL_VIEWS.index(view), number])
    return rng.integers(0, 256, (HEIGHT, WIDTH, 3), dtype=np.uint8)


def record(view: View, path: Path) -> None:
    source = SoftwareRealSense(str(view), LENS, RATE)
    recorder = rs.recorder(str(path), source.device)
    camera = RealSenseCamera(
        view,
        "",
        RealSenseOptions(WIDTH, HEIGHT, RATE),
        lambda _stamp: np.eye(4),
        lambda: 0,
        devices=lambda: [recorder],
    )
    for number in range(COUNT):
        depth = np.full((HEIGHT, WIDTH), 700, np.uint16)
        source.feed(colours(view, number), depth, number, number * 1e3 / RATE)
        assert camera.read(5.0) is not None
    camera.close()
    recorder = camera = None  # the library completes the file when the objects are released


@pytest.fixture(scope="module")
def graph(ros_domain: int, tmp_path_factory: pytest.TempPathFactory) -> Iterator[object]:
    folder = tmp_path_factory.mktemp("realsense")
    for view in (View.TOP, View.WRIST):
        record(view, folder / f"{view}.db3")
    overrides = {
        "arm_node.robot": "none",
        "camera_node.source": "realsense",
        "camera_node.path": str(folder),
        "camera_node.loop": True,
        "camera_node.rate_hz": float(RATE),
        "camera_node.realsense.depth": True,
        "camera_node.hand_eye.T_base_camera_top": TOP.ravel().tolist(),
        "camera_node.hand_eye.T_flange_camera_wrist": WRIST.ravel().tolist(),
    }
    with RosGraph(ros_domain, folder / "log", ["camera_node"], overrides) as running:
        yield running


def test_a_fixed_camera(graph: Any) -> None:
    images = graph.subscribe_raw(Image, "/camera/top/image_raw", IMAGE)
    depths = graph.subscribe(Image, "/camera/top/depth/image_raw", IMAGE)
    poses = graph.subscribe(PoseStamped, "/camera/top/pose", IMAGE)
    infos = graph.subscribe(CameraInfo, "/camera/top/camera_info", IMAGE)
    graph.wait(lambda: len(images) >= COUNT and len(depths) and len(poses) and len(infos), "images")
    known = {colours(View.TOP, number).tobytes() for number in range(COUNT)}
    received = [image_from_cdr(cdr) for cdr in images.messages]
    assert all(image.rgb.tobytes() in known for image in received)
    assert (np.diff([image.stamp_ns for image in received]) > 0).all()
    age_s = (graph.node.get_clock().now().nanoseconds - received[-1].stamp_ns) / 1e9
    assert -0.01 < age_s < 5.0
    assert np.allclose(matrix_from_pose(poses.last.pose), TOP)
    assert float(infos.last.k[0]) == pytest.approx(150.0)
    depth = np.frombuffer(depths.last.data, "<u2").reshape(HEIGHT, WIDTH)
    assert depths.last.encoding == "16UC1"
    assert np.median(depth) == 700


def test_the_wrist_camera_follows_the_tool(graph: Any) -> None:
    poses = graph.subscribe(PoseStamped, "/camera/wrist/pose", IMAGE)
    tool = graph.publisher(PoseStamped, "/arm/tool_pose", STATE)
    assert not len(poses)

    def moved() -> bool:
        pose = PoseStamped(pose=pose_of(T_BASE_TOOL))
        pose.header.stamp = time_of(graph.node.get_clock().now().nanoseconds)
        tool.publish(pose)
        return bool(len(poses))

    graph.wait(moved, "an image of the wrist camera")
    expected = T_BASE_TOOL @ np.linalg.inv(tool_along_z(0.2)) @ WRIST
    assert np.allclose(matrix_from_pose(poses.last.pose), expected)
    assert ns_of(poses.last.header.stamp) > 0
