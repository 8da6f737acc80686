"""Cameras with names of their user through the nodes: images, a pose of the parameters, leases."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
from embodied_iqa_msgs.msg import GateLease
from geometry_msgs.msg import PoseStamped
from rcl_interfaces.srv import GetParameters
from sensor_msgs.msg import Image

from embodied_iqa.imaging.images.codecs import write_image
from embodied_iqa.imaging.images.message_geometry import is_unknown_pose, matrix_from_pose
from embodied_iqa.live.ros.qos import IMAGE, STATE
from live_process import COMPLETION_S
from ros_graph import RosGraph

VIEWS = ("front", "left_wrist")
FRONT = np.array([[0, -1, 0, -0.8], [-1, 0, 0, 0.1], [0, 0, -1, 0.7], [0, 0, 0, 1.0]])
POSE = "hand_eye.T_base_camera_front"


def test_cameras_with_free_names_have_images_poses_and_leases(ros_domain: int, tmp_path: Path) -> None:
    for number, view in enumerate(VIEWS):
        (tmp_path / "images" / view).mkdir(parents=True)
        write_image(tmp_path / "images" / view / "0.png", np.full((48, 64, 3), 50 + number, np.uint8))
    overrides = {
        "arm_node.robot": "none",
        "camera_node.source": "files",
        "camera_node.path": str(tmp_path / "images"),
        "camera_node.rate_hz": 30.0,
        "camera_node.views": list(VIEWS),
        f"camera_node.{POSE}": FRONT.ravel().tolist(),
    }
    nodes = ["camera_node", "distortion_node", "gate_node"]
    with RosGraph(ros_domain, tmp_path / "log", nodes, overrides) as graph:
        images = {view: graph.subscribe_raw(Image, f"/distorted/{view}/image_raw", IMAGE) for view in VIEWS}
        poses = {view: graph.subscribe(PoseStamped, f"/camera/{view}/pose", IMAGE) for view in VIEWS}
        leases = graph.subscribe(GateLease, "/gate/lease", STATE)
        graph.activate("gate_node")
        graph.wait(lambda: all(map(len, (*images.values(), *poses.values()))), "images and poses")
        graph.wait(lambda: {lease.view for lease in leases.messages} == set(VIEWS), "leases of both cameras")
        assert np.allclose(matrix_from_pose(poses["front"].last.pose), FRONT)
        assert is_unknown_pose(poses["left_wrist"].last.pose)
        found = graph.call(GetParameters, "/camera_node/get_parameters", names=[POSE, "views"])
        assert np.allclose(found.values[0].double_array_value, FRONT.ravel())
        assert found.values[1].string_array_value == list(VIEWS)


def test_a_node_refuses_a_pose_of_a_camera_that_it_does_not_have(ros_domain: int, tmp_path: Path) -> None:
    file = tmp_path / "cell.yaml"
    settings = f"    views: [front]\n    hand_eye.T_base_camera_fornt: {FRONT.ravel().tolist()}\n"
    file.write_text(f"camera_node:\n  ros__parameters:\n{settings}")
    module = ["-m", "embodied_iqa.live.nodes.camera_node", "--ros-args", "--params-file", str(file)]
    environment = os.environ | {"ROS_DOMAIN_ID": str(ros_domain), "ROS_LOG_DIR": str(tmp_path)}
    ended = subprocess.run(
        [sys.executable, *module],
        check=False,
        capture_output=True,
        text=True,
        timeout=COMPLETION_S,
        env=environment,
    )
    assert ended.returncode == 2
    assert "hand_eye.T_base_camera_fornt is of no camera in views; available: front" in ended.stderr
