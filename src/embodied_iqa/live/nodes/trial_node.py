"""Trial node: an action that runs a task on the graph, a reference run and distorted runs."""

from __future__ import annotations

import queue
import time
from functools import partial

import numpy as np
from embodied_iqa_msgs import msg as ours
from embodied_iqa_msgs.action import RunTrial
from geometry_msgs.msg import PoseStamped
from rclpy.action import ActionServer, CancelResponse, GoalResponse
from rclpy.callback_groups import MutuallyExclusiveCallbackGroup, ReentrantCallbackGroup
from sensor_msgs.msg import CameraInfo
from std_msgs.msg import Bool
from std_srvs.srv import Trigger

from embodied_iqa.arm.robot.messages import StopCause
from embodied_iqa.base.errors import EmbodiedIqaError, UserError
from embodied_iqa.base.units import SECOND_NS
from embodied_iqa.live.ros.actions import RESULT_KEPT_S
from embodied_iqa.live.ros.calls import ENDING
from embodied_iqa.live.ros.conversion import chunk_failure, chunk_status, ns_of, pose_of, spec_of, trial_event
from embodied_iqa.live.ros.frames import tool_pose_of
from embodied_iqa.live.ros.lifecycle import LifecycleManager
from embodied_iqa.live.ros.names import TRIAL_ACTION
from embodied_iqa.live.ros.node import BaseNode, Health, leave, main_of
from embodied_iqa.live.ros.qos import EVENT, LATCHED, STATE, adjustable
from embodied_iqa.live.ros.spinning import ThreadedExecutor
from embodied_iqa.live.ros.trial_commands import TrialCommands
from embodied_iqa.live.ros.trial_watch import TrialHandle, TrialWatch
from embodied_iqa.models.scoring.execution_score import Outcome
from embodied_iqa.runs.graph.parameters import TrialParameters
from embodied_iqa.runs.trial.driver import TrialDriver
from embodied_iqa.runs.trial.judging import AskingTrial, utc_of
from embodied_iqa.runs.trial.protocol import (
    ArmSeen,
    AskPerson,
    ChunkSeen,
    Command,
    Deciding,
    EndedByPerson,
    Event,
    Finish,
    FrameSeen,
    MarkRunEnd,
    MarkRunStart,
    RunResult,
    RunWorld,
    Stage,
    TrialPlan,
    WorldSeen,
)
from embodied_iqa.runs.trial.start_patience import StartPatience
from embodied_iqa.runs.trial.state import TrialState
from embodied_iqa.world.tasks.instruction import parse_instruction
from embodied_iqa.world.tasks.sentence import check_sentence

_POLL_S = 0.1
_OUTCOMES = {
    Outcome.SUCCESS: ours.TrialEvent.OUTCOME_SUCCESS,
    None: ours.TrialEvent.OUTCOME_NONE,
    Outcome.FAILURE: ours.TrialEvent.OUTCOME_FAILURE,
    Outcome.EMERGENCY_STOP: ours.TrialEvent.OUTCOME_EMERGENCY_STOP,
    Outcome.HELD_BY_GATE: ours.TrialEvent.OUTCOME_HELD_BY_GATE,
    Outcome.NO_TARGET: ours.TrialEvent.OUTCOME_NO_TARGET,
}


class TrialNode(BaseNode[TrialParameters]):
    """/trial/run drives the state machine; messages of the graph are its events."""

    def __init__(self) -> None:
        super().__init__("trial_node", TrialParameters)
        self._events: queue.SimpleQueue[Event] = queue.SimpleQueue()
        self._watch = TrialWatch(self)
        self._commands = TrialCommands(self, self.config, self._watch, self._events.put)
        group = ReentrantCallbackGroup()
        self._lifecycle = LifecycleManager(self, self.config.managed_nodes, group)
        self._busy = False
        self._goal = RunTrial.Goal()
        self._pose = np.eye(4)
        self._published_ns: list[int] = []
        self._views_shown, self._views_seen = set[str](), set[str]()
        self._event_publisher = self.create_publisher(ours.TrialEvent, "trial/events", EVENT)
        self._subscribe()
        self._server = ActionServer(
            self,
            RunTrial,
            TRIAL_ACTION,
            execute_callback=self._execute,
            goal_callback=self._accept,
            cancel_callback=self._cancel,
            callback_group=group,
            result_timeout=RESULT_KEPT_S,
        )
        self.create_service(Trigger, "trial/end_run", self._end_run, callback_group=group)

    def health(self) -> Health:
        """Return the stage and the task of the trial."""
        return Health(message=self._watch.stage.name.lower(), values={"task": self._goal.task})

    def end(self) -> None:
        """Abort a return of the arm; the action ends by itself."""
        self._commands.interrupt()

    # --- messages of the graph to events --------------------------------------------------------------------

    def _subscribe(self) -> None:
        on = partial(self.create_subscription, callback_group=MutuallyExclusiveCallbackGroup())
        on(ours.GateLease, "gate/lease", self._lease_seen, STATE)
        on(ours.SimState, "sim/status", self._world_seen, LATCHED)
        on(ours.ArmStatus, "arm/status", self._arm_seen, EVENT)
        on(ours.ActionChunk, "vla/actions", self._chunk_seen, EVENT)
        on(ours.ActionChunk, "vla/reference_actions", partial(self._chunk_seen, is_reference=True), EVENT)
        on(Bool, "vla/deciding", lambda message: self._happened(Deciding(message.data)), EVENT)
        on(PoseStamped, "arm/tool_pose", self._pose_seen, **adjustable(STATE))
        for view in self.config.views:
            on(CameraInfo, f"camera/{view}/camera_info", partial(self._image_seen, view), **adjustable(STATE))

    def _happened(self, event: Event) -> None:
        """Queue an event of the current trial; between trials nothing would consume it."""
        if self._busy:
            self._events.put(event)

    def _lease_seen(self, lease: ours.GateLease) -> None:
        self._views_seen.add(lease.view)
        stamp_ns = ns_of(lease.header.stamp)
        rejection = "" if lease.verdict == ours.GateLease.VERDICT_PASS else lease.reason or "no reason given"
        self._happened(FrameSeen(stamp_ns, rejection))
        if not self.config.simulated:  # no simulator reports the world: images carry the time
            self._happened(WorldSeen(stamp_ns, False, "", self._pose))

    def _world_seen(self, world: ours.SimState) -> None:
        stamp_ns, contact = ns_of(world.header.stamp), world.contact_violation
        self._happened(WorldSeen(stamp_ns, world.task_success, contact, self._pose, world.task_missing))

    def _arm_seen(self, arm: ours.ArmStatus) -> None:
        moving = arm.state == ours.ArmStatus.STATE_EXECUTING
        broken_down = bool(arm.stop_cause) and StopCause(arm.stop_cause).is_breakdown
        stamp_ns, held = ns_of(arm.header.stamp), arm.held_by_gate
        self._happened(ArmSeen(stamp_ns, moving, arm.emergency_stop, arm.reason, broken_down, held))

    def _chunk_seen(self, chunk: ours.ActionChunk, *, is_reference: bool = False) -> None:
        stamp_ns, status = ns_of(chunk.header.stamp), chunk_status(chunk)
        self._happened(ChunkSeen(stamp_ns, status, chunk_failure(chunk), is_reference))

    def _pose_seen(self, pose: PoseStamped) -> None:
        T_base_tool = tool_pose_of(self, pose)
        self._pose = self._pose if T_base_tool is None else T_base_tool

    def _image_seen(self, view: str, info: CameraInfo) -> None:
        self._views_shown.add(view)
        if self._busy:
            self._published_ns.append(ns_of(info.header.stamp))

    # --- the action -----------------------------------------------------------------------------------------

    def _accept(self, _goal: RunTrial.Goal) -> GoalResponse:
        if self._busy:
            return GoalResponse.REJECT
        self._busy = True
        return GoalResponse.ACCEPT

    def _cancel(self, _handle: TrialHandle) -> CancelResponse:
        self._commands.interrupt()
        return CancelResponse.ACCEPT

    def _end_run(self, _request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        """End the present run or way back for a person; the state machine ignores it once a run has ended."""
        response.success = self._busy and self._watch.stage is Stage.EXECUTE
        if response.success:
            self._events.put(EndedByPerson())
        elif self._busy and self._commands.stop_return():
            response.success = True
        else:
            response.message = f"no run is under way (stage: {self._watch.stage.name.lower()})"
        return response

    def _execute(self, handle: TrialHandle) -> RunTrial.Result:
        result = RunTrial.Result()
        try:
            self._goal = handle.request
            self._commands.begin(self._goal)
            plan = self._plan()
            self._watch.begin(handle)
            self._wait_for_graph()
            state = self._drive(plan)
            result.success, result.message = not state.problem, state.problem or "; ".join(state.remarks)
            result.runs = len(state.results)
        except EmbodiedIqaError as error:
            result.message = str(error)
            self.get_logger().error(result.message)
        finally:
            self._commands.tell_start(result)
            self._busy, self._watch.stage = False, Stage.DONE
        if handle.is_cancel_requested:
            handle.canceled()
        elif result.success:
            handle.succeed()
        else:
            handle.abort()
        return result

    def _plan(self) -> TrialPlan:
        goal, config = self._goal, self.config
        specs = tuple(spec for message in goal.distortions if (spec := spec_of(message)) is not None)
        if len(specs) < len(goal.distortions):
            raise UserError("a distorted run needs a distortion; the reference run is implied")
        return TrialPlan(
            task=str(parse_instruction(goal.task)) if config.simulated else check_sentence(goal.task),
            scene_seed=goal.scene_seed,
            distortions=specs,
            run_limit_ns=round(config.run_limit_s * SECOND_NS),
            no_motion_limit_ns=round(config.no_motion_limit_s * SECOND_NS),
            settle_ns=round(config.settle_s * SECOND_NS),
            hold_limit_ns=round(config.hold_limit_s * SECOND_NS),
            stops_time=config.simulated,
            has_arm=config.has_arm,
            has_vlm=config.has_vlm,
            attended=config.attended,
            has_start=bool(goal.start_pose),
        )

    def _wait_for_graph(self) -> None:
        """Activate the managed nodes, then wait until images reach gate and subjects."""
        patience = StartPatience(self.config.managed_nodes, self.config.start_deadline_s)

        def check(problem: str = "") -> None:
            if reason := self._watch.unwanted() or ("the node is stopping" if ENDING.is_set() else ""):
                raise UserError(reason)
            patience.check(problem)

        self._lifecycle.bring_up(patience.limit_s, check, patience.note)
        self._views_shown.clear()
        self._views_seen.clear()
        self._commands.carry_out(RunWorld(running=True))
        reported = ""
        while problem := self._commands.with_arm_fault(
            patience.missing_views(self.config.views, self._views_shown, self._views_seen, self._watch.fault)
            or patience.noted("subject", self._commands.subjects_problem(self._goal.task))
        ):
            if self._watch.fault and reported != problem:
                reported = problem
                self._watch.say(problem)
            check(problem)
            time.sleep(_POLL_S)

    def _drive(self, plan: TrialPlan) -> TrialState:
        while not self._events.empty():
            self._events.get()
        started_ns = self.get_clock().now().nanoseconds
        self._publish_mark(plan, ours.TrialEvent.KIND_TRIAL_START, started_ns)
        self._commands.asking = AskingTrial(plan.task, plan.run_count, utc_of(started_ns))
        driver = TrialDriver(plan, self.config.stall_limit_s, time.monotonic())
        commands = driver.commands
        self._watch.recording_fault = ""
        while True:
            self._watch.show(driver.state)  # first: a command such as a return takes its time
            for command in commands:
                if isinstance(command, Finish):
                    return driver.state
                self._do(plan, command)
                if isinstance(command, AskPerson):
                    self._watch.ask(command, self._commands.words_of(command))
            event = self._next_event()
            self._commands.check_deadline()
            problem = self._watch.unwanted() or self._lifecycle.problem or self._watch.recording_fault
            commands = driver.handle(event, time.monotonic(), problem=problem, fault=self._watch.fault)
            if driver.gave_up:
                self._commands.hurry()

    def _next_event(self) -> Event | None:
        if ENDING.is_set():
            raise UserError("the node is stopping")
        try:
            return self._events.get(timeout=_POLL_S)
        except queue.Empty:
            return None

    def _do(self, plan: TrialPlan, command: Command) -> None:
        if isinstance(command, MarkRunStart):
            kind, start_ns = ours.TrialEvent.KIND_RUN_START, command.start_ns
            self._publish_mark(plan, kind, start_ns, command.run_index, start_ns)
        elif isinstance(command, MarkRunEnd):
            self._publish_run_end(plan, command.result)
        else:
            self._commands.carry_out(command)

    def _publish_run_end(self, plan: TrialPlan, result: RunResult) -> None:
        kind = ours.TrialEvent.KIND_RUN_END
        event = trial_event(plan, kind, result.end_ns, result.run_index, result.start_ns)
        event.outcome, event.reason = _OUTCOMES[result.outcome], result.reason
        event.tool_pose = pose_of(result.T_base_tool)
        event.frames_published = sum(
            result.start_ns <= stamp_ns <= result.end_ns for stamp_ns in self._published_ns
        )
        self._published_ns.clear()
        self._event_publisher.publish(event)
        if result.run_index + 1 == plan.run_count:
            self._publish_mark(plan, ours.TrialEvent.KIND_TRIAL_END, self.get_clock().now().nanoseconds)

    def _publish_mark(
        self, plan: TrialPlan, kind: int, stamp_ns: int, run_index: int = 0, start_ns: int = 0
    ) -> None:
        self._event_publisher.publish(trial_event(plan, kind, stamp_ns, run_index, start_ns))


def main() -> int:
    """Run the node; the action blocks one of the threads."""
    return main_of(TrialNode, executor=lambda: ThreadedExecutor(4))


if __name__ == "__main__":
    leave(main())
