"""From fault to hold through the real graph: the gate or the cameras freeze while the arm moves.

python benchmarks/bench_hold.py --json build/bench_hold.json
python benchmarks/bench_hold.py --injections 20            # shorter

The nodes are the real ones; the arm is driven through the UR driver and the emulated controller in real time,
without lockstep: the world waits for nobody. Measured is the time from the signal that freezes a process to
the status that says HOLDING, as it arrives here.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import rclpy
from embodied_iqa_msgs.msg import ActionChunk, ArmStatus, GateLease
from embodied_iqa_msgs.srv import RearmArm, ResetWorld
from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
from rclpy.node import Node
from rich.console import Console
from rich.progress import track
from rich.table import Table
from std_srvs.srv import SetBool

from embodied_iqa.graph.node_table import GRAPH, resolve
from embodied_iqa.ros.calls import call
from embodied_iqa.ros.conversion import chunk_to_msg, ns_of
from embodied_iqa.ros.environment import prepare_environment
from embodied_iqa.ros.graph_processes import running_nodes
from embodied_iqa.ros.lifecycle import LifecycleManager
from embodied_iqa.ros.qos import EVENT, STATE
from embodied_iqa.subjects.protocols import ActionChunk as Chunk
from embodied_iqa.subjects.protocols import ChunkStatus

NODES = ("sim_node", "camera_node", "distortion_node", "gate_node", "arm_node")
TARGETS_MS = {"gate_node": 150.0, "camera_node": 250.0}
OVERRIDES = {
    "sim_node.lockstep": False,
    "sim_node.running": True,
    "camera_node.views": ["top"],
    "gate_node.judge.mode": "shadow",
    "distortion_node.preview_every": 0,
}
WAIT_S = 30.0
STEP_S = 0.1
LAST_STEP = 40
"""Of sixty; then a goal is nearly over."""


class Watch(Node):
    """Arms the arm, keeps it moving, and knows when it was told to hold."""

    def __init__(self) -> None:
        super().__init__("bench_hold")
        self.news = threading.Condition()
        self.status: ArmStatus | None = None
        self.arrived_s = 0.0
        self.lease: GateLease | None = None
        self.sequence = 0
        self.stops = 0
        group = ReentrantCallbackGroup()
        self.actions = self.create_publisher(ActionChunk, "/vla/actions", EVENT)
        self.create_subscription(ArmStatus, "/arm/status", self._take_status, EVENT, callback_group=group)
        self.create_subscription(GateLease, "/gate/lease", self._take_lease, STATE, callback_group=group)
        self.clients_of = {
            name: self.create_client(kind, name, callback_group=group)
            for kind, name in ((RearmArm, "/arm/rearm"), (ResetWorld, "/sim/reset"), (SetBool, "/sim/run"))
        }

    def _take_status(self, message: ArmStatus) -> None:
        with self.news:
            self.status, self.arrived_s = message, time.monotonic()
            self.news.notify_all()

    def _take_lease(self, message: GateLease) -> None:
        with self.news:
            if message.verdict == GateLease.VERDICT_PASS and message.view == "top":
                self.lease = message
            self.news.notify_all()

    def wait(self, is_so: Callable[[], bool], what: str) -> None:
        """Wait for news that make it so."""
        with self.news:
            if not self.news.wait_for(is_so, WAIT_S):
                raise SystemExit(f"not within {WAIT_S} s: {what}; the arm says {self.status}")

    def ask(self, name: str, request: Any) -> Any:
        """Call a service."""
        return call(self.clients_of[name], request, WAIT_S, again_s=2.0)

    def start(self) -> None:
        """Put the world back, arm, and let time run."""
        stamp = self.ask(
            "/sim/reset", ResetWorld.Request(scene_seed=7, instruction="pick the red cube")
        ).stamp
        until = time.monotonic() + WAIT_S
        request = RearmArm.Request(reason="benchmark", from_stamp=stamp)
        while not (answer := self.ask("/arm/rearm", request)).success:
            if time.monotonic() > until:
                raise SystemExit(f"not armed: {answer.message}")
        self.ask("/sim/run", SetBool.Request(data=True))
        self.wait(lambda: self.lease is not None and ns_of(self.lease.header.stamp) >= ns_of(stamp), "a PASS")

    def keep_moving(self) -> None:
        """Wait until the arm moves, and see that it will for a while."""
        until = time.monotonic() + WAIT_S
        while not self._moves() or (self.status is not None and self.status.step_index >= LAST_STEP):
            if time.monotonic() > until:
                raise SystemExit(f"it does not move; the arm says {self.status}")
            if self.status is not None and self.status.state == ArmStatus.STATE_STOPPED:
                self.stops += 1  # a busy machine: the arm has not heard of itself in time
                self.start()
            if self.status is None or not self.status.has_goal:
                self._send()  # again, too: a goal on a frame from before the arm stood still is refused
            with self.news:
                self.news.wait(STEP_S)

    def _moves(self) -> bool:
        status = self.status
        return bool(
            status is not None
            and status.state == ArmStatus.STATE_EXECUTING  # whichever goal: one sent twice is refused once
            and status.tool_speed > 0.02
        )

    def _send(self) -> None:
        self.lease = None
        self.wait(lambda: self.lease is not None, "a PASS")
        self.sequence += 1
        increments = np.zeros((60, 7))
        increments[0::2, 0], increments[1::2, 0] = 0.1, -0.1
        message = chunk_to_msg(Chunk(ChunkStatus.ACT, increments, "benchmark"))
        message.header, message.view = self.lease.header, self.lease.view
        message.sequence, message.task = self.sequence, "benchmark"
        self.actions.publish(message)


def inject(watch: Watch, pid: int, rng: np.random.Generator) -> float:
    """Freeze a process while the arm moves; return how long it took to hold, in ms."""
    watch.keep_moving()
    time.sleep(float(rng.uniform(0.0, 0.1)))
    watch.wait(watch._moves, "motion")  # noqa: SLF001 - this file's own class
    os.kill(pid, signal.SIGSTOP)
    frozen_s = time.monotonic()
    try:
        watch.wait(
            lambda: (
                watch.status is not None
                and watch.status.state == ArmStatus.STATE_HOLDING
                and watch.arrived_s > frozen_s
            ),
            "a hold",
        )
        return 1e3 * (watch.arrived_s - frozen_s)
    finally:
        os.kill(pid, signal.SIGCONT)


@contextmanager
def cell(folder: Path) -> Iterator[tuple[Watch, Any]]:
    entries = tuple(entry for entry in GRAPH if entry.name in NODES)
    with running_nodes(resolve((), OVERRIDES), entries, folder, "parameters.yaml") as processes:
        rclpy.init()
        watch = Watch()
        executor = SingleThreadedExecutor()
        executor.add_node(watch)
        thread = threading.Thread(target=_spin, args=(executor,), daemon=True)
        thread.start()
        try:
            LifecycleManager(watch, ("gate_node", "arm_node"), ReentrantCallbackGroup()).bring_up(60.0)
            watch.start()
            yield watch, processes
        finally:
            executor.shutdown(timeout_sec=2.0)
            rclpy.try_shutdown()
            thread.join(2.0)


def _spin(executor: SingleThreadedExecutor) -> None:
    try:
        executor.spin()
    except ExternalShutdownException:
        return


def measure(injections: int) -> dict[str, dict[str, float]]:
    rng, results = np.random.default_rng(0), {}
    with tempfile.TemporaryDirectory() as folder, cell(Path(folder)) as (watch, processes):
        for victim, target_ms in TARGETS_MS.items():
            rounds = track(range(injections), description=victim, console=Console(stderr=True))
            took_ms = [inject(watch, processes.pid(victim), rng) for _ in rounds]
            p50, p99 = np.percentile(took_ms, [50, 99])
            results[victim] = {
                "injections": float(injections),
                "p50 [ms]": p50,
                "p99 [ms]": p99,
                "longest [ms]": max(took_ms),
                "target p99 [ms]": target_ms,
                "armed again meanwhile": float(watch.stops),
            }
    return results


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--injections", type=int, default=100)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    prepare_environment()
    results = measure(arguments.injections)
    table = Table("frozen", *next(iter(results.values())))
    for victim, values in results.items():
        table.add_row(victim, *(f"{value:.0f}" for value in values.values()))
    Console().print(table)
    if arguments.json is not None:
        arguments.json.parent.mkdir(parents=True, exist_ok=True)
        arguments.json.write_text(json.dumps(results, indent=2), encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
