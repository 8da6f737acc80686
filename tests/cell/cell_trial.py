"""The trial of the virtual cell: the product's driver and machine, and its commands as calls of services."""

from __future__ import annotations

from collections import deque
from functools import partial
from typing import Any

import numpy as np
from cell_robot import Snapshot
from event_queue import MS_NS, SECOND_NS, Actor, EventQueue, Service

from embodied_iqa.arm.robot.arm_runner import ArmReport
from embodied_iqa.arm.verdict import GateLease, Verdict
from embodied_iqa.data.recording.trial_record import ChunkRecord
from embodied_iqa.runs.trial import protocol
from embodied_iqa.runs.trial.driver import TrialDriver, arm_seen

DEADLINE_NS, HURRY_NS, AGAIN_NS = SECOND_NS, 300 * MS_NS, 20 * MS_NS
STALL_S = 1.5
_POLL_NS = 100 * MS_NS


class Trial(Actor):
    """trial_node: one event after the other; a command that expects a reply blocks the next event."""

    def __init__(self, queue: EventQueue, plan: protocol.TrialPlan, services: dict[str, Service]) -> None:
        super().__init__(queue, "trial_node")
        self._services = services
        self._plan = plan
        self._events: deque[protocol.Event] = deque()
        self._commands: deque[protocol.Command] = deque()
        self._is_busy = self._is_calling = False
        self._deadline_ns = DEADLINE_NS
        self._T_base_tool = np.eye(4)
        self.finish: protocol.Finish | None = None
        self.fault = ""
        self.marks: list[protocol.MarkRunStart | protocol.MarkRunEnd] = []
        self.asked: list[protocol.AskVlm] = []
        self.answers: list[tuple[int, int]] = []
        """(stamp of the frame that was asked about, number of runs that had ended before the answer)"""

    def begin(self) -> None:
        self.driver = TrialDriver(self._plan, STALL_S, self.queue.now_ns / SECOND_NS)
        self._commands.extend(self.driver.commands)
        self._is_busy = True
        self.every(_POLL_NS, partial(self._pump, idle=True))

    # --- messages of the graph to events --------------------------------------------------------------------

    def take_lease(self, lease: GateLease) -> None:
        rejection = "" if lease.verdict is Verdict.PASS else lease.reason or "no reason given"
        self._happened(protocol.FrameSeen(lease.frame_stamp_ns, rejection))
        if not self._plan.stops_time:
            self._happened(protocol.WorldSeen(lease.frame_stamp_ns, False, "", self._T_base_tool))

    def take_world(self, world: Snapshot) -> None:
        if self._plan.stops_time:
            missing = "" if world.is_done else "the arm has not moved"
            self._happened(protocol.WorldSeen(world.stamp_ns, world.is_done, "", self._T_base_tool, missing))

    def take_report(self, report: ArmReport) -> None:
        if report.T_base_tool is not None:
            self._T_base_tool = report.T_base_tool
        self._happened(arm_seen(report))

    def take_decision(self, record: ChunkRecord) -> None:
        self._happened(protocol.ChunkSeen(record.stamp_ns, record.status, record.failure))

    def take_deciding(self, busy: bool) -> None:
        self._happened(protocol.Deciding(busy))

    def take_end(self) -> None:
        self._happened(protocol.EndedByPerson())

    def _happened(self, event: protocol.Event) -> None:
        if self._is_busy:  # between trials nothing would consume it
            self._events.append(event)
            self._pump()

    # --- the loop of the action -----------------------------------------------------------------------------

    def _pump(self, *, idle: bool = False) -> None:
        while not self._is_calling and self.finish is None:
            if self._commands:
                self._carry_out(self._commands.popleft())
            elif self._events or idle:
                event = self._events.popleft() if self._events else None
                idle = False
                now_s = self.queue.now_ns / SECOND_NS
                self._commands.extend(self.driver.handle(event, now_s, fault=self.fault))
                if self.driver.gave_up:
                    self._deadline_ns = HURRY_NS
            else:
                return

    def _carry_out(self, command: protocol.Command) -> None:
        match command:
            case protocol.Finish():
                self.finish = command
            case protocol.MarkRunStart() | protocol.MarkRunEnd():
                self.marks.append(command)
            case protocol.AskVlm(_, stamp_ns):
                self.asked.append(command)
                done = partial(self._answered, command)
                self._services["ask"].call(self, stamp_ns, done, 100 * SECOND_NS)
            case protocol.Rearm():
                self._rearm(command, self.queue.now_ns + self._deadline_ns)
            case protocol.RunWorld() | protocol.ResetWorld() if not self._plan.stops_time:
                self._reply(protocol.Reply(command, ok=True, stamp_ns=self._services["run"].server.now_ns))
            case _:
                self._call(command, *_request_of(command))

    def _answered(self, command: protocol.AskVlm, response: Any, problem: str) -> None:
        ok = response is not None and response[0]
        self.answers.append((command.stamp_ns, len(self.driver.state.results)))
        self._happened(protocol.Answered(command.source, command.stamp_ns, ok, problem))

    def _call(self, command: protocol.Command, name: str, request: Any) -> None:
        self._is_calling = True

        def done(response: Any | None, problem: str) -> None:
            self._is_calling = False
            self._reply(_reply_of(command, response, problem))
            self._pump()

        self._services[name].call(self, request, done, self._deadline_ns)

    def _rearm(self, command: protocol.Rearm, until_ns: int) -> None:
        """Arm, again until the deadline: the arm may not have reached the stamp yet."""
        self._is_calling = True

        def done(response: Any | None, problem: str) -> None:
            reply = _reply_of(command, response, problem)
            if response is None or reply.ok or self.queue.now_ns > until_ns:
                self._is_calling = False
                self._reply(reply)
                self._pump()
            else:
                self.after(AGAIN_NS, partial(self._rearm, command, until_ns))

        self._services["rearm"].call(self, command.from_ns, done, self._deadline_ns)

    def _reply(self, reply: protocol.Reply) -> None:
        self._events.append(reply)


def _request_of(command: protocol.Command) -> tuple[str, Any]:
    match command:
        case protocol.OpenRecording() | protocol.CloseRecording():
            return "record", isinstance(command, protocol.OpenRecording)
        case protocol.ResetWorld():
            return "reset", None
        case protocol.RunWorld(running):
            return "run", running
        case protocol.SetDistortion(spec, from_ns, or_later):
            return "distort", (spec, from_ns, or_later)
        case protocol.StopArm(reason):
            return "stop", reason
        case protocol.SetTask(task, from_ns):
            return "set_task", (task, from_ns)
    raise AssertionError(f"the virtual cell has no service for {command}")


def _reply_of(command: protocol.Command, response: Any | None, problem: str) -> protocol.Reply:
    match response:
        case None:
            return protocol.Reply(command, ok=False, message=problem)
        case bool():
            return protocol.Reply(command, ok=response)
        case int():
            return protocol.Reply(command, ok=True, stamp_ns=response)
        case ok, message:
            return protocol.Reply(command, ok=ok, message=message)
        case ok, message, stamp_ns:
            return protocol.Reply(command, ok=ok, message=message, stamp_ns=stamp_ns)
    raise AssertionError(f"an unknown response: {response}")
