"""The simulated cell with real nodes, and a VLA in the hands of the test."""

from __future__ import annotations

import os
import re
import signal
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Self

import numpy as np
from embodied_iqa_msgs.msg import ActionChunk, ActionIncrement, ArmStatus, GateLease
from embodied_iqa_msgs.srv import RearmArm, ResetWorld, StopArm
from sensor_msgs.msg import JointState
from std_srvs.srv import SetBool

from embodied_iqa.live.ros.conversion import ns_of, time_of
from embodied_iqa.live.ros.qos import EVENT
from embodied_iqa.quality.gate.calibration_file import save_calibrations
from gate_files import calibration
from ros_graph import EVERY, RosGraph

MS_NS = 1_000_000
SECOND_NS = 1_000_000_000
FRAME_NS = 66_666_667
HOLD_NS = 200 * MS_NS
NODES = ("sim_node", "camera_node", "distortion_node", "gate_node", "arm_node")
VIEW = "top"
PATIENCE_WITH_NODES_S = 1.0
"""How long the world waits, in real time, for a node that is frozen or killed. A busy machine that holds the
driver up for so long stops the arm before the fault that a test is about."""
WIDTH_PX, HEIGHT_PX = 160, 120
"""Of images in which nobody looks for anything: drawing them took most of the time of these tests."""


class Cell:
    """Arms the arm, sends it actions, and knows what it was told and what it did."""

    def __init__(self, domain: int, folder: Path) -> None:
        known = folder / "cameras.yaml"
        save_calibrations([replace(calibration(), width_px=WIDTH_PX, height_px=HEIGHT_PX)], known)
        overrides = {
            "sim_node.lockstep_timeout_s": PATIENCE_WITH_NODES_S,
            "distortion_node.preview_every": 0,
            "camera_node.views": [VIEW],
            "camera_node.width_px": WIDTH_PX,
            "camera_node.height_px": HEIGHT_PX,
            "gate_node.calibration": str(known),
        }
        self.graph = RosGraph(domain, folder, NODES, overrides)
        self.sequence = 0

    def __enter__(self) -> Self:
        with ExitStack() as stack:  # a node that does not start leaves no other behind
            graph = stack.enter_context(self.graph)
            self.status = graph.subscribe(ArmStatus, "/arm/status", EVERY)
            self.leases = graph.subscribe(GateLease, "/gate/lease", EVERY)
            self.targets = graph.subscribe(JointState, "/sim/joint_targets", EVERY)
            self.joints = graph.subscribe(JointState, "/sim/joint_states", EVERY)
            self.actions = graph.publisher(ActionChunk, "/vla/actions", EVENT)
            graph.activate("gate_node", "arm_node")
            stack.pop_all()
        return self

    def __exit__(self, *error: object) -> None:
        self.graph.__exit__(None, None, None)

    # --- acting ---------------------------------------------------------------------------------------------

    @property
    def now_ns(self) -> int:
        return ns_of(self.joints.last.header.stamp)

    def start(self) -> None:
        """As a trial does: stop, set the world back, arm while time stands still, let it run."""
        assert self.graph.call(StopArm, "/arm/stop", reason="a test begins").success or not self.sequence
        self.graph.wait(self._has_stopped, "an arm at rest")
        reset = self.graph.call(ResetWorld, "/sim/reset", scene_seed=7, instruction="pick the red cube")
        assert reset.success, reset.message
        start_ns = ns_of(reset.stamp)
        self.rearm(start_ns)
        self.graph.call(SetBool, "/sim/run", data=True)
        self.graph.wait(lambda: self.pass_after(start_ns - 1), "a PASS")

    def _has_stopped(self) -> bool:
        last = self.status.last
        return last is None or (not last.has_goal and last.state in {0, ArmStatus.STATE_STOPPED})

    def rearm(self, from_ns: int = 0) -> None:
        request = {"reason": "a test", "from_stamp": time_of(from_ns)}
        self.graph.wait(lambda: self.graph.call(RearmArm, "/arm/rearm", **request).success, "an armed arm")

    def pass_after(self, stamp_ns: int) -> GateLease | None:
        """The newest PASS on a frame after ``stamp_ns``."""
        return next(
            (
                lease
                for lease in reversed(self.leases.messages)
                if lease.view == VIEW and lease.verdict == 0 and ns_of(lease.header.stamp) > stamp_ns
            ),
            None,
        )

    def send(self, increments: np.ndarray, stamp_ns: int | None = None) -> int:
        """Decide on the newest leased frame (or any other); return when, in ROS time."""
        self.sequence += 1
        lease = self.pass_after(0)
        assert lease is not None
        names = ("x", "y", "z", "rx", "ry", "rz", "gripper")
        chunk = ActionChunk(view=VIEW, source=1, sequence=self.sequence, task="a test")
        chunk.header.stamp = lease.header.stamp if stamp_ns is None else time_of(stamp_ns)
        chunk.increments = [
            ActionIncrement(**dict(zip(names, map(float, row), strict=True))) for row in increments
        ]
        self.actions.publish(chunk)
        return self.now_ns

    def send_while_time_stands(self, increments: np.ndarray) -> int:
        """Decide as `send` does, while ROS time stands: a pause of this process makes nothing late."""
        assert self.graph.call(SetBool, "/sim/run", data=False).success
        self.graph.wait(self._does_time_stand, "time that stands still")
        sent_ns = self.send(increments)
        assert self.graph.call(SetBool, "/sim/run", data=True).success
        return sent_ns

    def _does_time_stand(self) -> bool:
        before, last = list(self.joints.messages)[-2:]
        return bool(before.header.stamp == last.header.stamp)

    def move(self) -> None:
        """Have the arm under way for several seconds; the newest frame is leased afresh."""
        fresh_ns = self.now_ns
        self.graph.wait(lambda: self.pass_after(fresh_ns), "a fresh PASS")
        sent_ns = self.send(to_and_fro())

        def moves() -> bool:
            nonlocal sent_ns
            last = self.status.last
            if not last.has_goal and self.now_ns > sent_ns + SECOND_NS:  # refused: its frame was too old
                if last.state == ArmStatus.STATE_STOPPED:  # a busy machine held the driver up; no fault yet
                    assert re.search("silent for|no measured state for", last.reason), last.reason
                    self.rearm(self.now_ns)
                sent_ns = self.send(to_and_fro())
            return self.is_moving()

        self.graph.wait(moves, "motion")

    def is_moving(self) -> bool:
        last = self.status.last
        moving = last.state == ArmStatus.STATE_EXECUTING and last.tool_speed > 0.1
        return bool(moving and last.goal_sequence == self.sequence)

    # --- what happened --------------------------------------------------------------------------------------

    def wait_until(self, stamp_ns: int) -> None:
        self.graph.wait(lambda: self.now_ns > stamp_ns, f"ROS time {stamp_ns}")

    def last_lease_ns(self) -> int:
        return max(ns_of(lease.header.stamp) for lease in self.leases.messages if lease.view == VIEW)

    def commanded(self, from_ns: int) -> np.ndarray:
        """Joint targets in answer to states from a stamp on, ``(N, 6)``."""
        rows = [
            message.position[:6]
            for message in list(self.targets.messages)
            if ns_of(message.header.stamp) >= from_ns and len(message.position) >= 6
        ]
        return np.array(rows).reshape(-1, 6)

    def measured(self, from_ns: int) -> np.ndarray:
        rows = [
            message.position[:6]
            for message in list(self.joints.messages)
            if ns_of(message.header.stamp) >= from_ns
        ]
        return np.array(rows)

    def assert_stands(self, since_ns: int, seconds: float = 1.0) -> None:
        """From 200 ms after ``since_ns`` on every target is the same; the arm itself comes to rest."""
        self.wait_until(since_ns + round(seconds * SECOND_NS))
        before = self.commanded(since_ns - 500 * MS_NS)
        assert np.ptp(before, axis=0).max() > 0.01, "it did not move before: nothing is shown"
        targets = self.commanded(since_ns + HOLD_NS)
        if len(targets):
            assert np.ptp(targets, axis=0).max() == 0.0
        rest = self.measured(since_ns + HOLD_NS + 300 * MS_NS)
        assert len(rest) > 10
        assert np.ptp(rest, axis=0).max() < 2e-3

    def assert_told(self, since_ns: int, state: int, *words: str) -> ArmStatus:
        """Within 200 ms the status says so, with the reason."""
        told = next(status for status in self._since(since_ns - FRAME_NS) if status.state == state)
        assert ns_of(told.header.stamp) <= since_ns + HOLD_NS
        assert any(word in told.reason for word in words), told.reason
        later = [status for status in self._since(since_ns + HOLD_NS) if status.state == state]
        assert all(status.tool_speed == 0.0 for status in later)
        return told

    def assert_holds_for_good_without(self, victim: str) -> None:
        """Kill a node while the arm moves: it holds, and no action moves it again."""
        self.graph.may_die(victim)
        os.kill(self.graph.processes.pid(victim), signal.SIGKILL)
        killed_ns = self.now_ns
        self.wait_until(killed_ns + SECOND_NS)
        missing_ns = self.last_lease_ns() + FRAME_NS
        self.assert_stands(missing_ns)
        self.assert_told(missing_ns, ArmStatus.STATE_HOLDING, "lease of the top view ran out")

        asked_ns = self.send(to_and_fro(), self.now_ns - FRAME_NS)
        self.wait_until(asked_ns + SECOND_NS)
        assert np.ptp(self.commanded(asked_ns), axis=0).max() == 0.0
        assert self.status.last.state == ArmStatus.STATE_HOLDING
        assert self.status.last.reason

    def first_status(self, since_ns: int, state: int) -> ArmStatus | None:
        return next((status for status in self._since(since_ns) if status.state == state), None)

    def _since(self, stamp_ns: int) -> list[ArmStatus]:
        return [status for status in list(self.status.messages) if ns_of(status.header.stamp) >= stamp_ns]


def to_and_fro(count: int = 24, length_m: float = 0.1) -> np.ndarray:
    increments = np.zeros((count, 7))
    increments[0::2, 0], increments[1::2, 0] = length_m, -length_m
    return increments
