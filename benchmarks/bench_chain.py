"""Camera -> distortion (pass-through) -> gate -> consumer, four processes: lost images and latency.

python benchmarks/bench_chain.py --json build/bench_chain.json
python benchmarks/bench_chain.py --frames 150            # shorter

The nodes are the real ones. The peer, in the same run, are two bare rclpy relays in their place: what four
processes cost without any work.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import rclpy
from embodied_iqa_msgs.msg import GateLease, ImageQuality
from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
from rclpy.node import Node
from rich.console import Console
from rich.table import Table
from sensor_msgs.msg import Image

from embodied_iqa.base.files import write_text_whole
from embodied_iqa.imaging.images.image_cdr import image_to_cdr, stamp_from_cdr
from embodied_iqa.live.ros.conversion import ns_of, time_of
from embodied_iqa.live.ros.environment import prepare_environment
from embodied_iqa.live.ros.lifecycle import LifecycleManager
from embodied_iqa.live.ros.qos import IMAGE, STATE
from embodied_iqa.runs.graph.graph_nodes import GRAPH, command_of
from embodied_iqa.runs.graph.node_table import nodes_with, resolve, write_parameters
from embodied_iqa.runs.graph.processes import ProcessGroup, ProcessSpec

SIZE_PX = (1280, 720)
RATE_HZ = 30.0
WARM_UP = 30
START_S = 60.0
RAW, DISTORTED = "/camera/top/image_raw", "/distorted/top/image_raw"


@dataclass
class Arrivals:
    """When what came, by the image's stamp; all times are system time in ns."""

    images: dict[int, int] = field(default_factory=dict)
    leases: dict[int, int] = field(default_factory=dict)
    gate_ms: dict[int, float] = field(default_factory=dict)


# --- roles: each runs in a process of its own ---------------------------------------------------------------


def camera(frames: int) -> None:
    """Publish images once somebody says go; print their stamps at the end."""
    rclpy.init()
    node = Node("bench_camera")
    publisher = node.create_publisher(Image, RAW, IMAGE)
    rows, columns = np.mgrid[0 : SIZE_PX[1], 0 : SIZE_PX[0]]
    scene = np.stack([rows % 256, columns % 256, (rows + columns) % 256], axis=-1).astype(np.uint8)
    images = [np.ascontiguousarray(np.roll(scene, shift, axis=1)) for shift in range(4)]
    sys.stdin.readline()
    stamps, period_s = [], 1.0 / RATE_HZ
    due = time.monotonic()
    for index in range(WARM_UP + frames):
        due += period_s
        time.sleep(max(0.0, due - time.monotonic()))
        stamps.append(time.time_ns())
        publisher.publish(image_to_cdr(images[index % 4], stamps[-1], "top"))
    print(json.dumps(stamps), flush=True)
    sys.stdin.readline()
    rclpy.shutdown()


def relay(source: str, target: str) -> None:
    """Pass images on untouched; `lease` as the target: only their stamps."""
    rclpy.init()
    node = Node("bench_relay")
    if target == "lease":
        leases = node.create_publisher(GateLease, "/gate/lease", STATE)

        def take(cdr: Any) -> None:
            lease = GateLease(view="top")
            lease.header.stamp = time_of(stamp_from_cdr(cdr))
            leases.publish(lease)
    else:
        images = node.create_publisher(Image, target, IMAGE)

        def take(cdr: Any) -> None:
            images.publish(cdr)

    node.create_subscription(Image, source, take, IMAGE, raw=True)
    try:
        rclpy.spin(node)
    except (KeyboardInterrupt, ExternalShutdownException):
        return


# --- the run ------------------------------------------------------------------------------------------------


def _role(*words: str) -> list[str]:
    return [sys.executable, __file__, "--role", *words]


@contextmanager
def _processes(commands: dict[str, list[str]], folder: Path) -> Iterator[Any]:

    specs = tuple(ProcessSpec(name, tuple(words)) for name, words in commands.items())
    with ProcessGroup(specs, folder, os.environ) as group:
        yield group


def _nodes(folder: Path) -> dict[str, list[str]]:

    overrides: dict[str, Any] = {"arm_node.robot": "none", "camera_node.source": "files"}
    overrides |= {f"{name}.views": ["top"] for name in nodes_with("views")}
    write_parameters(resolve((), overrides), folder / "parameters.yaml")
    chosen = [entry for entry in GRAPH if entry.name in {"distortion_node", "gate_node"}]
    return {entry.name: command_of(entry, folder / "parameters.yaml") for entry in chosen}


def _wait(true: Callable[[], bool], what: str, spin: Callable[[], None]) -> None:
    until = time.monotonic() + START_S
    while not true():
        if time.monotonic() > until:
            raise TimeoutError(what)
        spin()


def measure(frames: int, commands: dict[str, list[str]], folder: Path, *, gated: bool) -> dict[str, float]:
    """Run the chain once and return what was lost and how long it took [ms]."""
    arrived = Arrivals()
    rclpy.init()
    node = Node("bench_consumer")
    executor = SingleThreadedExecutor()
    executor.add_node(node)

    def image(cdr: bytes) -> None:
        arrived.images[stamp_from_cdr(cdr)] = time.time_ns()

    def lease(message: Any) -> None:
        arrived.leases[ns_of(message.header.stamp)] = time.time_ns()

    def quality(message: Any) -> None:
        arrived.gate_ms[ns_of(message.header.stamp)] = message.latency_ms

    node.create_subscription(Image, DISTORTED, image, IMAGE, raw=True)
    node.create_subscription(GateLease, "/gate/lease", lease, STATE)
    node.create_subscription(ImageQuality, "/gate/quality", quality, STATE)

    def spin() -> None:
        executor.spin_once(timeout_sec=0.05)

    try:
        with _processes(commands, folder) as group:
            _connect(node, spin, gated=gated)
            stamps = _shoot(frames, arrived, spin)
            group.check()
    finally:
        executor.shutdown()
        node.destroy_node()
        rclpy.shutdown()
    return _numbers(stamps[WARM_UP:], arrived, gated=gated)


def _connect(node: Any, spin: Callable[[], None], *, gated: bool) -> None:
    """Wait until the chain stands, the gate active."""
    if gated:
        manager = LifecycleManager(node, ["gate_node"], ReentrantCallbackGroup())
        thread = threading.Thread(target=manager.bring_up, args=(START_S,))
        thread.start()
        _wait(lambda: not thread.is_alive(), "an active gate", spin)
    _wait(
        lambda: node.count_subscribers(RAW) >= 1 and node.count_subscribers(DISTORTED) >= 2,
        "the chain",
        spin,
    )


def _shoot(frames: int, arrived: Arrivals, spin: Callable[[], None]) -> list[int]:
    """Let the camera publish; return the stamps of all its images."""
    words = _role("camera", str(frames))
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        until = time.monotonic() + 3.0  # what the camera needs to start and to be discovered
        while time.monotonic() < until:
            spin()
        stdin, stdout = process.stdin, process.stdout
        if stdin is None or stdout is None:
            raise RuntimeError("the camera has no pipes")
        stdin.write("go\n")
        stdin.flush()
        until = time.monotonic() + (WARM_UP + frames) / RATE_HZ + 1.0
        while time.monotonic() < until:
            spin()
        stamps: list[int] = json.loads(stdout.readline())
        until = time.monotonic() + 2.0
        while time.monotonic() < until and not set(stamps[WARM_UP:]) <= set(arrived.leases):
            spin()
        stdin.write("end\n")
        stdin.flush()
    return stamps


def _numbers(stamps: list[int], arrived: Arrivals, *, gated: bool) -> dict[str, float]:
    def spread(values: list[float], name: str) -> dict[str, float]:
        p50, p99 = np.percentile(values, [50, 99])
        return {f"{name} p50": float(p50), f"{name} p99": float(p99)}

    whole = {stamp: (arrived.leases[stamp] - stamp) / 1e6 for stamp in stamps if stamp in arrived.leases}
    images = [(arrived.images[stamp] - stamp) / 1e6 for stamp in stamps if stamp in arrived.images]
    result: dict[str, float] = {
        "images": len(stamps),
        "lost images": len(stamps) - len(images),
        "lost leases": len(stamps) - len(whole),
    }
    result |= spread(images, "image") | spread(list(whole.values()), "lease")
    if gated:
        work = {stamp: arrived.gate_ms[stamp] for stamp in whole if stamp in arrived.gate_ms}
        result |= spread(list(work.values()), "gate's work")
        result |= spread([whole[stamp] - work[stamp] for stamp in work], "beyond gate's work")
    return result


def _show(results: dict[str, dict[str, float]]) -> None:
    table = Table("", *results, title=f"{SIZE_PX[0]}x{SIZE_PX[1]} rgb8 at {RATE_HZ:g} Hz, 4 processes [ms]")
    for name in dict.fromkeys(name for row in results.values() for name in row):
        cells = [row.get(name) for row in results.values()]
        table.add_row(
            name, *("" if c is None else f"{c:.1f}" if isinstance(c, float) else str(c) for c in cells)
        )
    Console(width=110).print(table)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--frames", type=int, default=900)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--role", nargs="+", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    prepare_environment()
    if arguments.role:
        kind, *words = arguments.role
        camera(int(words[0])) if kind == "camera" else relay(*words)
        return
    os.environ["ROS_DOMAIN_ID"] = str(random.SystemRandom().randint(1, 100))
    load = os.getloadavg()[0]
    with tempfile.TemporaryDirectory() as folder:
        bare = {"one": _role("relay", RAW, DISTORTED), "two": _role("relay", DISTORTED, "lease")}
        results = {
            "bare relays": measure(arguments.frames, bare, Path(folder), gated=False),
            "the nodes": measure(arguments.frames, _nodes(Path(folder)), Path(folder), gated=True),
        }
    _show(results)
    print(f"load before: {load:.1f} on {os.cpu_count()} cores")
    if arguments.json:
        tree = results | {"load_before": load, "cores": os.cpu_count()}
        write_text_whole(arguments.json, json.dumps(tree, indent=2) + "\n")


if __name__ == "__main__":
    main()
