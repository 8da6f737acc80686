"""A foreign best-effort camera beside `gate run`, a process each: from its publish call to the lease.

python benchmarks/bench_gate_lease.py --seconds 60 --json build/bench_gate_lease.json

The lease comes back to the process of the camera. Beside it, its peer: the same images on their way to a
subscription of that process, without a gate.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import threading
import time
from contextlib import ExitStack
from pathlib import Path
from time import monotonic

import cv2
import numpy as np
from bench_gate_proxy import textured
from beside_graph import spinning
from embodied_iqa_msgs.msg import GateLease
from gate_kill_parts import Started, command_of_gate
from machine_state import machine_state
from rclpy.context import Context
from rclpy.node import Node
from rclpy.qos import QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import Image

from embodied_iqa.base.files import write_text_whole
from embodied_iqa.imaging.images.frame import View
from embodied_iqa.imaging.images.image_cdr import stamp_from_cdr
from embodied_iqa.live.ros.conversion import header_of, ns_of
from embodied_iqa.live.ros.domain import own_domain
from embodied_iqa.live.ros.environment import prepare_environment
from embodied_iqa.live.ros.qos import STATE
from embodied_iqa.quality.gate.calibration import calibrate
from embodied_iqa.quality.gate.calibration_file import save_calibrations
from embodied_iqa.quality.gate.image_statistics import measure

_FOREIGN = QoSProfile(depth=5, reliability=ReliabilityPolicy.BEST_EFFORT)
_RATE_HZ, _CLEAN, _WAIT_S = 30.0, 20, 60.0
_SIZES = {"720p": (1280, 720), "vga": (640, 480), "224": (224, 224)}


class Camera(Node):
    """Publishes images, and notes when their leases, and the images themselves, arrive."""

    def __init__(self, context: Context) -> None:
        super().__init__("bench_camera", context=context)
        self.leases_ms: dict[int, float] = {}
        self.images_ms: dict[int, float] = {}
        self.not_passed = 0
        self._images = self.create_publisher(Image, "/eye", _FOREIGN)
        self.create_subscription(GateLease, "/gate/lease", self._take_lease, STATE)
        self.create_subscription(Image, "/eye", self._take_image, _FOREIGN, raw=True)

    def shoot(self, image: Image) -> int:
        """Publish an image; return its stamp."""
        stamp_ns = time.time_ns()
        image.header = header_of(stamp_ns, "lens")
        self._images.publish(image)
        return stamp_ns

    def _take_lease(self, lease: GateLease) -> None:
        stamp_ns = ns_of(lease.header.stamp)
        self.leases_ms[stamp_ns] = (time.time_ns() - stamp_ns) / 1e6
        self.not_passed += lease.verdict != GateLease.VERDICT_PASS

    def _take_image(self, cdr: bytes) -> None:
        stamp_ns = stamp_from_cdr(cdr)
        self.images_ms[stamp_ns] = (time.time_ns() - stamp_ns) / 1e6


def calibrated(folder: Path, size: tuple[int, int]) -> Path:
    """Return the file of a calibration on textured images of this size."""
    clean = [measure(image_of(seed, size)) for seed in range(_CLEAN)]
    save_calibrations([calibrate(View.TOP, clean, "texture")], folder / "gate.yaml")
    return folder / "gate.yaml"


def image_of(seed: int, size: tuple[int, int]) -> np.ndarray:
    """``(H, W, 3)`` uint8: coarse random texture."""
    image: np.ndarray = cv2.resize(textured(seed, 224), size, interpolation=cv2.INTER_CUBIC)
    return image


def measured(size: tuple[int, int], seconds: float) -> dict[str, object]:
    """Return the delays of the leases of one size of image."""
    with ExitStack() as opened:
        folder = Path(opened.enter_context(tempfile.TemporaryDirectory()))
        os.environ["ROS_DOMAIN_ID"] = str(opened.enter_context(own_domain()))
        opened.enter_context(Started(command_of_gate(calibrated(folder, size)), is_told=False))
        camera = opened.enter_context(spinning(Camera))
        data = image_of(0, size).tobytes()
        image = Image(width=size[0], height=size[1], encoding="rgb8", step=3 * size[0], data=data)
        pause, until_s = threading.Event(), monotonic() + _WAIT_S
        while not camera.leases_ms:
            if monotonic() > until_s:
                raise SystemExit(f"no lease within {_WAIT_S:g} s")
            camera.shoot(image)
            pause.wait(1.0 / _RATE_HZ)
        pause.wait(1.0)
        sent, began = [], monotonic()
        for number in range(round(seconds * _RATE_HZ)):
            pause.wait(max(0.0, began + number / _RATE_HZ - monotonic()))
            sent.append(camera.shoot(image))
        pause.wait(1.0)
        found = {
            "lease": summary(camera.leases_ms, sent),
            "image to ourselves": summary(camera.images_ms, sent),
        }
        return {**found, "not passed": camera.not_passed}


def summary(delays_ms: dict[int, float], sent: list[int]) -> dict[str, float]:
    """Return how many images have no arrival, and the delays of the others."""
    known = [delays_ms[stamp_ns] for stamp_ns in sent if stamp_ns in delays_ms]
    names = {"p50 [ms]": 50, "p99 [ms]": 99, "max [ms]": 100}
    values = {name: round(float(np.percentile(known, share)), 2) for name, share in names.items() if known}
    return {"images": len(sent), "without": len(sent) - len(known), **values}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=20.0, help="of each size of image")
    parser.add_argument("--size", choices=_SIZES, action="append", help="default: all")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    prepare_environment()
    results: dict[str, object] = {"machine": machine_state()}
    for name in arguments.size or _SIZES:
        results[name] = measured(_SIZES[name], arguments.seconds)
    text = json.dumps(results, indent=2)
    print(text)
    if arguments.json:
        write_text_whole(arguments.json, text + "\n")


if __name__ == "__main__":
    main()
