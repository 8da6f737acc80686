"""camera_node hears a best-effort camera of somebody else's node: 720p, with its lens and its depth."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import PoseStamped
from rclpy.qos import QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import CameraInfo, Image

from embodied_iqa.imaging.images.image_cdr import image_from_cdr
from embodied_iqa.imaging.images.message_geometry import is_unknown_pose, matrix_from_pose
from embodied_iqa.live.ros.conversion import header_of
from embodied_iqa.live.ros.qos import EVENT, IMAGE
from ros_graph import RosGraph

FOREIGN = QoSProfile(depth=5, reliability=ReliabilityPolicy.BEST_EFFORT)
WIDTH, HEIGHT, PERIOD_S = 1280, 720, 1 / 30
BGR = np.random.default_rng(1).integers(0, 256, (HEIGHT, WIDTH, 3), dtype=np.uint8)
D = [-0.05, 0.06, 0.001, -0.002, -0.02]
K = [910.0, 0.0, 640.0, 0.0, 911.0, 360.0, 0.0, 0.0, 1.0]
P = [900.0, 0.0, 639.0, 0.0, 0.0, 901.0, 361.0, 0.0, 0.0, 0.0, 1.0, 0.0]
EYE = [1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0]
TOP = np.array([[0, -1, 0, -0.8], [-1, 0, 0, 0.1], [0, 0, -1, 0.7], [0, 0, 0, 1.0]])


def foreign_messages(stamp_ns: int) -> tuple[Image, CameraInfo, Image]:
    header = header_of(stamp_ns, "camera_color_optical_frame")
    size = {"width": WIDTH, "height": HEIGHT}
    image = Image(header=header, encoding="bgr8", step=3 * WIDTH, data=BGR.tobytes(), **size)
    info = CameraInfo(header=header, distortion_model="plumb_bob", d=D, k=K, r=EYE, p=P, **size)
    metres = np.full((HEIGHT, WIDTH), 0.7, "<f4").tobytes()
    return image, info, Image(header=header, encoding="32FC1", step=4 * WIDTH, data=metres, **size)


def test_a_foreign_best_effort_camera_is_heard(ros_domain: int, tmp_path: Path) -> None:
    overrides = {
        "arm_node.robot": "none",
        "camera_node.source": "topic",
        "camera_node.views": ["top", "side"],
        "camera_node.topic.preset": "usb_cam",
        "camera_node.topic.depth": True,
        "camera_node.topic.depth_image": "/{view}/depth",
        "camera_node.hand_eye.T_base_camera_top": TOP.ravel().tolist(),
    }
    with RosGraph(ros_domain, tmp_path, ["camera_node"], overrides) as graph:
        inboxes: dict[str, Any] = {
            view: (
                graph.subscribe_raw(Image, f"/camera/{view}/image_raw", IMAGE),
                graph.subscribe(CameraInfo, f"/camera/{view}/camera_info", IMAGE),
                graph.subscribe(PoseStamped, f"/camera/{view}/pose", IMAGE),
                graph.subscribe(Image, f"/camera/{view}/depth/image_raw", IMAGE),
            )
            for view in ("top", "side")
        }
        reports = graph.subscribe(DiagnosticArray, "/diagnostics", EVENT)
        topics = ((Image, "image_raw"), (CameraInfo, "camera_info"), (Image, "depth"))
        cameras = {
            view: [graph.publisher(kind, f"/{view}/{name}", FOREIGN) for kind, name in topics]
            for view in ("top", "side")
        }

        def shoot() -> None:
            messages = foreign_messages(graph.node.get_clock().now().nanoseconds)
            for publishers in cameras.values():
                for publisher, message in zip(publishers, messages, strict=True):
                    publisher.publish(message)

        def all_came() -> bool:
            seen = [len(inbox) >= 3 for of_view in inboxes.values() for inbox in of_view]
            return all(seen) and all(infos.last.k[0] > 0.0 for _images, infos, *_ in inboxes.values())

        graph.node.create_timer(PERIOD_S, shoot)
        graph.wait(all_came, "images of both cameras")
        for images, infos, _poses, depths in inboxes.values():
            image = image_from_cdr(images.last)
            assert np.array_equal(image.rgb, BGR[:, :, ::-1])
            assert list(infos.last.d) == D
            assert (list(infos.last.k), list(infos.last.p)) == (K, P)
            assert depths.last.encoding == "16UC1"
            assert np.unique(np.frombuffer(depths.last.data, "<u2")).tolist() == [700]
        assert np.allclose(matrix_from_pose(inboxes["top"][2].last.pose), TOP)
        assert is_unknown_pose(inboxes["side"][2].last.pose), "no calibration is given"

        def counted() -> dict[str, str]:
            statuses = [status for report in reports.messages for status in report.status]
            values = [{v.key: v.value for v in s.values} for s in statuses if s.name == "camera_node"]
            return next((found for found in reversed(values) if found["top images"] != "0"), {})

        counts = graph.wait(counted, "diagnostics")
        assert {f"{view} {name}" for view in cameras for name in ("lost", "overtaken", "stamp_zero")} <= set(
            counts
        )
        assert counts["top damaged"] == counts["side stamp_backwards"] == "0"
