"""A foreign best-effort camera, 720p at 30 Hz: from its publish call to camera_node's image, or to the lease.

The image passes real Fast DDS twice. Beside it, its peer: the same message, heard by a subscription of this
process without camera_node and decoded as there. The lease passes camera_node, distortion_node and gate_node;
the goal is 25 ms at the 99th percentile and no image without a lease. The load of the machine is printed.

python benchmarks/bench_topic_camera.py --seconds 60 --json build/bench_topic_camera.json
python benchmarks/bench_topic_camera.py --lease --encoding rgb8 --seconds 60 --json build/bench_lease.json
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
from embodied_iqa_msgs.msg import GateLease
from rclpy.qos import QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import CameraInfo, Image

from embodied_iqa.base.files import write_text_whole
from embodied_iqa.imaging.images.encodings import RawImage, rgb_of
from embodied_iqa.imaging.images.image_cdr import stamp_from_cdr
from embodied_iqa.live.ros.conversion import header_of, ns_of
from embodied_iqa.live.ros.environment import prepare_environment
from embodied_iqa.live.ros.qos import IMAGE, SENSOR, STATE

sys.path.insert(1, str(Path(__file__).resolve().parents[1] / "tests"))

RosGraph: Any = importlib.import_module("ros_graph").RosGraph

WIDTH, HEIGHT, RATE = 1280, 720, 30
FOREIGN = QoSProfile(depth=5, reliability=ReliabilityPolicy.BEST_EFFORT)
K = [910.0, 0.0, 640.0, 0.0, 911.0, 360.0, 0.0, 0.0, 1.0]
P = [*K[:3], 0.0, *K[3:6], 0.0, *K[6:], 0.0]
LENS = CameraInfo(
    width=WIDTH, height=HEIGHT, distortion_model="plumb_bob", d=[-0.05, 0.06, 0.001, -0.002, -0.02], k=K, p=P
)
CHAIN = ["camera_node", "distortion_node", "gate_node"]
KINDS = {"rgb8": 3, "bgr8": 3, "bayer_rggb8": 1, "yuyv": 2}


class Arrivals:
    """Times at which the images of one topic came, by stamp."""

    def __init__(self) -> None:
        self.delay_ms: dict[int, float] = {}

    def take(self, cdr: bytes) -> None:
        """Note the arrival of a message."""
        self.note(stamp_from_cdr(cdr))

    def note(self, stamp_ns: int) -> None:
        """Note what was asked for of an image, at its first arrival."""
        self.delay_ms.setdefault(stamp_ns, (time.time_ns() - stamp_ns) / 1e6)

    def take_lease(self, lease: GateLease) -> None:
        """Note the arrival of a lease."""
        self.note(ns_of(lease.header.stamp))

    def take_decoded(self, image: Image) -> None:
        """Note a message that is an array now, as in a node of a few lines."""
        data, is_bigendian = memoryview(image.data), bool(image.is_bigendian)
        size = image.width, image.height
        rgb_of(RawImage(*size, image.encoding, is_bigendian, image.step, data, data.nbytes))
        self.note(ns_of(image.header.stamp))

    def summary(self, sent: list[int]) -> dict[str, float]:
        """Return how many of the images were lost, and the delays of the others."""
        delays = [self.delay_ms[stamp_ns] for stamp_ns in sent if stamp_ns in self.delay_ms]
        found = {"lost": float(len(sent) - len(delays))}
        if delays:
            names = {"p50 [ms]": 50, "p99 [ms]": 99, "max [ms]": 100}
            found |= {name: float(np.percentile(delays, share)) for name, share in names.items()}
        return found


def measure(encoding: str, seconds: float, *, rectify: bool, to_lease: bool) -> dict[str, dict[str, float]]:
    """Return delays and losses through camera_node or to the lease, and of the peer."""
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
        RosGraph(domain, Path(name), CHAIN if to_lease else CHAIN[:1], overrides) as graph,
    ):
        through, peer = Arrivals(), Arrivals()
        if to_lease:
            graph.activate("gate_node")
            graph.node.create_subscription(GateLease, "/gate/lease", through.take_lease, STATE)
        else:
            graph.node.create_subscription(Image, "/camera/top/image_raw", through.take, IMAGE, raw=True)
        graph.node.create_subscription(Image, "/top/image_raw", peer.take_decoded, SENSOR)
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
        return {"lease" if to_lease else "camera_node": through.summary(sent), "peer": peer.summary(sent)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=20.0, help="of each kind of image")
    parser.add_argument("--encoding", choices=KINDS, action="append", help="default: all")
    parser.add_argument("--lease", action="store_true", help="to the lease of gate_node")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    prepare_environment()
    results: dict[str, dict[str, dict[str, float]]] = {}
    began_load = os.getloadavg()[0]
    print(f"foreign best-effort camera, {WIDTH}x{HEIGHT} at {RATE} Hz, {arguments.seconds:g} s each")
    cases = [(encoding, rectify) for encoding in arguments.encoding or KINDS for rectify in (False, True)]
    for encoding, rectify in cases:
        name = f"{encoding}{', rectified' if rectify else ''}"
        results[name] = measure(encoding, arguments.seconds, rectify=rectify, to_lease=arguments.lease)
        for who, numbers in results[name].items():
            print(
                f"  {name:<24}{who:<14}" + "  ".join(f"{key} {value:.1f}" for key, value in numbers.items())
            )
        ours, peer = results[name].values()
        if ours.get("p99 [ms]") and peer.get("p99 [ms]"):
            ours["p99 / peer"] = ours["p99 [ms]"] / peer["p99 [ms]"]
            print(f"  {'':<24}{'p99 beside the peer':<20}{ours['p99 / peer']:.1f}")
    load = {"before": began_load, "after": os.getloadavg()[0], "processors": float(os.cpu_count() or 1)}
    print(f"load average {load['before']:.1f} to {load['after']:.1f} on {load['processors']:.0f} processors")
    results["machine"] = {"load": load}
    if arguments.json:
        write_text_whole(arguments.json, json.dumps(results, indent=2) + "\n")


if __name__ == "__main__":
    main()
