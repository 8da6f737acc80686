"""A trial on a real arm: a person prepares and judges each run, the arm goes back to its start between."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import pytest
from trial_world import PLAN, SECOND_NS, TICK_NS, FakeWorld, done_after, moves

from embodied_iqa.models.scoring.execution_score import Outcome
from embodied_iqa.runs.trial.attendance import Question, judged_next, question_text
from embodied_iqa.runs.trial.protocol import (
    ArmSeen,
    AskPerson,
    CheckArm,
    CheckStart,
    ChunkSeen,
    Command,
    Deciding,
    EndedByPerson,
    MarkRunEnd,
    MarkRunStart,
    Reply,
    ReturnToStart,
    SetDistortion,
    Stage,
)
from embodied_iqa.world.protocols import ChunkStatus

ATTENDED = replace(PLAN, attended=True, stops_time=False)
RUNS = ATTENDED.run_count
SILENT = "camera_node: no image of top on /lab/image_raw for 2 s (none since 10:00:00 UTC)"


@dataclass
class AttendedWorld(FakeWorld):
    """A world with a person.

    Attributes:
        answer: What the person says to a question; None: nobody answers.
        place: What is said of the arm's place, by command.
        arm: The reply to the question whether the arm is there.
    """

    plan: object = ATTENDED
    answer: Callable[[AskPerson], Reply | None] = lambda asked: Reply(asked, ok=True, yes=True)
    place: Callable[[Command], str] = lambda _command: ""
    arm: Reply = field(default_factory=lambda: Reply(CheckArm(), ok=True))
    asked: list[AskPerson] = field(default_factory=list)

    def reply(self, command: Command) -> Reply:
        if isinstance(command, AskPerson):
            self.asked.append(command)
            return self.answer(command) or Reply(None, ok=True)
        if isinstance(command, CheckArm):
            return replace(self.arm, to=command)
        if isinstance(command, CheckStart | ReturnToStart):
            problem = self.place(command)
            return Reply(command, ok=not problem, message=problem)
        return super().reply(command)


def outcomes(world: FakeWorld) -> list[Outcome | None]:
    return [result.outcome for result in world.state.results]


def test_each_run_is_prepared_checked_judged_and_led_back() -> None:
    world = AttendedWorld(on_tick=done_after(1.0)).play()
    asked = [(question.stage, question.run_index) for question in world.asked]
    assert asked == [(stage, run) for run in range(RUNS) for stage in (Stage.PREPARE, Stage.JUDGE)]
    kinds = [
        kind
        for kind in world.kinds()
        if kind in {"CheckStart", "MarkRunStart", "ReturnToStart", "MarkRunEnd"}
    ]
    assert kinds == RUNS * ["CheckStart", "MarkRunStart", "MarkRunEnd", "ReturnToStart"]
    assert world.finish is not None
    assert world.finish.ok


def test_a_trial_with_a_given_start_asks_before_the_arm_moves_there() -> None:
    """The trial before it in the same command has left the arm elsewhere."""
    places = ["the tool is 50 mm and 0.0 degrees from the start"]
    world = AttendedWorld(
        plan=replace(ATTENDED, has_start=True),
        on_tick=done_after(1.0),
        place=lambda command: places.pop() if places and isinstance(command, CheckStart) else "",
    ).play()
    asked = [(question.stage, question.run_index, question.problem) for question in world.asked[:4]]
    assert asked == [
        (Stage.PREPARE, 0, ""),
        (Stage.RECOVER, 0, "the tool is 50 mm and 0.0 degrees from the start"),
        (Stage.PREPARE, 0, ""),
        (Stage.JUDGE, 0, world.asked[3].problem),
    ]
    kinds = [kind for kind in world.kinds() if kind in {"CheckStart", "MarkRunStart", "ReturnToStart"}]
    assert kinds[:4] == ["CheckStart", "ReturnToStart", "CheckStart", "MarkRunStart"]


def test_the_stage_of_a_return_is_the_way_to_the_start_not_the_question_before_it() -> None:
    world = AttendedWorld(on_tick=done_after(1.0)).play()
    on_the_way = [
        stage
        for stage, kind in zip(world.stages, world.kinds(), strict=True)
        if kind in {"MarkRunEnd", "ReturnToStart"}
    ]
    assert on_the_way == 2 * RUNS * [Stage.RESET]


def test_where_time_does_not_stop_a_run_starts_where_its_distortion_and_schedule_do() -> None:
    """Images of later stamps may have passed: then both start after them."""

    class Ahead(AttendedWorld):
        def reply(self, command: Command) -> Reply:
            found = super().reply(command)
            return (
                replace(found, stamp_ns=found.stamp_ns + 7) if isinstance(command, SetDistortion) else found
            )

    world = Ahead(on_tick=done_after(1.0)).play()
    changes = [command for command in world.commands if isinstance(command, SetDistortion)]
    starts = [command.start_ns for command in world.commands if isinstance(command, MarkRunStart)]
    assert all(change.or_later for change in changes)
    assert starts == [change.from_ns + 7 for change in changes]


@pytest.mark.parametrize("world_says", [True, False])
def test_the_person_decides_not_the_world(world_says: bool) -> None:
    def answer(asked: AskPerson) -> Reply:
        return Reply(asked, ok=True, yes=asked.stage is Stage.PREPARE or asked.run_index == 1, message="seen")

    world = AttendedWorld(on_tick=done_after(1.0), answer=answer, success=world_says).play()
    assert outcomes(world) == [Outcome.FAILURE, Outcome.SUCCESS, Outcome.FAILURE]
    assert world.state.results[1].reason == "the VLA reported that the task is done; judged: done; seen"


def test_what_the_person_said_is_kept_where_the_policy_saw_no_target() -> None:
    def refuses(world: FakeWorld) -> list[object]:
        return [ChunkSeen(world.now_ns, ChunkStatus.NO_TARGET)]

    def answer(asked: AskPerson) -> Reply:
        return Reply(asked, ok=True, yes=asked.stage is Stage.PREPARE, message=f"run {asked.run_index}")

    world = AttendedWorld(on_tick=refuses, answer=answer, success=False).play()
    assert outcomes(world) == RUNS * [Outcome.NO_TARGET]
    reasons = [result.reason for result in world.state.results]
    assert reasons == [f"the policy saw no target; judged: not done; run {run}" for run in range(RUNS)]


@dataclass
class BlindWorld(AttendedWorld):
    """A camera that dies a second after the start of a run: only the arm reports from then on."""

    plan: object = field(default_factory=lambda: replace(ATTENDED, distortions=()))
    held: str = "lease expired"

    def tick(self) -> None:
        if self.state.stage is Stage.RESET or self.since_start_ns < SECOND_NS:
            super().tick()
            return
        self.now_ns += TICK_NS
        if self.state.stage is not Stage.JUDGE:
            self.state = replace(self.state, reported=SILENT)
        is_held = bool(self.held)
        self.step(
            ArmSeen(self.now_ns, moving=False, emergency_stop=False, reason=self.held, held_by_gate=is_held)
        )
        for event in self.on_tick(self):
            self.step(event)


def ended_by_a_person(world: FakeWorld) -> list[object]:
    return [EndedByPerson()] if world.since_start_ns >= 2 * SECOND_NS else []


@pytest.mark.parametrize(
    ("held", "on_tick", "words", "asked"),
    [
        ("lease expired", lambda _world: [], "held by the gate: lease expired", "the gate held the arm for"),
        ("", lambda _world: [], "the arm did not move", "the arm did not move"),
        ("", ended_by_a_person, "ended by a person", "ended by a person"),
    ],
    ids=["held", "no goal", "a person"],
)
def test_a_run_whose_camera_dies_ends_by_its_limits_and_is_judged(
    held: str, on_tick: Callable[[FakeWorld], list[object]], words: str, asked: str
) -> None:
    def answer(question: AskPerson) -> Reply:
        return Reply(question, ok=True, yes=question.stage is Stage.PREPARE)

    world = BlindWorld(on_tick=on_tick, answer=answer, success=False, held=held).play()
    assert world.finish is not None
    assert world.finish.ok, world.finish.message
    (result,) = world.state.results
    assert result.reason == f"{words}; {SILENT}; judged: not done"
    assert world.asked[-1].problem.startswith(asked)
    assert f"; {SILENT}\n" in world.asked[-1].problem
    assert world.now_ns - result.start_ns < 6 * SECOND_NS


def test_a_run_that_a_person_ends_while_the_gate_holds_the_arm_says_both() -> None:
    def answer(question: AskPerson) -> Reply:
        return Reply(question, ok=True, yes=question.stage is Stage.PREPARE)

    held = "the lease of the top view ran out 701 ms ago"
    world = BlindWorld(on_tick=ended_by_a_person, answer=answer, success=False, held=held).play()
    (result,) = world.state.results
    why = f"ended by a person while the gate held the arm: {held}; {SILENT}"
    assert world.asked[-1].problem == judged_next(why, "")
    assert (result.outcome, result.reason) == (Outcome.HELD_BY_GATE, f"{why}; judged: not done")


def test_a_person_reads_that_every_decision_came_too_late() -> None:
    def tick(world: FakeWorld) -> list[object]:
        late = ArmSeen(world.now_ns, moving=False, emergency_stop=False, reason="the decision came too late")
        return [late, Deciding(busy=True)]

    world = AttendedWorld(plan=replace(ATTENDED, distortions=()), on_tick=tick).play()
    why = "the run took too long; at its end the arm stood still: the decision came too late"
    (question,) = [one for one in world.asked if one.stage is Stage.JUDGE]
    assert question.problem.startswith(why)


def test_an_emergency_stop_stays_one_whatever_the_person_says() -> None:
    def trips(world: FakeWorld) -> list[object]:
        return [ArmSeen(world.now_ns, moving=False, emergency_stop=True, reason="pressed")]

    world = AttendedWorld(plan=replace(ATTENDED, distortions=()), on_tick=trips).play()
    assert outcomes(world) == [Outcome.EMERGENCY_STOP]


def test_a_run_ends_where_the_arm_came_to_rest_not_when_the_person_answers() -> None:
    world = AttendedWorld(
        plan=replace(ATTENDED, distortions=()),
        on_tick=done_after(1.0),
        answer=lambda asked: Reply(asked, ok=True, yes=True) if asked.stage is Stage.PREPARE else None,
    )
    while not world.asked or world.asked[-1].stage is not Stage.JUDGE:
        world.tick()
    ended_ns = world.now_ns
    world.running = True
    for _ in range(40):
        world.tick()
    assert world.now_ns > ended_ns
    world.step(Reply(world.asked[-1], ok=True, yes=True))
    (end,) = (command.result for command in world.commands if isinstance(command, MarkRunEnd))
    assert end.end_ns <= ended_ns


def test_an_arm_that_is_not_at_its_start_goes_back_once_a_person_says_that_the_way_is_free() -> None:
    far = iter(["", "the tool is 40 mm from the start", "the tool is 10 mm from the start", "", "", "", ""])

    def place(command: Command) -> str:
        return next(far) if isinstance(command, CheckStart) else ""

    world = AttendedWorld(on_tick=done_after(1.0), place=place).play()
    asked = [
        (question.stage, question.problem) for question in world.asked if question.stage is not Stage.JUDGE
    ]
    ready = (Stage.PREPARE, "")
    away = [(Stage.RECOVER, f"the tool is {distance_mm} mm from the start") for distance_mm in (40, 10)]
    assert asked == [ready, ready, away[0], ready, away[1], ready, ready]
    kinds = [type(command).__name__ for command in world.commands]
    assert kinds.count("ReturnToStart") == 3 + len(away)
    starts = [command.run_index for command in world.commands if isinstance(command, MarkRunStart)]
    assert starts == [0, 1, 2]


def test_a_failed_way_back_is_tried_again_after_an_answer_and_at_the_end_is_a_remark() -> None:
    failed = "the gate lets nothing pass"
    returns = iter([failed, failed, "", "", failed])

    def place(command: Command) -> str:
        return next(returns) if isinstance(command, ReturnToStart) else ""

    world = AttendedWorld(on_tick=done_after(1.0), place=place).play()
    asked = [question for question in world.asked if question.stage is not Stage.JUDGE]
    stages = [question.stage for question in asked]
    assert stages == [Stage.PREPARE, Stage.RECOVER, Stage.RECOVER, Stage.PREPARE, Stage.PREPARE]
    assert [question.problem for question in asked] == ["", failed, failed, "", ""]
    assert world.state.remarks == (failed,)
    assert world.finish is not None
    assert world.finish.ok


@pytest.mark.parametrize("stage", [Stage.PREPARE, Stage.JUDGE])
def test_who_gives_up_or_does_not_answer_in_time_ends_the_trial(stage: Stage) -> None:
    def answer(asked: AskPerson) -> Reply:
        return Reply(asked, ok=asked.stage is not stage, yes=True, message="given up")

    world = AttendedWorld(on_tick=done_after(1.0), answer=answer).play()
    assert world.finish is not None
    assert (world.finish.ok, world.finish.message) == (False, "given up")
    assert "StopArm" in world.kinds()[-5:]


def test_nothing_moves_while_a_person_is_asked() -> None:
    world = AttendedWorld(on_tick=moves, answer=lambda _asked: None)
    for _ in range(200):
        world.tick()
    assert world.kinds() == ["CheckArm", "OpenRecording", "AskPerson"]


def test_nothing_is_recorded_and_nobody_is_asked_where_the_arm_is_refused() -> None:
    world = AttendedWorld(arm=Reply(None, ok=False, message="it is a UR10e")).play()
    assert world.asked == []
    assert "OpenRecording" not in world.kinds()
    assert world.finish is not None
    assert (world.finish.ok, world.finish.message) == (False, "it is a UR10e")


def test_not_yet_is_asked_again() -> None:
    said = iter([False, False, True])

    def answer(asked: AskPerson) -> Reply:
        return Reply(asked, ok=True, yes=asked.stage is Stage.JUDGE or next(said))

    world = AttendedWorld(
        plan=replace(ATTENDED, distortions=()), on_tick=done_after(1.0), answer=answer
    ).play()
    assert [question.stage for question in world.asked] == [Stage.PREPARE] * 3 + [Stage.JUDGE]


PREPARE = "put the scene back and keep clear of the arm. Ready?"
STOPPED = "The arm was stopped: it stays where it is after your answer, and another question comes."
JUDGE = "After your answer gripper and arm go back to their start: keep clear. Was the task done?"


@pytest.mark.parametrize(
    ("question", "text"),
    [
        (Question(Stage.PREPARE, 0, 3, ""), f"run 1 of 3: {PREPARE}"),
        (Question(Stage.PREPARE, 0, 1, "", "lift the tray"), f'run 1 of 1 of "lift the tray": {PREPARE}'),
        (Question(Stage.PREPARE, 2, 3, "20 mm off"), f"20 mm off\nrun 3 of 3: {PREPARE}"),
        (
            Question(Stage.JUDGE, 1, 3, judged_next("looks held", "")),
            f"run 2 of 3 has ended: looks held\n{JUDGE}",
        ),
        (
            Question(Stage.JUDGE, 1, 3, judged_next("pressed", "pressed")),
            f"run 2 of 3 has ended: pressed\n{STOPPED} Was the task done?",
        ),
    ],
)
def test_questions_do_not_name_the_distortion(question: Question, text: str) -> None:
    assert question_text(question) == text
