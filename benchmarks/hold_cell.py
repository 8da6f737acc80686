"""The real graph with an arm in motion, and three clocks on it: for `bench_hold.py`."""

from __future__ import annotations

import os
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import rclpy
from embodied_iqa_msgs.msg import ActionChunk, ArmStatus, GateLease
from embodied_iqa_msgs.srv import RearmArm, ResetWorld
from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
from rclpy.node import Node
from rtde_receive import RTDEReceiveInterface
from std_srvs.srv import SetBool

from embodied_iqa.arm.emulator.registers import WORLD_TIME_REGISTER
from embodied_iqa.base.errors import UserError
from embodied_iqa.live.ros.calls import call
from embodied_iqa.live.ros.conversion import chunk_to_msg, ns_of
from embodied_iqa.live.ros.environment import use_sockets_only
from embodied_iqa.live.ros.graph_processes import running_nodes
from embodied_iqa.live.ros.lifecycle import LifecycleManager
from embodied_iqa.live.ros.qos import EVENT, STATE
from embodied_iqa.runs.graph.graph_nodes import GRAPH
from embodied_iqa.runs.graph.node_table import nodes_of, resolve
from embodied_iqa.runs.graph.processes import ProcessGroup
from embodied_iqa.world.protocols import ActionChunk as Chunk
from embodied_iqa.world.protocols import ChunkStatus

NODES = ("sim_node", "camera_node", "distortion_node", "gate_node", "arm_node")
MANAGED = ("gate_node", "arm_node")
OBSERVERS = ("vlm_node", "vla_node")
"""Managed nodes that a whole graph has in addition."""
OVERRIDES = {
    "sim_node.lockstep": False,
    "sim_node.running": True,
    "camera_node.views": ["top"],
    "gate_node.judge.mode": "shadow",
    "distortion_node.preview_every": 0,
}
WAIT_S = 30.0
_START_S = 180.0
"""Seven processes import their libraries beside busy ones."""
_POLL_S = 0.1
_LAST_STEP = 40
"""Of sixty; then a goal is nearly over."""
_MOVING_MPS = 0.02
_RECENT_S, _ACCEPTED_S = 0.3, 1.5
_STILL_RADPS = 1e-3
_STILL_S = 0.1
"""The arm reverses on its way: a shorter standstill is none."""


class MissedError(Exception):
    """What was waited for did not happen in time."""


@dataclass(frozen=True, slots=True)
class Sample:
    """A state of the robot, as its controller sends it.

    Attributes:
        wall_s: Arrival, this machine's monotonic clock.
        ros_s: ROS time, which is the time of the simulated world.
        speed_radps: Commanded speed of the fastest joint.
    """

    wall_s: float
    ros_s: float
    speed_radps: float


class RobotWatch:
    """Reads the commanded speed at the robot's protocol, beside the driver.

    Args:
        ip: Address of the controller.
    """

    def __init__(self, ip: str) -> None:
        names = ["timestamp", "target_qd", f"output_double_register_{WORLD_TIME_REGISTER}"]
        self._receive: Any = RTDEReceiveInterface(ip, 125.0, names)
        self._samples: deque[Sample] = deque(maxlen=4000)
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    @property
    def last(self) -> Sample:
        """The newest state."""
        return self._samples[-1]

    def close(self) -> None:
        """Stop reading."""
        self._ending.set()
        self._thread.join(2.0)

    def standstill(self, since_wall_s: float) -> Sample | None:
        """Return the first state after a moment from which on the arm is commanded to stand."""
        first: Sample | None = None
        for sample in tuple(self._samples):
            if sample.wall_s <= since_wall_s:
                continue
            if sample.speed_radps > _STILL_RADPS:
                first = None
            elif first is None:
                first = sample
            elif sample.ros_s - first.ros_s >= _STILL_S:
                return first
        return None

    def _read(self) -> None:
        seen_s = -1.0
        while not self._ending.wait(0.001):
            stamp_s = self._receive.getTimestamp()
            if stamp_s == seen_s:
                continue
            seen_s = stamp_s
            speed = float(np.abs(self._receive.getTargetQd()).max())
            ros_s = self._receive.getOutputDoubleRegister(WORLD_TIME_REGISTER)
            self._samples.append(Sample(time.monotonic(), ros_s, speed))


class Watch(Node):
    """Arms the arm, keeps it moving, and notes when a status arrived."""

    def __init__(self, robot: RobotWatch) -> None:
        super().__init__("bench_hold")
        self.robot = robot
        self.news = threading.Condition()
        self.statuses: deque[tuple[float, ArmStatus]] = deque(maxlen=4000)
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
        self._managers = {name: LifecycleManager(self, (name,), group) for name in (*MANAGED, *OBSERVERS)}

    @property
    def status(self) -> ArmStatus | None:
        """The newest status of the arm."""
        return self.statuses[-1][1] if self.statuses else None

    def bring_up(self, *names: str) -> None:
        """Activate nodes."""
        for name in names:
            self._managers[name].bring_up(_START_S)

    def wait(self, is_so: Callable[[], Any], what: str, limit_s: float = WAIT_S) -> Any:
        """Wait until something is so; look again after each message and every 20 ms."""
        until = time.monotonic() + limit_s
        with self.news:
            while not (found := is_so()):
                if time.monotonic() > until:
                    raise MissedError(f"no {what} within {limit_s:g} s, {_words(self.status)}")
                self.news.wait(0.02)
        return found

    def status_since(
        self, wall_s: float, wanted: Callable[[ArmStatus], bool]
    ) -> tuple[float, ArmStatus] | None:
        """Return the first status that arrived after a moment and is as wanted."""
        return next((news for news in tuple(self.statuses) if news[0] > wall_s and wanted(news[1])), None)

    def is_moving(self) -> bool:
        """Return whether the arm reports motion now."""
        return self.status_since(time.monotonic() - _RECENT_S, moves) is not None

    def start(self) -> None:
        """Put the world back, arm, and let time run."""
        reset = ResetWorld.Request(scene_seed=7, instruction="pick the red cube")
        stamp = self._ask("/sim/reset", reset).stamp
        request, until = RearmArm.Request(reason="benchmark", from_stamp=stamp), time.monotonic() + WAIT_S
        while not (answer := self._ask("/arm/rearm", request)).success:
            if time.monotonic() > until:
                raise MissedError(f"not armed: {answer.message}")
        self._ask("/sim/run", SetBool.Request(data=True))
        start_ns = ns_of(stamp)
        self.wait(lambda: self.lease is not None and ns_of(self.lease.header.stamp) >= start_ns, "PASS")

    def keep_moving(self) -> None:
        """Wait until the arm moves, and see that it will for a while."""
        until = time.monotonic() + WAIT_S
        while not self.is_moving() or (self.status is not None and self.status.step_index >= _LAST_STEP):
            if time.monotonic() > until:
                raise MissedError(f"it does not move, {_words(self.status)}")
            if self.status is not None and self.status.state in {
                ArmStatus.STATE_STOPPED,
                ArmStatus.STATE_DISARMED,
            }:
                self.stops += 1
                self.start()
            if self.status is None or not self.status.has_goal:
                self._send()  # again, too: a goal on a frame from before the arm stood still is refused
            with self.news:
                self.news.wait(_POLL_S)

    def _ask(self, name: str, request: Any) -> Any:
        try:
            return call(self.clients_of[name], request, WAIT_S, again_s=2.0)
        except UserError as error:
            raise MissedError(str(error)) from None

    def _send(self) -> None:
        self.lease = None
        lease = self.wait(lambda: self.lease, "PASS")
        self.sequence += 1
        increments = np.zeros((60, 7))
        increments[0::2, 0], increments[1::2, 0] = 0.1, -0.1
        message = chunk_to_msg(Chunk(ChunkStatus.ACT, increments, "benchmark"))
        message.header, message.view = lease.header, lease.view
        message.sequence, message.task = self.sequence, "benchmark"
        self.actions.publish(message)
        with suppress(MissedError):  # refused, or replaced by a newer one while it waits for its lease
            self.wait(self.is_moving, "motion", _ACCEPTED_S)

    def _take_status(self, message: ArmStatus) -> None:
        with self.news:
            self.statuses.append((time.monotonic(), message))
            self.news.notify_all()

    def _take_lease(self, message: GateLease) -> None:
        with self.news:
            if message.verdict == GateLease.VERDICT_PASS and message.view == "top":
                self.lease = message
            self.news.notify_all()


def moves(status: ArmStatus) -> bool:
    """Return whether a status reports motion."""
    return bool(status.state == ArmStatus.STATE_EXECUTING and status.tool_speed > _MOVING_MPS)


def _words(status: ArmStatus | None) -> str:
    if status is None:
        return "and the arm never reported"
    stopped = status.state == ArmStatus.STATE_STOPPED
    return f"the arm is {'stopped' if stopped else f'in state {status.state}'}: {status.reason}"


@contextmanager
def cell(folder: Path, *, whole: bool = False) -> Iterator[tuple[Watch, ProcessGroup]]:
    """Run the graph, with its arm armed in a moving world.

    Args:
        folder: Of its logs.
        whole: With the nodes that only observe here: subjects, recorder and trial.
    """
    graph = resolve((), OVERRIDES)
    entries = nodes_of(graph) if whole else tuple(entry for entry in GRAPH if entry.name in NODES)
    with ExitStack() as held:
        processes = held.enter_context(running_nodes(graph, entries, folder, "parameters.yaml"))
        held.callback(os.environ.update, dict(os.environ))
        use_sockets_only(os.environ)  # this process alone: no frozen node may block the observer
        rclpy.init()
        held.callback(rclpy.try_shutdown)
        robot = _robot(graph.sim_node.emulator_ip, processes)
        held.callback(robot.close)
        watch, executor = Watch(robot), SingleThreadedExecutor()
        executor.add_node(watch)
        thread = threading.Thread(target=_spin, args=(executor,), daemon=True)
        thread.start()
        held.callback(thread.join, 2.0)
        held.callback(executor.shutdown, timeout_sec=2.0)
        watch.bring_up(*MANAGED, *(OBSERVERS if whole else ()))
        watch.start()
        yield watch, processes


def _robot(ip: str, processes: ProcessGroup) -> RobotWatch:
    """Connect once the world's controller listens."""
    until = time.monotonic() + _START_S
    while True:
        processes.check()
        try:
            return RobotWatch(ip)
        except RuntimeError as error:
            if time.monotonic() > until:
                raise MissedError(f"no controller at {ip}: {error}") from None
            time.sleep(_POLL_S)


def _spin(executor: SingleThreadedExecutor) -> None:
    try:
        executor.spin()
    except ExternalShutdownException:
        return
