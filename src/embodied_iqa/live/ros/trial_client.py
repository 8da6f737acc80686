"""Client of the action /trial/run: sends tasks, reports progress, waits with a deadline."""

from __future__ import annotations

import math
import os
import queue
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, Self

import rclpy
from embodied_iqa_msgs.action import RunTrial
from embodied_iqa_msgs.srv import ConfirmRun
from rclpy.node import Node
from rclpy.signals import SignalHandlerOptions
from std_msgs.msg import Empty
from std_srvs.srv import Trigger

from embodied_iqa.arm.robot.supervision import BEAT_S, SILENCE_S
from embodied_iqa.base.errors import EmbodiedIqaError
from embodied_iqa.live.ros.actions import ActionCaller, GoalCall, GoalRejectedError
from embodied_iqa.live.ros.calls import call
from embodied_iqa.live.ros.conversion import pose_of, start_of
from embodied_iqa.live.ros.names import HEARTBEAT, TRIAL_ACTION
from embodied_iqa.live.ros.node_parameters import values_of_node
from embodied_iqa.live.ros.qos import EVENT
from embodied_iqa.live.ros.spinning import SpinThread
from embodied_iqa.runs.graph.graph_nodes import GRAPH, Purpose
from embodied_iqa.runs.graph.running_graph import RunningValues
from embodied_iqa.runs.trial.attendance import Person, Question
from embodied_iqa.runs.trial.command_start import CommandStart
from embodied_iqa.runs.trial.protocol import Stage

if TYPE_CHECKING:
    from rclpy.type_support import FeedbackMessage  # defined in typings/ only

_POLL_S = 0.1
_CANCEL_S = 2.0
"""Wait for the end of a cancelled trial; nodes that are ended stop the arm and close the recording too."""
_CONFIRM_S = 10.0
_ASKING = (Stage.PREPARE, Stage.JUDGE, Stage.RECOVER)
_NEEDED_FOR = {"sim_node": "simulated", "arm_node": "has_arm", "vlm_node": "has_vlm"}
"""Nodes that not every graph has, and the parameter of trial_node that says whether it has them."""


class TrialFailedError(EmbodiedIqaError):
    """The trial did not finish; the message says why."""


@dataclass(frozen=True, slots=True)
class TrialProgress:
    """Progress of a task; see the feedback of the action."""

    stage: Stage
    run_index: int
    run_count: int
    message: str


class TrialClient:
    """Client of trial_node with its own spinning thread.

    Args:
        check: Called regularly while a task runs; raises to abort it.
        person: Answers the questions of a trial on a real arm; without, other clients of /trial/confirm do.
            With a person, the arm stops where this client is frozen.
        wants_end: Called regularly; returns whether a person wants to end the present run.
        namespace: Of the graph, such as ``/cell1``.
    """

    def __init__(
        self,
        check: Callable[[], None],
        person: Person | None = None,
        wants_end: Callable[[], bool] = lambda: False,
        *,
        namespace: str = "",
    ) -> None:
        self._check, self._person, self._wants_end = check, person, wants_end
        self._stage = Stage.OPEN
        self._news: TrialProgress | None = None
        self._until_s = 0.0
        self._begun, self._beat_s = False, -math.inf
        # Python handles Ctrl-C: cancelling the trial then takes a working context
        rclpy.init(signal_handler_options=SignalHandlerOptions.NO)
        self._node = Node("trial_client", namespace=namespace)
        self._confirm = self._node.create_client(ConfirmRun, "trial/confirm")
        self._end_run = self._node.create_client(Trigger, "trial/end_run")
        self._heartbeat = self._node.create_publisher(Empty, HEARTBEAT, EVENT)
        self._questions: queue.SimpleQueue[TrialProgress] = queue.SimpleQueue()
        self._spin = SpinThread(self._node)
        self._trials = ActionCaller(self._node, RunTrial, TRIAL_ACTION, self._spin)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._spin.close()
        self._trials.close()
        self._node.destroy_node()
        rclpy.try_shutdown()

    def run(
        self,
        goal: RunTrial.Goal,
        progress: Callable[[TrialProgress], None],
        deadline_s: float,
        start: CommandStart,
    ) -> str:
        """Run one task to its end.

        Args:
            goal: The task.
            progress: Called with each feedback.
            deadline_s: Maximum duration of the task, real time.
            start: Where its runs begin; kept for the next task.

        Returns:
            Remarks of the trial; empty where there are none.

        Raises:
            TrialFailedError: The task was rejected, failed or took too long.
        """
        self._until_s, self._begun, self._task = time.monotonic() + deadline_s, False, goal.task
        while not self._trials.server_is_ready():
            self._check_deadline("no trial_node")
            time.sleep(_POLL_S)
        goal.heartbeat_limit_s = 0.0 if self._person is None else SILENCE_S
        if start.place is not None:
            goal.start_pose, goal.start_gripper = [pose_of(start.place.T_base_tool)], start.place.gripper
        trial = self._trials.goal(goal, partial(self._take_feedback, progress))
        try:
            result = trial.run(self._poll)
        except GoalRejectedError:
            domain = os.environ.get("ROS_DOMAIN_ID", "0")
            raise TrialFailedError(f"trial_node of ROS domain {domain} is busy with another task") from None
        except BaseException:
            self._cancel(trial, start)
            raise
        start.keep(start_of(result))
        if not result.success:
            raise TrialFailedError(result.message)
        return result.message

    def running_parameters(self, deadline_s: float) -> RunningValues:
        """Read the parameters of a graph that others started; those of this process may be of another graph.

        Args:
            deadline_s: Time for each node to appear and to respond, real time.

        Raises:
            UserError: A node does not respond.
        """
        values = partial(values_of_node, self._node, deadline_s=deadline_s, check=self._check)
        trial = values("trial_node")
        missing = {node for node, flag in _NEEDED_FOR.items() if trial.get(flag) is False}
        names = (entry.name for entry in GRAPH if Purpose.TRIAL in entry.purposes)
        others = [name for name in names if name not in {"trial_node", *missing}]
        return {"trial_node": trial, **{name: values(name) for name in others}}

    def _take_feedback(
        self, progress: Callable[[TrialProgress], None], message: FeedbackMessage[RunTrial.Feedback]
    ) -> None:
        feedback = message.feedback
        news = TrialProgress(Stage(feedback.stage), feedback.run_index, feedback.run_count, feedback.message)
        self._begun = self._begun or news.stage is not Stage.OPEN
        self._stage, self._news = news.stage, news
        progress(news)
        if self._person is not None and news.stage in _ASKING:
            self._questions.put(news)

    def _check_deadline(self, what: str) -> None:
        self._check()
        if time.monotonic() > self._until_s:
            raise TrialFailedError(f"{what} within the deadline")

    def _poll(self) -> None:
        self._check_deadline("no result of trial_node")
        if self._person is not None and not self._questions.empty():
            self._ask(self._person, self._questions.get())
        self._beat()
        moves_back = self._stage is Stage.RESET and self._person is not None
        if self._wants_end() and (self._stage is Stage.EXECUTE or moves_back):
            response = call(self._end_run, Trigger.Request(), _CONFIRM_S)
            if not response.success:
                self._node.get_logger().warning(f"nothing has been ended: {response.message}")

    def _beat(self) -> None:
        """Tell trial_node that this client works, from the thread that reads its keys."""
        now_s = time.monotonic()
        if now_s - self._beat_s >= BEAT_S:
            self._beat_s = now_s
            self._heartbeat.publish(Empty())

    def _ask(self, person: Person, news: TrialProgress) -> None:
        """Ask in this thread, until trial_node reports the next thing: it enforces the deadline."""

        def is_open() -> bool:
            self._check()
            self._beat()
            return news is self._news

        answer = person(
            Question(news.stage, news.run_index, news.run_count, news.message, self._task), is_open
        )
        if answer is None:
            return
        request = ConfirmRun.Request(
            stage=news.stage,
            run_index=news.run_index,
            yes=answer.yes,
            give_up=answer.give_up,
            remark=answer.remark,
        )
        response = call(self._confirm, request, _CONFIRM_S)
        if not response.success:
            self._node.get_logger().warning(f"the answer came too late: {response.message}")

    def _cancel(self, trial: GoalCall[RunTrial.Result], start: CommandStart) -> None:
        """Request trial_node to stop the arm and close the recording, if there is anything to stop."""
        result = trial.cancel(_CANCEL_S if self._begun else 0.0, self._trials.server_is_ready)
        if result is not None:
            start.keep(start_of(result))
