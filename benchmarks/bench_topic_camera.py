"""A foreign best-effort camera, 720p at 30 Hz: from its publish call to the image that camera_node publishes.

The image passes real Fast DDS twice. Beside it, its peer: the same message, heard by a subscription of this
process without camera_node.

python benchmarks/bench_topic_camera.py --seconds 60 --json build/bench_topic_camera.json
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
from rclpy.qos import QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import CameraInfo, Image

from embodied_iqa.imaging.images.image_cdr import stamp_from_cdr
from embodied_iqa.live.ros.conversion import header_of
from embodied_iqa.live.ros.environment import prepare_environment
from embodied_iqa.live.ros.qos import IMAGE, SENSOR

sys.path.insert(1, str(Path(__file__).resolve().parents[1] / "tests"))

RosGraph: Any = importlib.import_module("ros_graph").RosGraph

WIDTH, HEIGHT, RATE = 1280, 720, 30
FOREIGN = QoSProfile(depth=5, reliability=ReliabilityPolicy.BEST_EFFORT)
K = [910.0, 0.0, 640.0, 0.0, 911.0, 360.0, 0.0, 0.0, 1.0]
P = [*K[:3], 0.0, *K[3:6], 0.0, *K[6:], 0.0]
LENS = CameraInfo(
    width=WIDTH, height=HEIGHT, distortion_model="plumb_bob", d=[-0.05, 0.06, 0.001, -0.002, -0.02], k=K, p=P
)
KINDS = {"rgb8": 3, "bgr8": 3, "bayer_rggb8": 1, "yuyv": 2}


class Arrivals:
    """Times at which the images of one topic came, by stamp."""

    def __init__(self) -> None:
        self.delay_ms: dict[int, float] = {}

    def take(self, cdr: bytes) -> None:
        """Note the arrival of a message."""
        stamp_ns = stamp_from_cdr(cdr)
        self.delay_ms[stamp_ns] = (time.time_ns() - stamp_ns) / 1e6

    def summary(self, sent: list[int]) -> dict[str, float]:
        """Return how many of the images were lost, and the delays of the others."""
        delays = [self.delay_ms[stamp_ns] for stamp_ns in sent if stamp_ns in self.delay_ms]
        found = {"lost": float(len(sent) - len(delays))}
        if delays:
            names = {"p50 [ms]": 50, "p99 [ms]": 99, "max [ms]": 100}
            found |= {name: float(np.percentile(delays, share)) for name, share in names.items()}
        return found


def measure(encoding: str, seconds: float, *, rectify: bool) -> dict[str, dict[str, float]]:
    """Return delays and losses through camera_node, and of the peer."""
    overrides = {
        "arm_node.robot": "none",
        "camera_node.source": "topic",
        "camera_node.views": ["top"],
        "camera_node.topic.preset": "usb_cam",
        "camera_node.topic.rectify": rectify,
    }
    step, data = WIDTH * KINDS[encoding], os.urandom(WIDTH * HEIGHT * KINDS[encoding])
    domain = 60 + os.getpid() % 40
    with (
        tempfile.TemporaryDirectory() as name,
        RosGraph(domain, Path(name), ["camera_node"], overrides) as graph,
    ):
        through, peer = Arrivals(), Arrivals()
        graph.node.create_subscription(Image, "/camera/top/image_raw", through.take, IMAGE, raw=True)
        graph.node.create_subscription(Image, "/top/image_raw", peer.take, SENSOR, raw=True)
        infos = graph.publisher(CameraInfo, "/top/camera_info", FOREIGN)
        images = graph.publisher(Image, "/top/image_raw", FOREIGN, listeners=2)
        image = Image(width=WIDTH, height=HEIGHT, encoding=encoding, step=step, data=data)
        sent: list[int] = []

        def shoot() -> int:
            stamp_ns = time.time_ns()
            LENS.header = image.header = header_of(stamp_ns, "lens")
            infos.publish(LENS)
            images.publish(image)
            return stamp_ns

        graph.wait(lambda: shoot() and through.delay_ms, "the first image")
        began, pause = time.monotonic(), threading.Event()
        for number in range(round(seconds * RATE)):
            pause.wait(max(0.0, began + number / RATE - time.monotonic()))
            sent.append(shoot())
        pause.wait(1.0)
        return {"camera_node": through.summary(sent), "peer": peer.summary(sent)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=20.0, help="of each kind of image")
    parser.add_argument("--encoding", choices=KINDS, action="append", help="default: all")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    prepare_environment()
    results: dict[str, dict[str, dict[str, float]]] = {}
    print(f"foreign best-effort camera, {WIDTH}x{HEIGHT} at {RATE} Hz, {arguments.seconds:g} s each")
    cases = [(encoding, rectify) for encoding in arguments.encoding or KINDS for rectify in (False, True)]
    for encoding, rectify in cases:
        name = f"{encoding}{', rectified' if rectify else ''}"
        results[name] = measure(encoding, arguments.seconds, rectify=rectify)
        for who, numbers in results[name].items():
            print(
                f"  {name:<24}{who:<14}" + "  ".join(f"{key} {value:.1f}" for key, value in numbers.items())
            )
    if arguments.json:
        arguments.json.parent.mkdir(parents=True, exist_ok=True)
        arguments.json.write_text(json.dumps(results, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
