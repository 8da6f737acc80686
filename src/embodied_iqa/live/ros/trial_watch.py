"""A trial for those who wait in it: whether its client wants it, what hinders it, what it reports."""

from __future__ import annotations

import time
from typing import TypeAlias

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from embodied_iqa_msgs.action import RunTrial
from embodied_iqa_msgs.msg import ActionChunk
from rclpy.action.server import ServerGoalHandle
from rclpy.callback_groups import MutuallyExclusiveCallbackGroup
from rclpy.node import Node
from std_msgs.msg import Empty

from embodied_iqa.arm.robot.supervision import Supervision
from embodied_iqa.live.ros.actions import ClientWatch
from embodied_iqa.live.ros.conversion import chunk_failure
from embodied_iqa.live.ros.names import DIAGNOSTICS, HEARTBEAT, SLOWED_BY, TRIAL_ACTION, local_name
from embodied_iqa.live.ros.node import RECORDING_FAILED
from embodied_iqa.live.ros.qos import EVENT
from embodied_iqa.runs.trial.protocol import AskPerson, Stage
from embodied_iqa.runs.trial.state import TrialState

TrialHandle: TypeAlias = "ServerGoalHandle[RunTrial.Goal, RunTrial.Result, RunTrial.Feedback]"

_FAULTS = (DiagnosticStatus.WARN, DiagnosticStatus.ERROR)
_SENSES = ("camera_node", "vla_node")
"""Nodes whose faults let an arm stand still; without images the policy, too, waits for them."""
_ARM = "arm_node"
_RESTS_S = 3.0
"""An arm stands longer than for a gripper or an ordinary decision."""
_QUEUE = 10
"""Every node reports once a second."""
_QUIET = (Stage.PREPARE, Stage.JUDGE, Stage.RECOVER)
"""Stages with a question, which is the report."""
_MOVES = (Stage.RESET, Stage.DISTORT, Stage.ARM, Stage.EXECUTE)
"""Stages in which a real arm moves, or is about to."""
_CLIENT = "the terminal of this trial"
"""The client of the action, as whoever stands beside the arm knows it."""


class TrialWatch:
    """The client of the present trial, and what the nodes report of themselves meanwhile.

    Attributes:
        stage: Stage of the trial that was reported last.
        recording_fault: Why the recording of the trial has failed; empty where it has not.

    Args:
        node: Server of the action.
    """

    def __init__(self, node: Node) -> None:
        self.stage = Stage.DONE
        self.recording_fault = self._reference_fault = ""
        self._faults: dict[str, str] = {}
        self._node = node
        self._handle: TrialHandle
        self._client: ClientWatch
        self._run_index = 0
        self._said: str | None = None
        self._rests_since_s = 0.0
        self._supervision = Supervision(_CLIENT, "trial_node")
        group = MutuallyExclusiveCallbackGroup()
        node.create_subscription(Empty, HEARTBEAT, self._take_heartbeat, _QUEUE, callback_group=group)
        node.create_subscription(DiagnosticArray, DIAGNOSTICS, self._diagnosed, _QUEUE, callback_group=group)
        topic = "vla/reference_actions"
        node.create_subscription(ActionChunk, topic, self._take_reference, EVENT, callback_group=group)

    def begin(self, handle: TrialHandle) -> None:
        """Begin the trial of a goal, before anything else is called."""
        self._handle, self._client = handle, ClientWatch(self._node, TRIAL_ACTION, time.monotonic())
        self.stage, self._said = Stage.OPEN, None
        self._rests_since_s = time.monotonic()
        self._supervision.begin(handle.request.heartbeat_limit_s, time.monotonic())
        self._report(Stage.OPEN, 0, "")

    @property
    def fault(self) -> str:
        """What the node of the cameras, else that of the policy or the arm reports now, with its name.

        Of the arm it is what slows it: a stop ends the run, which says why.
        """
        return next((self._faults[name] for name in (*_SENSES, _ARM) if self._faults.get(name)), "")

    def unwanted(self) -> str:
        """Return why nobody wants the trial any more; empty if somebody does."""
        if self._handle.is_cancel_requested:
            return "cancelled"
        now_s = time.monotonic()
        if self._client.gone(now_s):
            return f"{_CLIENT} has gone"
        lost = self._supervision.lost(now_s)
        return f"{lost}: the arm is stopped, and the trial ends" if lost and self.stage in _MOVES else ""

    def say(self, words: str) -> None:
        """Report what the present stage waits for."""
        self._report(self.stage, self._run_index, words)

    def ask(self, question: AskPerson, words: str) -> None:
        """Report a question to the operator, in the words of `TrialCommands.words_of`."""
        self.stage, self._said = question.stage, None  # the stage after it is news, also if it was the last
        self._report(question.stage, question.run_index, words)

    def show(self, state: TrialState) -> None:
        """Report a new stage, or a new fault of the graph; stages with a question are reported with it.

        The policy may fail at the undistorted images alone, which are for the scores: the run goes on.
        """
        if state.stage is not Stage.EXECUTE:
            self._reference_fault = ""
        rests = self._why_it_rests(state, time.monotonic())
        words = state.ending
        if state.stage is Stage.EXECUTE:
            words = state.fault or self._reference_fault or rests
        if state.stage not in _QUIET and (state.stage, words) != (self.stage, self._said):
            self.stage, self._said = state.stage, words
            self._report(state.stage, state.run_index, words)

    def _why_it_rests(self, state: TrialState, now_s: float) -> str:
        """Return why the arm has stood still for some time, such as decisions that come too late."""
        if state.stage is not Stage.EXECUTE or not state.at_rest or state.held:
            self._rests_since_s = now_s
        return state.at_rest if now_s - self._rests_since_s > _RESTS_S else ""

    def _report(self, stage: Stage, run_index: int, words: str) -> None:
        self._run_index = run_index
        feedback = RunTrial.Feedback(
            stage=int(Stage.CLOSE if stage is Stage.DONE else stage),
            run_index=run_index,
            run_count=1 + len(self._handle.request.distortions),
            message=words,
        )
        self._handle.publish_feedback(feedback)

    def _take_heartbeat(self, _message: Empty) -> None:
        self._supervision.hear(time.monotonic())

    def _take_reference(self, chunk: ActionChunk) -> None:
        failure = chunk_failure(chunk)
        self._reference_fault = failure and f"on the undistorted image, {failure}"

    def _diagnosed(self, message: DiagnosticArray) -> None:
        for status in message.status:
            name = local_name(self._node, status.name)
            if name and status.message.startswith(RECORDING_FAILED):
                self.recording_fault = status.message.removeprefix(RECORDING_FAILED)
            if name in _SENSES:
                self._faults[name] = f"{name}: {status.message}" if status.level in _FAULTS else ""
            if name == _ARM:
                slowed = next((value.value for value in status.values if value.key == SLOWED_BY), "")
                self._faults[name] = slowed and f"{name}: {slowed}"
