"""Executes the commands of the state machine of a trial through services."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from embodied_iqa_msgs import srv
from embodied_iqa_msgs.action import RunTrial
from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.client import Client
from rclpy.clock import Clock, ClockType
from rclpy.node import Node
from rclpy.task import Future
from std_msgs.msg import Empty
from std_srvs.srv import SetBool

from embodied_iqa.arm.robot.supervision import BEAT_S, SILENCE_S
from embodied_iqa.base.errors import EmbodiedIqaError
from embodied_iqa.imaging.images.assembler import Source
from embodied_iqa.live.ros.arm_return import ArmReturn, Watch
from embodied_iqa.live.ros.attendance import Attendance
from embodied_iqa.live.ros.calls import AnswerT, RequestT, ResponseT, begin_call, call
from embodied_iqa.live.ros.conversion import LATEST_NS, ns_of, pose_of, spec_to_msg, start_of, time_of
from embodied_iqa.live.ros.names import SUPERVISION
from embodied_iqa.live.ros.qos import EVENT
from embodied_iqa.runs.graph.parameters import TrialParameters
from embodied_iqa.runs.trial.judging import AskingTrial
from embodied_iqa.runs.trial.protocol import (
    Answered,
    AskPerson,
    AskVlm,
    CheckArm,
    CheckStart,
    CloseRecording,
    Command,
    Event,
    OpenRecording,
    Rearm,
    Reply,
    ResetWorld,
    ReturnToStart,
    RunWorld,
    SetDistortion,
    SetTask,
    Stage,
    StopArm,
)
from embodied_iqa.runs.trial.wait_news import WaitNews

if TYPE_CHECKING:
    from rclpy.type_support import ServiceType  # defined in typings/ only

_AGAIN_S = 0.02
_FIRST_CONTACT_S = 6.0  # longer than a VLM waits for a frame
_HURRY_S = 2.0
_WAITING = {Rearm: "the arm does not arm", SetTask: "the policy does not begin"}
"""In words, what is waited for while a command is repeated."""


def vla_problem(
    client: Client[srv.SetTask.Request, srv.SetTask.Response], task: str, deadline_s: float
) -> str:
    """Return why the VLA cannot start; empty where it can.

    The VLA gets the task for frames that never arrive: it accepts the task once it has a complete frame.
    """
    request = srv.SetTask.Request(task=task, from_stamp=time_of(LATEST_NS))
    given = call(client, request, deadline_s, again_s=_FIRST_CONTACT_S)
    call(client, srv.SetTask.Request(task=""), deadline_s)
    return "" if given.success else given.message


class TrialCommands:
    """Clients of all services that a trial uses.

    Args:
        node: Node of the clients; it must be spinning in another thread.
        config: Deadlines, and whether the world is simulated.
        watch: Asked by what takes long.
        report: Called with the events that result from the commands, from any thread.
    """

    def __init__(
        self, node: Node, config: TrialParameters, watch: Watch, report: Callable[[Event], None]
    ) -> None:
        group = ReentrantCallbackGroup()

        def client(kind: type[ServiceType[RequestT, ResponseT]], name: str) -> Client[RequestT, ResponseT]:
            return node.create_client(kind, name, callback_group=group)

        self._node = node
        self._config = config
        self._watch = watch
        self._report = report
        self._goal = RunTrial.Goal()
        self.asking = AskingTrial()
        """The trial, for its questions; set when it starts."""
        self._deadline_s = config.reply_deadline_s
        self._reset = client(srv.ResetWorld, "sim/reset")
        self._run = client(SetBool, "sim/run")
        self._distort = client(srv.SetDistortion, "distortion/set")
        self._rearm = client(srv.RearmArm, "arm/rearm")
        self._stop = client(srv.StopArm, "arm/stop")
        self._set_task = client(srv.SetTask, "vla/set_task")
        self._ask = client(srv.AskVlm, "vlm/ask")
        self._record = client(srv.RecordTrial, "recorder/record")
        self._pause = client(SetBool, "recorder/pause")
        self._attendance: Attendance | None = None
        self._return: ArmReturn | None = None
        if config.attended:
            self._attendance = Attendance(node, config.person_limit_s, self._answered)
            limits, limit_s = config.limits, config.return_limit_s
            self._return = ArmReturn(node, limits, limit_s, self._do, watch, views=config.views)
            beats = node.create_publisher(Empty, SUPERVISION, EVENT)
            steady = Clock(clock_type=ClockType.STEADY_TIME)
            node.create_timer(BEAT_S, lambda: beats.publish(Empty()), group, steady)

    def begin(self, goal: RunTrial.Goal) -> None:
        """Set the path and the metadata of the recording."""
        self._goal = goal
        self._deadline_s = self._config.reply_deadline_s
        if self._return is not None:
            self._return.begin(start_of(goal))

    def check_deadline(self) -> None:
        """End an open question to the operator whose deadline has passed."""
        if self._attendance is not None:
            self._attendance.check_deadline()

    def interrupt(self) -> None:
        """Abort a return to the start."""
        if self._return is not None:
            self._return.interrupt()

    def stop_return(self) -> bool:
        """Stop the arm on its way back for a person; return whether it was on it."""
        return self._return is not None and self._return.interrupt("stopped by a person")

    def tell_start(self, result: RunTrial.Result) -> None:
        """Say in the result of a trial where its runs began."""
        if self._return is not None and (start := self._return.start) is not None:
            result.start_pose, result.start_gripper = [pose_of(start.T_base_tool)], start.gripper

    def hurry(self) -> None:
        """Use short deadlines from now on: the trial is being aborted, perhaps because a node is lost."""
        self._deadline_s = min(_HURRY_S, self._config.reply_deadline_s)
        if self._attendance is not None:
            self._attendance.close()

    def carry_out(self, command: Command) -> None:
        """Execute a command and report its reply; the reply to AskVlm comes later."""
        if isinstance(command, AskVlm):
            self._ask_vlm(command)
            return
        if isinstance(command, AskPerson) and self._attendance is not None and self._return is not None:
            self._pause_recording(paused=True)
            self._return.guard.ask("" if command.stage is Stage.JUDGE else command.problem, time.monotonic())
            self._attendance.ask(command, self.words_of(command), self.asking)
            return
        try:
            reply = self._do(command)
        except EmbodiedIqaError as error:
            reply = Reply(command, ok=False, message=str(error))
        self._report(self._with_stop(reply))

    def _with_stop(self, reply: Reply) -> Reply:
        """Return a reply with the stop that a person has to answer before a real arm moves again."""
        return reply if self._return is None else replace(reply, stopped=self._return.guard.stopped)

    def _do(self, command: Command) -> Reply:
        match command:
            case OpenRecording() | CloseRecording():
                reply = self._set_recording(command)
            case ResetWorld(seed, task):
                reply = self._reset_world(command, seed, task)
            case RunWorld(running) if self._config.simulated:
                reply = self._send(command, self._run, SetBool.Request(data=running))
            case RunWorld():
                reply = Reply(command, ok=True)
            case SetDistortion():
                reply = self._set_distortion(command)
            case Rearm(from_ns):
                reply = self._rearm_from(command, from_ns)
            case CheckArm() | CheckStart() | ReturnToStart():
                reply = self._place(command)
            case StopArm(reason):
                reply = self._send(command, self._stop, srv.StopArm.Request(reason=reason))
            case SetTask(task, from_ns):
                request = srv.SetTask.Request(task=task, from_stamp=time_of(from_ns))
                send = self._insist if task else self._send  # its images may lag when a run begins
                reply = send(command, self._set_task, request)
            case _:
                reply = Reply(command, ok=False, message=f"{type(command).__name__} needs no service")
        return reply

    def words_of(self, question: AskPerson) -> str:
        """Return what a question says: the problem, and where the arm stands or goes.

        It is where runs begin, or where the way back leads, and what has to be done at the robot first.
        """
        if self._return is None or question.stage is Stage.JUDGE:
            return question.problem
        place = ""
        if question.stage is Stage.RECOVER:
            place = self._return.way()
        elif question.run_index == 0:
            place = self._return.place()
        return "\n".join(filter(None, (question.problem, place, self._return.guard.release)))

    def subjects_problem(self, task: str) -> str:
        """Return why the subjects cannot work on the images that arrive now; empty where they can."""
        for source in Source if self._config.has_vlm else ():
            question = srv.AskVlm.Request(task=task, source=int(source))
            answer = call(self._ask, question, self._deadline_s, again_s=_FIRST_CONTACT_S)
            if not answer.success:
                return f"VLM: {answer.message}"
        problem = vla_problem(self._set_task, task, self._deadline_s)
        return problem and f"VLA: {problem}"

    def with_arm_fault(self, problem: str) -> str:
        """Return a problem of the start, and what is wrong with a real arm meanwhile."""
        fault = "" if self._return is None else self._return.fault
        return f"{problem}; {fault}" if problem and fault else problem

    def _place(self, command: CheckArm | CheckStart | ReturnToStart) -> Reply:
        """Check a real arm or its pose before a run, or return it to the start after one."""
        if self._return is None:
            return Reply(command, ok=False, message="no real arm is connected")
        if isinstance(command, CheckArm):
            problem = self._return.problem()
            self._return.guard.begin()
        elif isinstance(command, CheckStart):
            problem = self._return.check(command.run_index)
        else:
            problem = self._return.go()
        return Reply(command, ok=not problem, message=problem)

    def _answered(self, reply: Reply) -> None:
        """Report the answer of the operator, with a stop that it does not answer; record images again."""
        if reply.ok and reply.yes and self._return is not None:
            self._return.guard.answer(time.monotonic())
        self._pause_recording(paused=False)
        self._report(self._with_stop(reply))

    def _pause_recording(self, *, paused: bool) -> None:
        """Record no images while the trial waits for the operator; a failure of this is ignored."""
        with contextlib.suppress(EmbodiedIqaError):
            call(self._pause, SetBool.Request(data=paused), _HURRY_S)

    def _rearm_once(self, command: Command, from_ns: int, arm: ArmReturn) -> Reply:
        """Rearm a real arm, unless it was stopped since a person has answered; never a second time.

        Who releases a stop stands beside the arm: it has to stay still until another answer.
        """
        arm.wait_for_state(from_ns, time.monotonic() + self._deadline_s)
        if reason := self._watch.unwanted() or arm.guard.fault or arm.guard.stopped:
            return Reply(command, ok=False, message=reason)
        request = srv.RearmArm.Request(reason="a person said that the way is free")
        request.from_stamp, request.heartbeat_limit_s = time_of(from_ns), SILENCE_S
        try:
            reply = self._send(command, self._rearm, request)
        except EmbodiedIqaError as error:
            reply = Reply(command, ok=False, message=str(error))
        if not reply.ok:
            arm.guard.refuse(reply.message, time.monotonic())
        return replace(reply, stamp_ns=self._now_ns())

    def _rearm_from(self, command: Command, from_ns: int) -> Reply:
        """Rearm, again until the deadline: the arm may not have reached the stamp yet.

        An arm is not armed for a trial that nobody wants any more. A real one is asked only once.
        """
        if self._return is not None:
            return self._rearm_once(command, from_ns, self._return)
        request = srv.RearmArm.Request(reason="a run begins", from_stamp=time_of(from_ns))
        return replace(self._insist(command, self._rearm, request), stamp_ns=self._now_ns())

    def _insist(self, command: Command, client: Client[RequestT, AnswerT], request: RequestT) -> Reply:
        """Send a request again until the deadline: what its node waits for may not have come yet.

        Nothing begins for a trial that nobody wants any more. The reply has the last reason to wait as
        its message, where it has none of its own.
        """
        begun, waited = time.monotonic(), ""
        news = WaitNews(self._watch.say)
        news.begin(begun)
        while True:
            if reason := self._watch.unwanted():
                return Reply(command, ok=False, message=reason)
            reply, now = self._send(command, client, request), time.monotonic()
            if reply.ok or now > begun + self._deadline_s:
                return replace(reply, message=reply.message or waited)
            waited = reply.message
            news.tell(f"{_WAITING[type(command)]}: {reply.message}", self._watch.fault, now)
            time.sleep(_AGAIN_S)

    def _send(self, command: Command, client: Client[RequestT, AnswerT], request: RequestT) -> Reply:
        response = call(client, request, self._deadline_s)
        return Reply(command, ok=response.success, message=response.message)

    def _now_ns(self) -> int:
        return self._node.get_clock().now().nanoseconds

    def _set_recording(self, command: OpenRecording | CloseRecording) -> Reply:
        request = srv.RecordTrial.Request(start=isinstance(command, OpenRecording))
        deadline_s = self._deadline_s
        if request.start:
            request.path = self._goal.recording
            request.metadata_keys = self._goal.metadata_keys
            request.metadata_values = self._goal.metadata_values
        else:
            deadline_s = self._config.reply_deadline_s  # queued messages are written in any case
            time.sleep(self._config.drain_s)  # messages on their way to the recorder are part of the trial
        response = call(self._record, request, deadline_s)
        return Reply(command, ok=response.success, message=response.message)

    def _reset_world(self, command: Command, seed: int, task: str) -> Reply:
        if not self._config.simulated:
            return Reply(command, ok=True, stamp_ns=self._now_ns())
        request = srv.ResetWorld.Request(scene_seed=seed, instruction=task)
        response = call(self._reset, request, self._deadline_s)
        return Reply(command, response.success, response.message, ns_of(response.stamp))

    def _set_distortion(self, command: SetDistortion) -> Reply:
        request = srv.SetDistortion.Request(
            distortion=spec_to_msg(command.spec),
            from_stamp=time_of(command.from_ns),
            or_later=command.or_later,
        )
        response = call(self._distort, request, self._config.reply_deadline_s)
        return Reply(command, response.success, response.message, ns_of(response.state.header.stamp))

    def _ask_vlm(self, command: AskVlm) -> None:
        request = srv.AskVlm.Request(
            task=self._goal.task, source=int(command.source), stamp=time_of(command.stamp_ns)
        )
        if not self._ask.service_is_ready():
            self._report(Answered(command.source, command.stamp_ns, ok=False, message="no service /vlm/ask"))
            return

        def answered(future: Future[srv.AskVlm.Response]) -> None:
            response = future.result()
            self._report(Answered(command.source, command.stamp_ns, response.success, response.message))

        begin_call(self._ask, request, answered)
