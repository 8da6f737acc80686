"""Images of a foreign best-effort camera that a node like the gate hears: what transports lose them.

python benchmarks/bench_lost_images.py --images 300 --json build/bench_lost_images.json

The camera is a process with plain rclpy, and with the environment of each row; the subscriber one with ours.
Run it on a busy machine: on an idle one, nothing is lost.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from machine_state import machine_state

from embodied_iqa.base.files import write_text_whole
from embodied_iqa.base.resources import shared_file
from embodied_iqa.live.ros.domain import own_domain

_LINUX_BYTES = 212_992
"""`net.core.rmem_max` of Linux by default."""
CAMERA = """
import array, os, sys, time
import rclpy
from rclpy.qos import QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import Image

count, width, height = map(int, sys.argv[1:])
rclpy.init()
node = rclpy.create_node("foreign_camera")
eye = node.create_publisher(Image, "/eye", QoSProfile(depth=5, reliability=ReliabilityPolicy.BEST_EFFORT))
while not eye.get_subscription_count():
    time.sleep(0.05)
time.sleep(1.0)
image = Image(height=height, width=width, encoding="rgb8", step=3 * width)
image.data = array.array("B", os.urandom(3 * width * height))
for _ in range(count):
    eye.publish(image)
    time.sleep(1 / 30)
time.sleep(1.0)
"""
SUBSCRIBER = """
import signal, sys
from embodied_iqa.live.ros.environment import prepare_environment
prepare_environment(sockets_only=sys.argv[1] == "sockets")
import rclpy
from rclpy.executors import ExternalShutdownException
from embodied_iqa.live.ros.qos import SENSOR
from sensor_msgs.msg import Image

rclpy.init()
node, heard = rclpy.create_node("subscriber"), []
node.create_subscription(Image, "/eye", lambda _: heard.append(1), SENSOR, raw=True)
print("ready", flush=True)
try:
    rclpy.spin(node)
except (KeyboardInterrupt, ExternalShutdownException):
    pass
print(len(heard), flush=True)
"""


def heard(size: tuple[int, int], images: int, camera: dict[str, str], *words: str, **ours: str) -> int:
    """Return how many images of a camera, with these variables, a subscriber receives."""
    with own_domain() as domain:
        environment = {**os.environ, "ROS_DOMAIN_ID": str(domain)}
        subscriber = subprocess.Popen(
            [sys.executable, "-c", SUBSCRIBER, *(words or ("ours",))],
            env=environment | ours,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert subscriber.stdout is not None  # noqa: S101 - it is piped
        subscriber.stdout.readline()
        program = [sys.executable, "-c", CAMERA, str(images), *map(str, size)]
        subprocess.run(program, env=environment | camera, check=True, timeout=300)
        subscriber.terminate()
        return int(subscriber.communicate(timeout=60)[0])


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--images", type=int, default=300)
    parser.add_argument("--size", type=int, nargs=2, default=(640, 480), metavar=("WIDTH", "HEIGHT"))
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    size, images = tuple(arguments.size), arguments.images
    profile = shared_file("config/fastdds_shared_memory.xml")
    loopback = shared_file("config/fastdds_loopback.xml").read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory() as folder:
        small = Path(folder) / "small.xml"
        small.write_text(re.sub(r"(<receiveBufferSize>)\d+", rf"\g<1>{_LINUX_BYTES}", loopback))
        both = "FASTRTPS_DEFAULT_PROFILES_FILE", "FASTDDS_DEFAULT_PROFILES_FILE"
        builtin = "FASTDDS_BUILTIN_TRANSPORTS"
        found = {
            "defaults": heard(size, images, {}),
            "camera: DEFAULT?sockets_size=4MB": heard(size, images, {builtin: "DEFAULT?sockets_size=4MB"}),
            "camera: our profile": heard(size, images, dict.fromkeys(both, str(profile))),
            "subscriber: sockets with 1 MB": heard(size, images, {}, "sockets"),
            "subscriber: sockets with 208 KB": heard(size, images, {}, **dict.fromkeys(both, str(small))),
        }
    text = json.dumps({"machine": machine_state(), "size": size, "images": images, "heard": found}, indent=2)
    print(text)
    if arguments.json:
        write_text_whole(arguments.json, text + "\n")


if __name__ == "__main__":
    main()
