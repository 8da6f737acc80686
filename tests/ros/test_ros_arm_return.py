"""The return of a real arm to its start ends, and the arm stops, when nobody wants the trial any more."""

from __future__ import annotations

import time
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from embodied_iqa_msgs.action import RunTrial
from embodied_iqa_msgs.msg import ActionChunk, ArmStatus, GateLease
from geometry_msgs.msg import PoseStamped
from std_msgs.msg import Empty

from embodied_iqa.arm.robot.limits import ArmLimits
from embodied_iqa.arm.robot.supervision import Supervision
from embodied_iqa.imaging.images.frame import View
from embodied_iqa.live.ros import arm_return, trial_commands
from embodied_iqa.live.ros.arm_return import ArmReturn
from embodied_iqa.live.ros.calls import NoResponseError
from embodied_iqa.live.ros.conversion import header_of, pose_of, start_of
from embodied_iqa.live.ros.goals import goal_of
from embodied_iqa.live.ros.trial_commands import TrialCommands
from embodied_iqa.live.ros.trial_watch import TrialWatch
from embodied_iqa.runs.trial.protocol import (
    AskPerson,
    CheckArm,
    Command,
    Rearm,
    Reply,
    SetDistortion,
    SetTask,
    Stage,
    StopArm,
)

GONE = "the terminal of this trial has gone"
LIMIT_S = 60.0


class Wires:
    """A node whose topics end in this test; an arm that accepts every goal and never arrives.

    Attributes:
        at_work: Whether the arm has accepted a goal.
        sent: The goal.
    """

    def __init__(self) -> None:
        self.listeners: dict[str, Callable[[Any], None]] = {}
        self.at_work = False
        self.sent = ActionChunk()

    def create_publisher(self, *_: object) -> Wires:
        return self

    def get_namespace(self) -> str:
        return "/"

    def create_subscription(
        self, _kind: object, topic: str, callback: Callable[[Any], None], *_: object, **__: object
    ) -> None:
        self.listeners[topic] = callback

    def publish(self, chunk: ActionChunk) -> None:
        self.at_work = True
        self.sent = chunk
        self.listeners["arm/status"](
            ArmStatus(state=ArmStatus.STATE_EXECUTING, has_goal=True, goal_sequence=chunk.sequence)
        )


class Bench:
    """A return with what it reads; the client goes at the chosen moment.

    Args:
        passes: Whether the gate passes images.
        leaves: Whether the client has gone, asked while the return waits.
        fails: Command that nobody answers.
        at_m: Where the arm is; None where that is not known.
        fault: What a node reports of itself, asked while the return waits for a lease.
        views: Cameras of the trial.
    """

    def __init__(
        self,
        *,
        passes: bool,
        leaves: Callable[[Wires], bool],
        fails: type[Command] | None = None,
        at_m: float | None = -0.45,
        fault: Callable[[], str] = str,
        views: tuple[View, ...] = (View.TOP,),
    ) -> None:
        self.stamp_ns, self.views = 0, views
        self.done: list[type[Command]] = []
        self._fails = fails
        self.wires, self._passes, self._leaves = Wires(), passes, leaves
        self.asked = 0
        self.said: list[str] = []
        self.say, self._fault = self.said.append, fault
        self.arm = ArmReturn(
            self.wires,  # type: ignore[arg-type]
            ArmLimits(),
            LIMIT_S,
            self._do,
            self,
            views=views,
        )
        if at_m is not None:
            self.put(at_m)

    def report(self, status: DiagnosticStatus) -> None:
        self.wires.listeners["/diagnostics"](DiagnosticArray(status=[status]))

    def put(self, x_m: float) -> None:
        T = np.diag([1.0, -1.0, -1.0, 1.0])
        T[:3, 3] = x_m, 0.1, 0.3
        self.wires.listeners["arm/tool_pose"](PoseStamped(pose=pose_of(T)))

    def judge(self, view: View, reason: str = "") -> None:
        """Judge an image: it passes, unless there is a reason."""
        self.stamp_ns += 1
        verdict = GateLease.VERDICT_HOLD if reason else GateLease.VERDICT_PASS
        lease = GateLease(header=header_of(self.stamp_ns), view=view, verdict=verdict, reason=reason)
        self.wires.listeners["gate/lease"](lease)

    def _do(self, command: Command) -> Reply:
        self.done.append(type(command))
        if type(command) is self._fails:
            raise NoResponseError(f"no response to {type(command).__name__}")
        return Reply(command, ok=True)

    @property
    def fault(self) -> str:
        return self._fault()

    def unwanted(self) -> str:
        self.asked += 1
        for view in self.views if self._passes else ():
            self.judge(view)
        return GONE if self._leaves(self.wires) else ""


@pytest.mark.parametrize(
    ("passes", "leaves", "done"),
    [
        (True, lambda wires: wires.at_work, [SetDistortion, Rearm, StopArm]),
        (False, lambda _wires: True, [StopArm]),
    ],
    ids=["while it moves", "before the gate passes an image"],
)
def test_a_return_ends_with_its_client(
    *, passes: bool, leaves: Callable[[Wires], bool], done: list[type[Command]]
) -> None:
    """An arm that nobody wants any more is not armed again."""
    bench = Bench(passes=passes, leaves=leaves)
    assert bench.arm.check(0) == ""
    bench.put(-0.55)
    assert bench.arm.go() == f"the arm is not back at its start: {GONE}"
    assert bench.done == done
    assert bench.asked > 0


def test_only_the_way_back_is_executed_whole_by_an_arm_with_a_receding_horizon() -> None:
    bench = Bench(passes=True, leaves=lambda wires: wires.at_work)
    assert bench.arm.check(0) == ""
    bench.put(-0.55)
    bench.arm.go()
    assert goal_of(bench.wires.sent).whole
    assert not goal_of(ActionChunk(view="top", subject="classical-vla")).whole


@pytest.mark.parametrize("fails", [SetDistortion, Rearm])
def test_the_arm_is_stopped_when_a_command_is_not_answered(fails: type[Command]) -> None:
    bench = Bench(passes=True, leaves=lambda _wires: False, fails=fails)
    assert bench.arm.check(0) == ""
    bench.put(-0.55)
    with pytest.raises(NoResponseError):
        bench.arm.go()
    assert bench.done[-2:] == [fails, StopArm]


class Clock:
    """The time of a return: a poll's sleep passes it, and `moments` happen in it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now_s = 0.0
        self.moments: list[tuple[float, Callable[[], None]]] = []
        monkeypatch.setattr(
            arm_return, "time", SimpleNamespace(monotonic=lambda: self.now_s, sleep=self.sleep)
        )

    def sleep(self, seconds: float) -> None:
        self.now_s += seconds
        while self.moments and self.moments[0][0] <= self.now_s:
            self.moments.pop(0)[1]()


def test_a_return_that_waits_for_a_lease_names_the_fault_at_once_again_and_in_its_reason(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = Clock(monkeypatch)
    silent = "camera_node: no image of top on /lab/image_raw for 2 s"
    bench = Bench(
        passes=False, leaves=lambda _wires: False, fault=lambda: silent if clock.now_s > 1.0 else ""
    )
    assert bench.arm.check(0) == ""
    bench.put(-0.55)
    assert bench.arm.go() == f"the arm is not back at its start: the gate passes no image of top; {silent}"
    words = f"the gate passes no image of top; {silent}"
    assert bench.said == 12 * [words], "at 1 s and every 5 s of the 60 s"
    assert bench.done == [SetDistortion, Rearm, StopArm]


@pytest.mark.parametrize(
    ("status", "words"),
    [
        ({"state": ArmStatus.STATE_EXECUTING}, "the tool is 100 mm and 0.0 degrees from the start"),
        (
            {"state": ArmStatus.STATE_EXECUTING, "step_index": 1},
            "on the way up the tool is 100 mm and 0.0 degrees from the start",
        ),
        (
            {"state": ArmStatus.STATE_HOLDING, "reason": "lease expired"},
            "the tool is 100 mm and 0.0 degrees from the start; lease expired",
        ),
        (
            {"state": ArmStatus.STATE_STOPPED, "reason": "protective stop"},
            "the arm has stopped: protective stop",
        ),
    ],
    ids=["begins", "goes up", "held", "stopped"],
)
def test_a_return_is_never_silent_for_longer_than_five_seconds(
    monkeypatch: pytest.MonkeyPatch, status: dict[str, Any], words: str
) -> None:
    clock = Clock(monkeypatch)
    bench = Bench(passes=True, leaves=lambda _wires: False)
    assert bench.arm.check(0) == ""
    bench.put(-0.55)
    report = ArmStatus(has_goal=True, goal_sequence=1, **status)
    clock.moments = [
        (1.0, lambda: bench.wires.listeners["arm/status"](report)),
        (13.0, bench.arm.interrupt),
    ]
    bench.arm.go()
    assert bench.said == [words, words]


def test_a_return_names_why_the_gate_passes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(monkeypatch)
    bench = Bench(passes=False, leaves=lambda _wires: False)
    assert bench.arm.check(0) == ""
    bench.put(-0.55)
    clock.moments = [(1.0, lambda: bench.judge(View.TOP, "too dark")), (6.0, bench.arm.interrupt)]
    bench.arm.go()
    assert bench.said == ["the gate passes no image of top (too dark)"]


def test_the_way_back_is_a_goal_on_an_image_of_every_camera_of_the_trial(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each image has passed: one that was held, or another camera's, sends nothing."""
    clock = Clock(monkeypatch)
    cameras = (View.TOP, View.WRIST)
    bench = Bench(passes=False, leaves=lambda wires: wires.at_work, views=cameras)
    assert bench.arm.check(0) == ""
    bench.put(-0.55)
    sent: list[bool] = []
    images = ((View.TOP, ""), (View.SIDE, ""), (View.WRIST, "too dark"), (View.TOP, ""), (View.WRIST, ""))
    for second, (view, reason) in enumerate(images, start=1):
        clock.moments += [
            (second, lambda view=view, reason=reason: bench.judge(view, reason)),  # type: ignore[misc]
            (second + 0.5, lambda: sent.append(bench.wires.at_work)),
        ]
    assert GONE in bench.arm.go()
    assert sent == 4 * [False], "it is sent with the fifth image"
    assert goal_of(bench.wires.sent).frames == ((View.WRIST, 5), (View.TOP, 4)), "the newest of each"


def test_an_interrupted_return_does_not_arm() -> None:
    bench = Bench(passes=True, leaves=lambda _wires: bool(bench.arm.interrupt()))
    assert bench.arm.check(0) == ""
    bench.put(-0.55)
    assert bench.arm.go() == "the arm is not back at its start: the return was interrupted"
    assert bench.done == [StopArm]


PRESSED = "the robot made an emergency stop (robot emergency stopped)"


class RealArm:
    """The commands of a trial on a real arm: what they ask of the arm's node is kept, and answered by it.

    Args:
        refusal: Why the node does not arm; empty where it does.
    """

    def __init__(self, refusal: str = "") -> None:
        self.bench = Bench(passes=True, leaves=lambda _wires: False)
        self.commands = TrialCommands.__new__(TrialCommands)
        self.commands._deadline_s, self.commands._rearm = LIMIT_S, None  # type: ignore[assignment]
        self.commands._return, self.commands._watch = self.bench.arm, self.bench
        self.commands._now_ns = lambda: 0  # type: ignore[method-assign]
        self.commands._send = self._send  # type: ignore[method-assign,assignment]
        self.commands._pause_recording = lambda **_: None  # type: ignore[method-assign]
        self.commands._report = self._take  # type: ignore[assignment]
        self.refusal, self.asked = refusal, 0
        self.replies: list[Reply] = []
        self.report("")
        self.bench.wires.listeners["arm/status"](ArmStatus(state=ArmStatus.STATE_STOPPED))

    def _send(self, command: Command, *_: object) -> Reply:
        self.asked += 1
        return Reply(command, ok=not self.refusal, message=self.refusal)

    def _take(self, reply: Reply) -> None:
        self.replies.append(reply)

    def report(self, fault: str) -> None:
        level = DiagnosticStatus.ERROR if fault else DiagnosticStatus.OK
        self.bench.report(DiagnosticStatus(name="arm_node", level=level, message=fault))

    def arm(self) -> Reply:
        return self.commands._do(Rearm(0))

    def answered(self, named: str) -> Reply:
        """Ask a question that names a stop; the person says yes."""
        asked = AskPerson(Stage.RECOVER, 0, named)
        self.bench.arm.guard.ask(named, time.monotonic())
        self.commands._answered(Reply(asked, ok=True, yes=True))
        return self.replies[-1]


def test_a_real_arm_is_not_asked_to_arm_while_it_is_stopped_nor_after_the_release() -> None:
    arm = RealArm()
    arm.report(PRESSED)
    assert arm.arm() == Reply(Rearm(0), ok=False, message=PRESSED)
    assert arm.answered(PRESSED).stopped == PRESSED, "it is still pressed"
    arm.report("")
    assert arm.arm() == Reply(Rearm(0), ok=False, message=PRESSED), "released, but nobody has answered"
    assert arm.asked == 0
    assert arm.answered(PRESSED).stopped == ""
    assert arm.arm().ok
    assert arm.asked == 1


def test_a_real_arm_that_refuses_to_arm_is_asked_once_for_each_answer() -> None:
    arm = RealArm(refusal="the gripper is silent")
    assert not arm.arm().ok
    arm.refusal = ""
    assert arm.arm().message == "the gripper is silent"
    assert arm.asked == 1
    assert arm.answered("the gripper is silent").stopped == ""
    assert arm.arm().ok


def test_a_real_arm_that_brakes_is_asked_to_arm_when_it_stands(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who answers quickly does not get the next question for it."""
    arm, clock = RealArm(), Clock(monkeypatch)
    status = arm.bench.wires.listeners["arm/status"]
    status(ArmStatus(state=ArmStatus.STATE_STOPPED, tool_speed=0.1))
    asked: list[int] = []
    clock.moments = [
        (0.3, lambda: asked.append(arm.asked)),
        (0.4, lambda: status(ArmStatus(state=ArmStatus.STATE_STOPPED))),
    ]
    assert arm.arm().ok
    assert asked == [0]


def test_a_stop_on_the_way_back_comes_with_its_reply() -> None:
    arm = RealArm()
    stopped = ArmStatus(state=ArmStatus.STATE_STOPPED, stop_cause="protective stop", reason="it hit")
    arm.bench.wires.listeners["arm/status"](stopped)
    assert arm.commands._with_stop(Reply(None, ok=False)).stopped == "it hit"


REPEATED = ((Rearm(0), "the arm does not arm"), (SetTask("wave", 0), "the policy does not begin"))


def repeating(watch: SimpleNamespace, send: Callable[[Command], Reply], deadline_s: float) -> TrialCommands:
    """Return commands without an arm whose node answers like this."""
    commands = TrialCommands.__new__(TrialCommands)
    commands._deadline_s, commands._return = deadline_s, None
    commands._rearm = commands._set_task = None  # type: ignore[assignment]
    commands._watch, commands._now_ns = watch, lambda: 0  # type: ignore[method-assign]
    commands._send = lambda command, *_: send(command)  # type: ignore[method-assign]
    return commands


@pytest.mark.parametrize("command", [command for command, _ in REPEATED])
def test_what_does_not_begin_is_not_asked_again_for_nobody(command: Command) -> None:
    asked: list[Command] = []
    watch = SimpleNamespace(
        unwanted=lambda: GONE if len(asked) == 2 else "", fault="", say=lambda _words: None
    )
    commands = repeating(watch, lambda one: (asked.append(one), Reply(one, ok=False))[1], LIMIT_S)
    reply = commands._do(command)
    assert (reply.ok, reply.message) == (False, GONE)
    assert len(asked) == 2


@pytest.mark.parametrize(("refused", "waited"), [(0, ""), (2, "not yet 2")])
def test_what_begins_at_last_says_what_it_waited_for(refused: int, waited: str) -> None:
    asked: list[Command] = []
    watch = SimpleNamespace(unwanted=str, fault="", say=lambda _words: None)

    def send(command: Command) -> Reply:
        asked.append(command)
        ok = len(asked) > refused
        return Reply(command, ok=ok, message="" if ok else f"not yet {len(asked)}")

    reply = repeating(watch, send, LIMIT_S)._do(SetTask("wave", 0))
    assert (reply.ok, reply.message) == (True, waited)


@pytest.mark.parametrize(("command", "said"), REPEATED)
def test_what_does_not_begin_is_told_every_five_seconds(
    command: Command, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    now_s = 0.0
    told: list[str] = []

    def sleep(seconds: float) -> None:
        nonlocal now_s
        now_s += seconds

    monkeypatch.setattr(trial_commands, "time", SimpleNamespace(monotonic=lambda: now_s, sleep=sleep))
    watch = SimpleNamespace(unwanted=str, fault="", say=told.append)
    commands = repeating(watch, lambda one: Reply(one, ok=False, message="not yet"), 12.0)
    assert not commands._do(command).ok
    assert told == 2 * [f"{said}: not yet"]


def test_a_policy_whose_images_lag_begins_when_they_come_and_ends_at_once() -> None:
    answers = iter([False, False, True])
    watch = SimpleNamespace(unwanted=str, fault="", say=lambda _words: None)
    commands = repeating(watch, lambda one: Reply(one, ok=next(answers)), LIMIT_S)
    assert commands._do(SetTask("wave", 0)).ok
    assert not list(answers)
    ending = repeating(watch, lambda one: Reply(one, ok=False, message="not active"), LIMIT_S)
    assert ending._do(SetTask("", 0)).message == "not active"


def test_an_arm_at_its_start_does_not_move() -> None:
    bench = Bench(passes=True, leaves=lambda _wires: True)
    assert bench.arm.check(0) == ""
    assert bench.arm.go() == ""
    assert bench.done == []


@pytest.mark.parametrize(
    ("level", "name", "said"),
    [
        (DiagnosticStatus.ERROR, "arm_node", "its inputs are in use"),
        (DiagnosticStatus.WARN, "arm_node", "the arm's pose is not known"),
        (DiagnosticStatus.ERROR, "gate_node", "the arm's pose is not known"),
        (DiagnosticStatus.ERROR, "cell2/arm_node", "the arm's pose is not known"),
    ],
)
def test_why_the_pose_is_not_known(level: bytes, name: str, said: str) -> None:
    bench = Bench(passes=True, leaves=lambda _wires: True, at_m=None)
    bench.report(DiagnosticStatus(name=name, level=level, message="its inputs are in use"))
    assert bench.arm.check(0) == said


@pytest.mark.parametrize("at_m", [None, -0.5])
def test_an_arm_with_a_fault_ends_the_trial_before_a_run(at_m: float | None) -> None:
    """Refused at connection, or lost after it: nobody is asked to prepare it."""
    bench = Bench(passes=True, leaves=lambda _wires: True, at_m=at_m)
    commands = TrialCommands.__new__(TrialCommands)
    commands._return = bench.arm
    for level, said in ((DiagnosticStatus.ERROR, "it is a UR10e"), (DiagnosticStatus.OK, "")):
        bench.report(DiagnosticStatus(name="arm_node", level=level, message="it is a UR10e"))
        assert commands._do(CheckArm()) == Reply(CheckArm(), ok=not said, message=said)
        bench.put(-0.5)


def test_a_start_that_waits_for_a_camera_names_the_fault_of_the_arm_too() -> None:
    bench = Bench(passes=True, leaves=lambda _wires: True, at_m=None)
    commands = TrialCommands.__new__(TrialCommands)
    commands._return = bench.arm
    silent = "camera_node: no image of top on /lab/image_raw for 2 s"
    assert commands.with_arm_fault(silent) == silent
    bench.report(DiagnosticStatus(name="arm_node", level=DiagnosticStatus.ERROR, message="it is a UR10e"))
    assert commands.with_arm_fault(silent) == f"{silent}; it is a UR10e"
    assert commands.with_arm_fault("") == ""


def test_a_fault_that_has_passed_is_no_cause() -> None:
    bench = Bench(passes=True, leaves=lambda _wires: True, at_m=None)
    for level in (DiagnosticStatus.ERROR, DiagnosticStatus.OK):
        bench.report(DiagnosticStatus(name="arm_node", level=level, message="its inputs are in use"))
    assert bench.arm.check(0) == "the arm's pose is not known"


def commands_of(bench: Bench) -> TrialCommands:
    commands = TrialCommands.__new__(TrialCommands)
    commands._return = bench.arm
    return commands


def test_questions_say_where_the_runs_begin_and_where_the_way_back_leads() -> None:
    bench = Bench(passes=True, leaves=lambda _wires: True)
    commands = commands_of(bench)
    first, recover = AskPerson(Stage.PREPARE, 0), AskPerson(Stage.RECOVER, 0)
    assert "now the tool at x -0.450, y 0.100, z 0.300 m in base" in commands.words_of(first)
    assert commands.words_of(recover) == "", "there is no start yet"
    assert bench.arm.check(0) == ""
    assert commands.words_of(recover) == "", "it is there"
    bench.put(-0.40)
    assert "up to z 0.350 m" in commands.words_of(recover)
    assert [commands.words_of(AskPerson(stage, 1)) for stage in (Stage.PREPARE, Stage.JUDGE)] == ["", ""]
    stop = [KeyValue(key="stop cause", value="protective stop")]
    bench.report(DiagnosticStatus(name="arm_node", level=DiagnosticStatus.ERROR, message="why", values=stop))
    for stage in (Stage.PREPARE, Stage.RECOVER):
        assert commands.words_of(AskPerson(stage, 1)).endswith(
            "First unlock the protective stop at the pendant (a safeguard stop: reset it)."
        )
    assert commands.words_of(AskPerson(Stage.JUDGE, 1)) == ""


def test_the_trials_of_a_command_begin_where_the_first_one_did() -> None:
    bench = Bench(passes=True, leaves=lambda _wires: True)
    commands, result = commands_of(bench), RunTrial.Result()
    bench.arm.begin(None)
    assert bench.arm.check(0) == ""
    commands.tell_start(result)
    bench.put(-0.40)
    given = start_of(RunTrial.Goal(start_pose=result.start_pose, start_gripper=result.start_gripper))
    bench.arm.begin(given)
    assert bench.arm.check(0) == "the tool is 50 mm and 0.0 degrees from the start"
    assert "before it moves there" in commands.words_of(AskPerson(Stage.PREPARE, 0))
    bench.put(-0.45)
    assert bench.arm.check(0) == ""
    assert start_of(RunTrial.Goal()) is None


def test_a_person_stops_the_way_back() -> None:
    stops: list[bool] = []

    def leaves(wires: Wires) -> bool:
        if wires.at_work and not stops:
            stops.append(commands.stop_return())
        return False

    bench = Bench(passes=True, leaves=leaves)
    commands = commands_of(bench)
    assert not commands.stop_return(), "it is not on its way"
    assert bench.arm.check(0) == ""
    bench.put(-0.40)
    assert bench.arm.go() == "the arm is not back at its start: stopped by a person"
    assert stops == [True]
    assert bench.done[-1] is StopArm
    assert not commands.stop_return()


@pytest.mark.parametrize(("limit_s", "silent"), [(0.0, False), (5.0, True)])
def test_no_arm_moves_for_a_client_that_is_frozen(
    limit_s: float, silent: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its process still counts as a subscriber; one that promises no heartbeat is only counted."""
    watch, now_s = TrialWatch.__new__(TrialWatch), [100.0]
    monkeypatch.setattr("embodied_iqa.live.ros.trial_watch.time.monotonic", lambda: now_s[0])
    watch._handle = SimpleNamespace(is_cancel_requested=False)  # type: ignore[assignment]
    watch._client = SimpleNamespace(gone=lambda _now_s: False)  # type: ignore[assignment]
    watch._supervision, watch.stage = Supervision("the terminal of this trial", "trial_node"), Stage.EXECUTE
    watch._supervision.begin(limit_s, now_s[0])
    watch._take_heartbeat(Empty())
    now_s[0] += 4.9
    assert watch.unwanted() == ""
    now_s[0] += 0.2
    ends = "the terminal of this trial has been silent for 5 s: the arm is stopped, and the trial ends"
    assert watch.unwanted() == (ends if silent else "")
    watch.stage = Stage.JUDGE
    assert watch.unwanted() == "", "the arm stands while it is asked"
    watch.stage = Stage.RESET
    assert watch.unwanted() == (ends if silent else "")
    watch._take_heartbeat(Empty())
    assert watch.unwanted() == ""


def watch_in(stage: Stage, take: Callable[[RunTrial.Feedback], object]) -> TrialWatch:
    """Return the watch of a trial in a stage, without a node; its feedback is taken."""
    watch = TrialWatch.__new__(TrialWatch)
    watch.stage, watch._said, watch._run_index, watch._reference_fault = stage, "", 0, ""
    watch._rests_since_s = time.monotonic()
    handle = SimpleNamespace(publish_feedback=take, request=SimpleNamespace(distortions=[]))
    watch._handle = handle  # type: ignore[assignment]
    return watch


def test_a_policy_that_fails_at_the_undistorted_images_alone_is_reported_once_in_each_run() -> None:
    """A server that answers twice: the second answer ends the connection before the next request."""
    said: list[tuple[int, str]] = []
    watch = watch_in(Stage.ARM, lambda feedback: said.append((feedback.stage, feedback.message)))
    failed = ActionChunk(status=ActionChunk.STATUS_FAILED, subject="pi0", reason="unrequested messages")
    runs = SimpleNamespace(stage=Stage.EXECUTE, fault="", ending="", run_index=0, at_rest="", held="")
    for chunk in (ActionChunk(), failed, failed):
        watch._take_reference(chunk)
        watch.show(runs)  # type: ignore[arg-type]
    words = "on the undistorted image, vla_node: pi0 failed: unrequested messages"
    assert said == [(Stage.EXECUTE, ""), (Stage.EXECUTE, words)]
    runs.fault = "camera_node: no image"
    watch.show(runs)  # type: ignore[arg-type]
    assert said[2:] == [(Stage.EXECUTE, runs.fault)], "what concerns the run itself comes first"
    watch.show(SimpleNamespace(stage=Stage.SETTLE, ending="done", run_index=0))  # type: ignore[arg-type]
    runs.fault = ""
    watch.show(runs)  # type: ignore[arg-type]
    assert said[3:] == [(Stage.SETTLE, "done"), (Stage.EXECUTE, "")], "it is of the run before"


def test_an_arm_that_rests_for_long_says_why_and_a_hold_of_the_gate_is_told_by_the_run(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now_s, said = [100.0], list[str]()
    monkeypatch.setattr("embodied_iqa.live.ros.trial_watch.time.monotonic", lambda: now_s[0])
    watch = watch_in(Stage.EXECUTE, lambda feedback: said.append(feedback.message))
    late = "the decision came too late: its image is 5145 ms old, at most 1500 ms"
    runs = SimpleNamespace(stage=Stage.EXECUTE, fault="", ending="", run_index=0, at_rest=late, held="")
    for held, step_s in (("", 2.9), ("dark", 0.2), ("", 2.9), ("", 0.2)):
        runs.held = held
        now_s[0] += step_s
        watch.show(runs)  # type: ignore[arg-type]
    assert said == [late]
    runs.at_rest = ""
    watch.show(runs)  # type: ignore[arg-type]
    assert said == [late, ""]


def test_a_way_back_is_reported_again_after_the_question_about_it() -> None:
    """Its stage is the one before the question, too: the arm moved while the bar named the question."""
    told: list[int] = []
    watch = watch_in(Stage.SETTLE, lambda feedback: told.append(feedback.stage))
    back = SimpleNamespace(stage=Stage.RESET, ending="", run_index=1)
    watch.show(back)  # type: ignore[arg-type]
    watch.ask(AskPerson(Stage.RECOVER, 0, "not there within 30 s"), "")
    watch.show(back)  # type: ignore[arg-type]
    assert told == [Stage.RESET, Stage.RECOVER, Stage.RESET]


def test_the_fault_of_the_cameras_comes_before_that_of_the_policy() -> None:
    watch = TrialWatch.__new__(TrialWatch)
    watch._faults, watch._node, watch.recording_fault = {}, Wires(), ""  # type: ignore[assignment]

    def report(name: str, level: bytes, message: str) -> str:
        status = DiagnosticStatus(name=name, level=level, message=message)
        watch._diagnosed(DiagnosticArray(status=[status]))
        return watch.fault

    assert report("vla_node", DiagnosticStatus.WARN, "it waits") == "vla_node: it waits"
    assert report("camera_node", DiagnosticStatus.ERROR, "silent") == "camera_node: silent"
    assert report("gate_node", DiagnosticStatus.WARN, "slow") == "camera_node: silent"
    assert report("camera_node", DiagnosticStatus.OK, "ok") == "vla_node: it waits"
    assert report("vla_node", DiagnosticStatus.OK, "ok") == ""
    slow = DiagnosticStatus(name="arm_node", message="executing: the speed slider is at 10%")
    slow.values = [KeyValue(key="slowed by", value="the speed slider is at 10%")]
    watch._diagnosed(DiagnosticArray(status=[slow]))
    assert watch.fault == "arm_node: the speed slider is at 10%"
    assert report("arm_node", DiagnosticStatus.WARN, "stopped: limit") == "", "the run ends and says so"
    assert report("vla_node", DiagnosticStatus.OK, "ok") == ""
