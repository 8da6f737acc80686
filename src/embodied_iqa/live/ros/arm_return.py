"""Returns a real arm to the start of the first run, under leases of the gate like any motion."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import Protocol

import numpy as np
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from embodied_iqa_msgs.msg import ActionChunk, ArmStatus, GateLease
from geometry_msgs.msg import PoseStamped
from rclpy.callback_groups import MutuallyExclusiveCallbackGroup
from rclpy.node import Node
from sensor_msgs.msg import JointState

from embodied_iqa.arm.robot.homing import (
    StartPose,
    WayBack,
    distance_to_start,
    start_in_words,
    transfer_height,
    way_back,
    way_in_words,
)
from embodied_iqa.arm.robot.limits import ArmLimits
from embodied_iqa.arm.robot.passed_frames import PassedFrames
from embodied_iqa.imaging.images.frame import View
from embodied_iqa.live.ros.conversion import chunk_to_msg, lease_of, ns_of
from embodied_iqa.live.ros.frames import tool_pose_of
from embodied_iqa.live.ros.goals import name_frames
from embodied_iqa.live.ros.names import DIAGNOSTICS, STOP_CAUSE, local_name
from embodied_iqa.live.ros.qos import EVENT, STATE, adjustable
from embodied_iqa.runs.trial.protocol import Command, Rearm, Reply, SetDistortion, StopArm
from embodied_iqa.runs.trial.stop_guard import StopGuard
from embodied_iqa.runs.trial.wait_news import WaitNews
from embodied_iqa.world.protocols import ActionChunk as Chunk
from embodied_iqa.world.protocols import ChunkStatus

_POLL_S = 0.02
_TRY_S = 1.0
_POSE_S = 5.0
_CONNECTED_S = 30.0
"""An arm of which neither a pose nor a fault is known may still be connecting."""
_DIAGNOSTICS = 10
"""Depth of the queue: every node reports once a second."""
_ARM_NODE = "arm_node"
_SUBJECT = "return to the start"


class Watch(Protocol):
    """What a trial asks while it waits, and where it says for what."""

    @property
    def fault(self) -> str:
        """What a node reports of itself now, such as a silent camera; empty for nothing."""

    def unwanted(self) -> str:
        """Return why nobody wants the trial any more; empty if somebody does."""

    def say(self, words: str) -> None:
        """Report what is waited for."""


class ArmReturn:
    """Stores the pose at the start of the first run, and moves the arm back there.

    Args:
        node: Node of the topics; it must be spinning in another thread.
        limits: Limits of the arm.
        limit_s: Maximum duration of a return, real time.
        do: Executes a command of the trial and returns its reply.
        watch: Asked while waiting; a new fault is said at once, anything again every few seconds.
        views: Cameras of the trial: the gate has to pass the images of each, as long as the arm moves.

    Attributes:
        guard: Knows whether the arm may be armed without another answer of a person.
        start: Where the runs begin; None before the first.
    """

    def __init__(
        self,
        node: Node,
        limits: ArmLimits,
        limit_s: float,
        do: Callable[[Command], Reply],
        watch: Watch,
        *,
        views: Iterable[View],
    ) -> None:
        self._limits, self._limit_s, self._do, self._watch = limits, limit_s, do, watch
        self._news = WaitNews(watch.say)
        self.guard = StopGuard()
        self.start: StartPose | None = None
        self._is_given = self._moves = False
        self._over_m: float | None = None
        self._T_base_tool: np.ndarray | None = None
        self._gripper = 0.0
        self._passed = PassedFrames(views)
        self._way: WayBack | None = None
        self._status: ArmStatus | None = None
        self._sequence = 0
        self._interrupted = ""
        self._node = node
        self._publisher = node.create_publisher(ActionChunk, "vla/actions", EVENT)
        group = MutuallyExclusiveCallbackGroup()
        node.create_subscription(
            PoseStamped, "arm/tool_pose", self._take_pose, callback_group=group, **adjustable(STATE)
        )
        node.create_subscription(
            JointState, "arm/joint_states", self._take_joints, callback_group=group, **adjustable(STATE)
        )
        node.create_subscription(GateLease, "gate/lease", self._take_lease, STATE, callback_group=group)
        node.create_subscription(ArmStatus, "arm/status", self._take_status, EVENT, callback_group=group)
        node.create_subscription(
            DiagnosticArray, DIAGNOSTICS, self._take_health, _DIAGNOSTICS, callback_group=group
        )

    @property
    def fault(self) -> str:
        """What the arm's node reports of itself; empty for nothing."""
        return self.guard.fault

    def problem(self) -> str:
        """Return why the arm cannot be used, empty where it can.

        A driver that has just been started sends its first pose within seconds; a fault may pass, too.
        """
        self._interrupted = ""
        self._wait(lambda: self._is_known() or bool(self.fault), time.monotonic() + _CONNECTED_S)
        self._wait(self._is_known, time.monotonic() + _POSE_S)
        return "" if self._is_known() else self._unknown()

    def wait_for_state(self, from_ns: int, until_s: float) -> None:
        """Wait until the arm stands, by a status from a ROS time on, or for a stop: it arms only at rest."""

        def is_seen() -> bool:
            status, guard = self._status, self.guard
            stands = status is not None and ns_of(status.header.stamp) >= from_ns and status.tool_speed == 0.0
            return stands or bool(guard.fault or guard.stopped)

        self._wait(is_seen, until_s)

    def begin(self, start: StartPose | None) -> None:
        """Begin a trial.

        Args:
            start: Where its runs begin; None for where the arm stands before the first.
        """
        self.start, self._is_given, self._over_m = start, start is not None, None

    def check(self, run_index: int) -> str:
        """Return how far the arm is from the start, in words, empty where near.

        Before the first run of a trial that was given none, the place where the arm stands is the start.
        """
        if problem := self.problem():
            return problem
        if run_index == 0 and not self._is_given and self._T_base_tool is not None:
            self.start = StartPose(self._T_base_tool, self._gripper)
        return self._distance()

    def place(self) -> str:
        """Return where the runs begin, before the first one; empty where the arm's pose is not known."""
        if self._T_base_tool is None:
            return ""
        start = self.start if self._is_given else None
        return start_in_words(start, self._T_base_tool, self._gripper)

    def way(self) -> str:
        """Return in words where a way back would lead; empty where there is none."""
        if self.start is None or self._T_base_tool is None or not self._distance():
            return ""
        return way_in_words(self.start, max(self._height(), self._T_base_tool[2, 3]))

    def interrupt(self, reason: str = "the return was interrupted") -> bool:
        """Abort a return, after which the arm is stopped; return whether one is under way."""
        self._interrupted = reason
        return self._moves

    def go(self) -> str:
        """Move the arm back; return why it is not at its start, empty where it is.

        The arm is stopped at the end, whatever ends the return, an error of a command included. It is not
        armed for a trial that nobody wants any more.
        """
        if self.start is None:
            return "no start is stored"
        if not self._distance():
            return ""
        self._interrupted, self._moves = "", True
        self._over_m = self._height()
        self._news.begin(time.monotonic())
        try:
            problem = self._begin() or self._move(time.monotonic() + self._limit_s)
        finally:
            self._moves = False
            self._do(StopArm("the return to the start has ended"))
        distance = self._distance()
        reason = self._watch.unwanted() or self._interrupted or problem or distance
        return "" if not distance else f"the arm is not back at its start: {reason}"

    def _height(self) -> float:
        """Return the height of the way back: each attempt goes over the same one, or the arm would climb."""
        if self._over_m is not None:
            return self._over_m
        start, pose = self.start, self._T_base_tool
        return 0.0 if start is None or pose is None else transfer_height(start, pose, self._limits)

    def _begin(self) -> str:
        for command in (SetDistortion(None, 0), Rearm(0)):
            if reason := self._watch.unwanted():
                return reason
            if self._interrupted:
                return self._interrupted
            reply = self._do(command)
            if not reply.ok:
                return reply.message
        return ""

    def _move(self, until_s: float) -> str:
        """Send the path until the arm accepts it, then wait for its end."""
        problem = ""
        while not self._is_to_end(until_s):
            self._passed.expect_new()
            if not self._wait(lambda: bool(self._passed.frames) or self._tell(), until_s):
                problem = "; ".join(filter(None, (problem or self._passed.problem, self._watch.fault)))
                break
            self._send()
            accepted_s = min(until_s, time.monotonic() + _TRY_S)
            is_accepted = self._wait(lambda: self._is_accepted() or self._tell(), accepted_s)
            if is_accepted and not self._wait(lambda: self._is_over() or self._tell(), until_s):
                reason = "" if self._status is None else self._status.reason
                problem = f"not there within {self._limit_s:g} s{reason and f': {reason}'}"
                break
            status = self._status
            if status is not None and self._is_over() and status.completed_whole:
                return ""
            problem = problem if status is None else status.reason or problem
            if status is not None and status.state == ArmStatus.STATE_STOPPED:
                return problem
        return problem

    def _tell(self) -> bool:
        """Say what the return waits for where that is due; return False: it waits on."""
        self._news.tell(self._waits_for(), self._watch.fault, time.monotonic())
        return False

    def _waits_for(self) -> str:
        status = self._status
        reason = "" if status is None else status.reason
        if status is not None and status.state == ArmStatus.STATE_STOPPED:
            return f"the arm has stopped{reason and f': {reason}'}"
        return self._passed.problem or "; ".join(filter(None, (self._distance_on_way(), reason)))

    def _distance_on_way(self) -> str:
        """Return the distance with the leg of the way: on the way up it grows."""
        distance, status, way = self._distance(), self._status, self._way
        is_on_it = status is not None and status.has_goal and status.goal_sequence == self._sequence
        leg = "" if status is None or way is None or not is_on_it else way.leg(status.step_index)
        return f"on the way {leg} {distance}" if leg and distance else distance

    def _send(self) -> None:
        frames, start, pose = self._passed.frames, self.start, self._T_base_tool
        if not frames or start is None or pose is None:
            return
        self._sequence += 1
        self._way = way_back(start, pose, self._limits, self._height())
        message = chunk_to_msg(Chunk(ChunkStatus.ACT, self._way.increments, _SUBJECT))
        name_frames(message, frames)
        message.whole = True  # its corners and its end are places
        message.sequence, message.subject, message.task = self._sequence, _SUBJECT, _SUBJECT
        self._publisher.publish(message)

    def _is_accepted(self) -> bool:
        status = self._status
        return status is not None and (
            (status.has_goal and status.goal_sequence == self._sequence) or self._is_over()
        )

    def _is_over(self) -> bool:
        status = self._status
        return (
            status is not None
            and status.has_completed
            and status.completed_sequence == self._sequence
            and not (status.has_goal and status.goal_sequence == self._sequence)
        )

    def _distance(self) -> str:
        if self.start is None or self._T_base_tool is None:
            return self._unknown()
        distance = distance_to_start(self.start, self._T_base_tool, self._gripper)
        if not distance:
            self._over_m = None  # the next way back begins elsewhere
        return distance

    def _is_known(self) -> bool:
        return self._T_base_tool is not None and not self.fault

    def _unknown(self) -> str:
        """Return the cause that the arm's node reports; that the pose is not known, where it reports none."""
        return self.fault or "the arm's pose is not known"

    def _wait(self, is_true: Callable[[], bool], until_s: float) -> bool:
        while not is_true():
            if self._is_to_end(until_s):
                return False
            time.sleep(_POLL_S)
        return True

    def _is_to_end(self, until_s: float) -> bool:
        return bool(self._interrupted) or time.monotonic() > until_s or bool(self._watch.unwanted())

    def _take_pose(self, message: PoseStamped) -> None:
        self._T_base_tool = tool_pose_of(self._node, message)

    def _take_joints(self, message: JointState) -> None:
        if message.position:
            self._gripper = float(message.position[-1])

    def _take_lease(self, message: GateLease) -> None:
        try:
            self._passed.take(lease_of(message))
        except ValueError as error:  # a malformed lease allows nothing
            self._node.get_logger().error(f"lease ignored: {error}", throttle_duration_sec=1.0)

    def _take_status(self, message: ArmStatus) -> None:
        self._status = message
        self.guard.see_status(message.stop_cause, message.reason, time.monotonic())

    def _take_health(self, message: DiagnosticArray) -> None:
        for status in message.status:
            if local_name(self._node, status.name) == _ARM_NODE:
                fault = status.message if status.level == DiagnosticStatus.ERROR else ""
                cause = next((value.value for value in status.values if value.key == STOP_CAUSE), "")
                self.guard.see_fault(fault, time.monotonic(), cause)
