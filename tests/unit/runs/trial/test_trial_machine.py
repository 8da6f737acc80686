"""The trial's state machine: the happy path, everything that can go wrong, and any order of events."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from trial_world import EPOCH_NS, NOT_ANSWERED, PLAN, SECOND_NS, TICK_NS, FakeWorld, done_after, moves

from embodied_iqa.imaging.images.assembler import Source
from embodied_iqa.models.scoring.execution_score import Outcome
from embodied_iqa.runs.trial import machine
from embodied_iqa.runs.trial.outcome import held_by_gate
from embodied_iqa.runs.trial.protocol import (
    Answered,
    ArmSeen,
    AskVlm,
    ChunkSeen,
    CloseRecording,
    Command,
    Deciding,
    EndedByPerson,
    Event,
    Finish,
    FrameSeen,
    MarkRunEnd,
    MarkRunStart,
    OpenRecording,
    Rearm,
    Reply,
    ResetWorld,
    RunWorld,
    SetDistortion,
    SetTask,
    Stage,
    StopArm,
    TrialPlan,
    WorldSeen,
)
from embodied_iqa.world.protocols import ChunkStatus

ONE_RUN = replace(PLAN, distortions=())
EXPECTING_REPLIES = (
    OpenRecording,
    ResetWorld,
    SetDistortion,
    Rearm,
    SetTask,
    RunWorld,
    StopArm,
    CloseRecording,
)
RUN = [
    "ResetWorld",
    "SetDistortion",
    "Rearm",
    "MarkRunStart",
    "SetTask",
    "RunWorld",
    "AskVlm",
    "AskVlm",
    "StopArm",
    "SetTask",
    "RunWorld",
    "MarkRunEnd",
]


def test_every_run_does_the_same_in_the_same_order() -> None:
    world = FakeWorld(on_tick=done_after(2.0)).play()
    assert world.kinds() == ["OpenRecording", *3 * RUN, "CloseRecording", "Finish"]
    assert world.finish == Finish(ok=True, message="")


def test_distortions_are_set_from_the_runs_first_stamp_on() -> None:
    world = FakeWorld(on_tick=done_after(1.0)).play()
    changes = [command for command in world.commands if isinstance(command, SetDistortion)]
    starts = [command.start_ns for command in world.commands if isinstance(command, MarkRunStart)]
    assert [change.spec for change in changes] == [None, *PLAN.distortions]
    assert [change.from_ns for change in changes] == starts == [EPOCH_NS * n for n in (2, 3, 4)]


def test_the_world_starts_last_and_from_the_same_seed() -> None:
    world = FakeWorld(on_tick=done_after(1.0)).play()
    resets = [command for command in world.commands if isinstance(command, ResetWorld)]
    assert resets == [ResetWorld(PLAN.scene_seed, PLAN.task)] * 3
    assert all(
        command.from_ns == world.commands[index + 1].start_ns
        for index, command in enumerate(world.commands)
        if isinstance(command, Rearm)
    )


@pytest.mark.parametrize(("stops_time", "later_ns"), [(True, 0), (False, SECOND_NS // 2)])
def test_where_time_goes_on_no_image_from_before_the_arming_is_decided_on(
    *, stops_time: bool, later_ns: int
) -> None:
    plan = replace(PLAN, stops_time=stops_time)
    world = FakeWorld(plan, on_tick=done_after(1.0), arming_ns=SECOND_NS // 2).play()
    starts = [command.start_ns for command in world.commands if isinstance(command, MarkRunStart)]
    tasks = [command for command in world.commands if isinstance(command, SetTask) and command.task]
    assert [command.from_ns for command in tasks] == [start_ns + later_ns for start_ns in starts]


def test_both_versions_of_the_first_frame_are_asked_about() -> None:
    world = FakeWorld(plan=ONE_RUN, on_tick=done_after(1.0)).play()
    asked = [command for command in world.commands if isinstance(command, AskVlm)]
    assert [question.source for question in asked] == [Source.RAW, Source.DISTORTED]
    assert asked[0].stamp_ns == asked[1].stamp_ns == 2 * EPOCH_NS + TICK_NS


def test_without_a_vlm_nothing_is_asked_and_a_run_without_an_arm_ends_with_a_decision() -> None:
    plan = replace(ONE_RUN, has_arm=False, has_vlm=False)
    decides = FakeWorld(plan=plan, on_tick=lambda world: [ChunkSeen(world.now_ns, ChunkStatus.ACT)]).play()
    assert not [command for command in decides.commands if isinstance(command, AskVlm)]
    assert [result.reason for result in decides.state.results] == ["decided"]
    assert [result.reason for result in FakeWorld(plan=plan).play().state.results] == ["no decision"]


@pytest.mark.parametrize("ends", [True, False])
def test_without_an_arm_the_decision_on_undistorted_images_is_waited_for(*, ends: bool) -> None:
    """Answered, or skipped by a receding horizon, which then says that nothing is being decided."""
    world = FakeWorld(plan=replace(ONE_RUN, has_arm=False, has_vlm=False))
    world.tick()
    stamp_ns = world.now_ns
    for event in (Deciding(busy=True), ChunkSeen(stamp_ns, ChunkStatus.ACT)):
        world.step(event)
    world.tick()
    assert world.state.stage is Stage.EXECUTE
    reference = ChunkSeen(stamp_ns, ChunkStatus.ACT, is_reference=True)
    world.step(reference if ends else Deciding(busy=False))
    world.tick()
    assert world.state.ending == "decided"


def test_results_tell_outcome_time_and_place() -> None:
    world = FakeWorld(plan=ONE_RUN, on_tick=done_after(2.0)).play()
    (result,) = world.state.results
    assert result.outcome is Outcome.SUCCESS
    assert result.reason == "the VLA reported that the task is done"
    assert result.start_ns == 2 * EPOCH_NS
    settled_ns = result.end_ns - result.start_ns
    assert abs(settled_ns - 2 * SECOND_NS - PLAN.settle_ns) <= 2 * TICK_NS
    assert result.T_base_tool[0, 3] == pytest.approx(1e-9 * settled_ns)


def test_success_is_what_the_world_says_when_all_has_settled() -> None:
    world = FakeWorld(plan=ONE_RUN, on_tick=done_after(1.0))
    while world.state.stage is not Stage.SETTLE:
        world.tick()
    world.success = False
    assert world.play().state.results[0].outcome is Outcome.FAILURE


def test_contact_ends_the_run_as_an_emergency_stop() -> None:
    world = FakeWorld(plan=ONE_RUN, on_tick=moves)
    while world.since_start_ns < SECOND_NS:
        world.tick()
    world.violation = "gripper touches the table"
    result = world.play().state.results[0]
    assert (result.outcome, result.reason) == (Outcome.EMERGENCY_STOP, "gripper touches the table")


def test_contact_that_is_over_when_all_has_settled_was_contact() -> None:
    world = FakeWorld(plan=ONE_RUN, on_tick=moves)
    world.tick()
    world.violation = "gripper touches the table"
    world.tick()
    assert world.state.stage is Stage.SETTLE
    world.violation = ""
    result = world.play().state.results[0]
    assert (result.outcome, result.reason) == (Outcome.EMERGENCY_STOP, "gripper touches the table")


@pytest.mark.parametrize(("before_ns", "counts"), [(0, True), (1, False)])
def test_contact_counts_from_the_first_moment_of_the_run(before_ns: int, *, counts: bool) -> None:
    world = FakeWorld(plan=ONE_RUN, on_tick=moves)
    world.violation = "touches"
    assert world.state.stage is Stage.EXECUTE
    world.step(world.seen(world.state.start_ns - before_ns))
    assert (world.state.stage is Stage.SETTLE) == counts


@pytest.mark.parametrize(("before_ns", "asks"), [(0, True), (1, False)])
def test_questions_are_about_frames_of_the_run(before_ns: int, *, asks: bool) -> None:
    world = FakeWorld(plan=ONE_RUN)
    stamp_ns = world.state.start_ns - before_ns
    world.step(FrameSeen(stamp_ns))
    asked = [command.stamp_ns for command in world.commands if isinstance(command, AskVlm)]
    assert asked == ([stamp_ns] * 2 if asks else [])


def test_without_an_arm_a_run_ends_with_two_answers_and_a_decision() -> None:
    world = FakeWorld(plan=replace(ONE_RUN, has_arm=False))
    world.tick()
    for source in (Source.RAW, Source.DISTORTED):
        assert world.state.stage is Stage.EXECUTE
        world.step(Answered(source, world.now_ns, ok=True))
        world.step(world.seen())
        world.step(ChunkSeen(world.now_ns, ChunkStatus.ACT))
    world.step(world.seen())
    (result,) = world.play().state.results
    assert (result.outcome, result.reason) == (None, "answered and decided")


def test_contact_while_settling_counts_too() -> None:
    world = FakeWorld(plan=ONE_RUN, on_tick=done_after(1.0))
    while world.state.stage is not Stage.SETTLE:
        world.tick()
    world.violation = "the cube was crushed"
    result = world.play().state.results[0]
    assert (result.outcome, result.reason) == (Outcome.EMERGENCY_STOP, "the cube was crushed")


def test_an_emergency_stop_of_the_arm_is_final_even_where_the_task_succeeded() -> None:
    def trips(world: FakeWorld) -> list[object]:
        stopped = world.since_start_ns > SECOND_NS
        return [ArmSeen(world.now_ns, moving=not stopped, emergency_stop=stopped, reason="10 m")]

    result = FakeWorld(plan=ONE_RUN, on_tick=trips).play().state.results[0]
    assert (result.outcome, result.reason) == (Outcome.EMERGENCY_STOP, "10 m")


def test_a_breakdown_of_the_robot_ends_the_trial_and_is_no_outcome() -> None:
    def breaks_down(world: FakeWorld) -> list[object]:
        return [ArmSeen(world.now_ns, False, False, "the connection is lost", broken_down=True)]

    state = FakeWorld(plan=ONE_RUN, on_tick=breaks_down).play().state
    assert (state.results, state.problem) == ((), "equipment failure: the connection is lost")


def test_an_emergency_stop_does_not_taint_the_next_run() -> None:
    def trips_once(world: FakeWorld) -> list[object]:
        if world.epoch == 2 and world.since_start_ns > SECOND_NS:
            return [ArmSeen(world.now_ns, moving=False, emergency_stop=True, reason="10 m")]
        return done_after(2.0)(world)

    results = FakeWorld(on_tick=trips_once).play().state.results
    assert [result.outcome for result in results] == [
        Outcome.EMERGENCY_STOP,
        Outcome.SUCCESS,
        Outcome.SUCCESS,
    ]


def test_a_run_without_motion_ends() -> None:
    result = FakeWorld(plan=ONE_RUN).play().state.results[0]
    assert result.reason == "the arm did not move"
    took_ns = result.end_ns - result.start_ns - PLAN.settle_ns
    assert PLAN.no_motion_limit_ns <= took_ns <= PLAN.no_motion_limit_ns + 3 * TICK_NS


@pytest.mark.parametrize(("acts", "after"), [(0, ""), (1, " after 1 decision"), (2, " after 2 decisions")])
@pytest.mark.parametrize(("reason", "why"), [("", ""), ("no lease", ": no lease")])
def test_a_run_whose_arm_has_moved_ends_because_it_stood_still(
    acts: int, after: str, reason: str, why: str
) -> None:
    def tick(world: FakeWorld) -> list[Event]:
        number = (world.since_start_ns - 1) // TICK_NS
        decided = [ChunkSeen(world.now_ns, ChunkStatus.ACT)] if number < acts else []
        return [ArmSeen(world.now_ns, moving=number < 5, emergency_stop=False, reason=reason), *decided]

    results = FakeWorld(on_tick=tick, success=False).play().state.results
    assert [result.reason for result in results] == 3 * [f"the arm stood still for 3 s{after}{why}"]


WAITED = "the policy waits for images of front and wrist; the nearest are 0.0793 s apart"


class Waits(FakeWorld):
    """The policy waits for its images before it begins its first run."""

    def reply(self, command: Command) -> Reply:
        reply = super().reply(command)
        waits = isinstance(command, SetTask) and command.task and self.state.run_index == 0
        return replace(reply, message=WAITED) if waits else reply


@pytest.mark.parametrize("has_arm", [False, True])
def test_a_run_without_a_decision_says_what_its_policy_has_waited_for(*, has_arm: bool) -> None:
    first, second, _ = Waits(plan=replace(PLAN, has_arm=has_arm)).play().state.results
    nothing = "the arm did not move" if has_arm else "no answer or no decision"
    assert first.reason == f"{nothing}; reported before the run: {WAITED}"
    assert second.reason == nothing, "its policy did not wait"


def test_what_a_policy_that_decides_has_waited_for_is_no_reason() -> None:
    def tick(world: FakeWorld) -> list[Event]:
        return [ChunkSeen(world.now_ns, ChunkStatus.NO_TARGET)]

    result = Waits(plan=ONE_RUN, on_tick=tick, success=False).play().state.results[0]
    assert WAITED not in result.reason


def test_a_run_whose_arm_somebody_has_stopped_says_so() -> None:
    def stopped(world: FakeWorld) -> list[Event]:
        return [ArmSeen(world.now_ns, moving=False, emergency_stop=False, reason="stopped by hand")]

    result = FakeWorld(plan=ONE_RUN, on_tick=stopped).play().state.results[0]
    assert result.reason == "the arm did not move: stopped by hand"


def thinks(first_s: float, *, held: str = "") -> Callable[[FakeWorld], list[Event]]:
    """The policy takes so long for its first decision of a run, which moves nothing."""

    def tell(world: FakeWorld) -> list[Event]:
        arm = ArmSeen(world.now_ns, False, False, held, held_by_gate=bool(held))
        return [arm, Deciding(busy=world.since_start_ns < first_s * SECOND_NS)]

    return tell


@pytest.mark.parametrize("held", ["", "the target is hardly seen"])
def test_the_time_of_a_decision_is_no_time_without_motion(held: str) -> None:
    world = FakeWorld(plan=ONE_RUN, on_tick=thinks(12.0, held=held))
    result = world.play().state.results[0]
    assert result.reason.startswith("the gate held the arm" if held else "the arm did not move")
    limit_ns = PLAN.hold_limit_ns if held else PLAN.no_motion_limit_ns
    idle_ns = result.end_ns - result.start_ns - PLAN.settle_ns - 12 * SECOND_NS
    assert limit_ns <= idle_ns <= limit_ns + 4 * TICK_NS


def test_without_an_arm_a_slow_decision_is_waited_for() -> None:
    world = FakeWorld(plan=replace(ONE_RUN, has_arm=False), on_tick=thinks(12.0))
    result = world.play().state.results[0]
    assert result.reason == "no answer or no decision"
    assert result.end_ns - result.start_ns > 12 * SECOND_NS + PLAN.no_motion_limit_ns


def test_a_decision_that_never_ends_ends_with_the_run() -> None:
    world = FakeWorld(plan=ONE_RUN, on_tick=thinks(1000.0))
    assert world.play().state.results[0].reason == "the run took too long"


def test_answers_that_are_always_too_late_are_named_where_the_run_takes_too_long() -> None:
    """Each starts the time without motion anew, and the arm refuses each."""
    late = "the decision came too late: its image is 7000 ms old, at most 1500 ms"

    def tick(world: FakeWorld) -> list[Event]:
        return [
            ArmSeen(world.now_ns, moving=False, emergency_stop=False, reason=late),
            Deciding(busy=True),
        ]

    why = f"the run took too long; at its end the arm stood still: {late}"
    result = FakeWorld(plan=ONE_RUN, on_tick=tick, success=False).play().state.results[0]
    assert (result.outcome, result.reason) == (Outcome.FAILURE, why)
    assert FakeWorld(plan=ONE_RUN, on_tick=tick).play().state.results[0].reason == why


def test_a_failure_says_what_the_task_lacks() -> None:
    lacks = "cube raised 0.0 of 5 cm"
    world = FakeWorld(plan=ONE_RUN, on_tick=done_after(1.0), success=False, missing=lacks)
    result = world.play().state.results[0]
    assert (result.outcome, result.reason) == (
        Outcome.FAILURE,
        "the VLA reported that the task is done; cube raised 0.0 of 5 cm",
    )


def holds(reason: str = "too dark") -> Callable[[FakeWorld], list[Event]]:
    """The arm moves for a second and is then held by the gate."""

    def report(world: FakeWorld) -> list[Event]:
        held = world.since_start_ns > SECOND_NS
        seen = ArmSeen(world.now_ns, not held, False, reason if held else "", held_by_gate=held)
        return [ChunkSeen(world.now_ns, ChunkStatus.ACT), seen]

    return report


def test_a_run_that_the_gate_holds_to_its_end_is_an_outcome_of_its_own() -> None:
    world = FakeWorld(plan=ONE_RUN, on_tick=holds(), success=False, missing="cube raised 0.0 of 5 cm")
    result = world.play().state.results[0]
    assert result.outcome is Outcome.HELD_BY_GATE
    assert result.reason == "held by the gate: too dark; cube raised 0.0 of 5 cm"
    assert FakeWorld(plan=ONE_RUN, on_tick=holds()).play().state.results[0].outcome is Outcome.SUCCESS


def test_an_arm_that_moves_again_or_a_policy_that_stops_acting_is_not_held() -> None:
    def moves_again(world: FakeWorld) -> list[Event]:
        return moves(world) if world.since_start_ns > 2 * SECOND_NS else holds()(world)

    def gives_up(world: FakeWorld) -> list[Event]:
        return [*holds()(world), ChunkSeen(world.now_ns, ChunkStatus.NO_TARGET)]

    for on_tick in (moves_again, gives_up):
        result = FakeWorld(plan=ONE_RUN, on_tick=on_tick, success=False).play().state.results[0]
        assert result.outcome is Outcome.FAILURE


def test_a_gate_that_passes_no_frame_holds_even_a_policy_that_sees_nothing() -> None:
    def dark(world: FakeWorld) -> list[Event]:
        return [FrameSeen(world.now_ns, "too dark"), ChunkSeen(world.now_ns, ChunkStatus.NO_TARGET)]

    world = FakeWorld(plan=ONE_RUN, on_tick=dark, success=False, judged="too dark")
    result = world.play().state.results[0]
    assert (result.outcome, result.reason) == (Outcome.HELD_BY_GATE, "held by the gate: too dark")
    other_view_passes = FakeWorld(plan=ONE_RUN, on_tick=dark, success=False)
    assert other_view_passes.play().state.results[0].outcome is Outcome.NO_TARGET


def decides(*statuses: ChunkStatus | None) -> Callable[[FakeWorld], list[Event]]:
    """The policy decides so in the first ticks of a run, and then like the last time."""

    def report(world: FakeWorld) -> list[Event]:
        tick = min(world.since_start_ns // TICK_NS, len(statuses)) - 1
        return [ChunkSeen(world.now_ns, statuses[tick])]

    return report


@pytest.mark.parametrize(
    ("statuses", "outcome"),
    [
        ([ChunkStatus.NO_TARGET], Outcome.NO_TARGET),
        ([None, ChunkStatus.NO_TARGET], Outcome.NO_TARGET),
        ([ChunkStatus.ACT, ChunkStatus.NO_TARGET], Outcome.FAILURE),
        ([ChunkStatus.NO_TARGET, ChunkStatus.ACT], Outcome.FAILURE),
        ([ChunkStatus.NO_TARGET, ChunkStatus.DONE], Outcome.FAILURE),
        ([None], Outcome.FAILURE),
    ],
)
def test_a_policy_that_never_acts_for_want_of_a_target_is_an_outcome_of_its_own(
    statuses: list[ChunkStatus | None], outcome: Outcome
) -> None:
    world = FakeWorld(plan=PLAN, on_tick=decides(*statuses), success=False, missing="cube raised 0.0 of 5 cm")
    results = world.play().state.results
    assert {result.outcome for result in results} == {outcome}
    if outcome is Outcome.NO_TARGET:
        assert {result.reason for result in results} == {"the policy saw no target; cube raised 0.0 of 5 cm"}
    lucky = FakeWorld(plan=ONE_RUN, on_tick=decides(*statuses)).play().state.results[0]
    assert lucky.outcome is Outcome.SUCCESS


BUG = "vla_node: mine failed: TypeError: act() takes 1 argument"


def fails(last: int) -> Callable[[FakeWorld], list[Event]]:
    """The policy raises at all of its decisions up to one, from which on it acts."""

    def report(world: FakeWorld) -> list[Event]:
        if world.since_start_ns // TICK_NS <= last:
            return [ChunkSeen(world.now_ns, None, BUG)]
        return [ChunkSeen(world.now_ns, ChunkStatus.ACT)]

    return report


def test_a_run_in_which_the_policy_fails_at_every_decision_says_so_from_the_first_on() -> None:
    world = FakeWorld(plan=PLAN, on_tick=fails(10**6), success=False)
    while world.state.stage is not Stage.EXECUTE or not world.state.decided:
        world.tick()
    assert world.state.fault == f"no decision came: {BUG}"
    results = world.play().state.results
    assert {result.reason for result in results} == {f"the arm did not move; no decision came: {BUG}"}


def test_a_policy_that_recovers_leaves_no_fault_and_one_that_acted_before_did_decide() -> None:
    recovered = FakeWorld(plan=ONE_RUN, on_tick=fails(10), success=False).play().state.results[0]
    assert recovered.reason == "the arm did not move"
    broke = FakeWorld(plan=ONE_RUN, on_tick=lambda world: [*fails(-1)(world), *fails(10**6)(world)])
    assert broke.play().state.results[0].reason == f"the arm did not move; {BUG}"


def test_a_run_that_always_moves_ends_at_its_limit() -> None:
    result = FakeWorld(plan=ONE_RUN, on_tick=moves).play().state.results[0]
    assert result.reason == "the run took too long"
    took_ns = result.end_ns - result.start_ns - PLAN.settle_ns
    assert PLAN.run_limit_ns <= took_ns <= PLAN.run_limit_ns + 3 * TICK_NS


def ends_after(ticks: int) -> Callable[[FakeWorld], list[Event]]:
    """The arm moves, and a person ends every run after so many ticks, and says so twice."""

    def report(world: FakeWorld) -> list[Event]:
        due = world.now_ns - world.state.start_ns >= ticks * TICK_NS
        return [*moves(world), *([EndedByPerson()] * 2 if due else [])]

    return report


@pytest.mark.parametrize("success", [False, True])
def test_a_person_ends_a_run_and_the_next_one_begins(*, success: bool) -> None:
    world = FakeWorld(plan=PLAN, on_tick=ends_after(20), success=success)
    results = world.play().state.results
    assert len(results) == PLAN.run_count
    assert {result.reason for result in results} == {"ended by a person"}
    assert {result.outcome for result in results} == {Outcome.SUCCESS if success else Outcome.FAILURE}
    for result in results:
        assert result.end_ns - result.start_ns - PLAN.settle_ns < 30 * TICK_NS


@pytest.mark.parametrize("stage", [stage for stage in Stage if stage is not Stage.EXECUTE])
def test_a_person_ends_nothing_where_no_run_is_under_way(stage: Stage) -> None:
    state = replace(machine.start(PLAN)[0], stage=stage)
    after, commands = machine.step(state, EndedByPerson())
    assert after is state
    assert not commands


@pytest.mark.parametrize("kind", EXPECTING_REPLIES)
def test_a_refused_command_stops_the_arm_and_closes_the_recording(kind: type) -> None:
    world = FakeWorld(refuse=lambda command: isinstance(command, kind), on_tick=done_after(1.0)).play()
    assert world.finish is not None
    assert not world.finish.ok
    assert "refused" in world.finish.message
    assert world.kinds().count("CloseRecording") == 1
    if kind is not CloseRecording:
        assert world.kinds()[-5:] == ["StopArm", "SetTask", "RunWorld", "CloseRecording", "Finish"]
        assert world.finish.message.startswith(f"{kind.__name__} failed")


def test_closing_goes_on_where_everybody_refuses() -> None:
    world = FakeWorld(refuse=lambda _command: True).play()
    assert world.kinds() == ["OpenRecording", "StopArm", "SetTask", "RunWorld", "CloseRecording", "Finish"]
    assert world.state.stage is Stage.DONE


@pytest.mark.parametrize("stage", [stage for stage in Stage if stage < Stage.CLOSE])
def test_cancelling_ends_every_stage_alike(stage: Stage) -> None:
    state, commands = machine.start(ONE_RUN)
    world = FakeWorld(plan=ONE_RUN, on_tick=done_after(1.0))
    while state.stage is not stage:
        if commands and isinstance(commands[-1], EXPECTING_REPLIES):
            state, commands = machine.step(state, world.reply(commands[-1]))
        else:
            event = ChunkSeen(state.now_ns, ChunkStatus.DONE)
            state, commands = machine.step(state, event)
    state, commands = machine.cancel(state, "cancelled")
    given = list(commands)
    while state.stage is not Stage.DONE:
        state, commands = machine.step(state, Reply(commands[-1], ok=True))
        given += commands
    assert [type(command).__name__ for command in given] == [
        "StopArm",
        "SetTask",
        "RunWorld",
        "CloseRecording",
        "Finish",
    ]
    assert given[2] == RunWorld(running=False)
    assert given[-1] == Finish(ok=False, message="cancelled")


def test_cancelling_twice_or_after_the_end_does_nothing() -> None:
    world = FakeWorld(on_tick=done_after(1.0))
    world.tick()
    world.cancel("first")
    before = list(world.commands)
    world.cancel("second")
    assert world.commands == before
    assert world.finish == Finish(ok=False, message="first")


def test_a_late_reply_to_an_equal_command_is_ignored() -> None:
    state, (command,) = machine.start(ONE_RUN)
    same = OpenRecording()
    assert same == command
    after, commands = machine.step(state, Reply(same, ok=True))
    assert (after, commands) == (state, [])


def test_old_news_of_arm_world_and_vla_does_not_end_a_run() -> None:
    world = FakeWorld(plan=ONE_RUN, on_tick=moves)
    world.tick()
    assert world.state.stage is Stage.EXECUTE
    old_ns = world.state.start_ns - 1
    for event in (
        ArmSeen(old_ns, moving=False, emergency_stop=True, reason="before"),
        ChunkSeen(old_ns, ChunkStatus.DONE),
        WorldSeen(old_ns, task_success=True, contact_violation="before", T_base_tool=np.eye(4)),
        FrameSeen(old_ns),
    ):
        world.step(event)
    assert world.state.stage is Stage.EXECUTE
    assert world.state.ending == ""


def test_an_answer_about_an_earlier_run_does_not_count() -> None:
    world = FakeWorld(plan=replace(ONE_RUN, has_arm=False))
    world.tick()
    for source in (Source.RAW, Source.DISTORTED):
        world.step(Answered(source, EPOCH_NS - 1, ok=False, message="late"))
    world.step(ChunkSeen(world.now_ns, ChunkStatus.ACT))
    world.step(world.seen())
    assert world.state.stage is Stage.EXECUTE
    assert world.state.remarks == ("an earlier run: the VLM gave no answer (late)",) * 2


def test_what_comes_between_two_runs_is_of_neither() -> None:
    """Late messages of the first run, before the reset has set the start of the second."""
    world = FakeWorld(on_tick=done_after(1.0))
    while len(world.state.results) == 0:
        world.tick()
    late_ns = world.state.results[0].start_ns + 1
    before = replace(world.state, pending=(ResetWorld(7, PLAN.task),), stage=Stage.RESET, start_ns=late_ns)
    for event in (ChunkSeen(late_ns, ChunkStatus.NO_TARGET), Answered(Source.RAW, late_ns, ok=True)):
        before, _ = machine.step(before, event)
    before, _ = machine.step(before, world.seen(late_ns))
    after, _ = machine.step(before, Reply(before.pending[0], ok=True, stamp_ns=late_ns + EPOCH_NS))
    assert (after.answered, after.decided, after.world) == (0, frozenset(), None)


def test_an_answer_that_does_not_come_is_a_remark() -> None:
    world = FakeWorld(plan=ONE_RUN, on_tick=done_after(1.0))
    world.tick()
    world.step(Answered(Source.RAW, world.now_ns, ok=False, message="no service /vlm/ask"))
    world.step(Answered(Source.DISTORTED, world.now_ns, ok=True))
    assert world.play().finish == Finish(ok=True, message="")
    assert world.state.remarks == ("run 0: the VLM gave no answer (no service /vlm/ask)",)


# --- any order of events ------------------------------------------------------------------------------------

STAMPS = st.integers(0, 5 * EPOCH_NS)
EVENTS = st.one_of(
    st.builds(FrameSeen, STAMPS),
    st.builds(WorldSeen, STAMPS, st.booleans(), st.sampled_from(["", "contact"]), st.just(np.eye(4))),
    st.builds(ArmSeen, STAMPS, st.booleans(), st.booleans(), st.just("why")),
    st.builds(ChunkSeen, STAMPS, st.sampled_from([*ChunkStatus, None])),
    st.builds(Answered, st.sampled_from(Source), STAMPS, st.booleans(), st.just("why")),
    st.sampled_from(["reply", "refuse", "foreign", "cancel"]),
)


def check_invariants(given: list[object], plan: TrialPlan) -> None:
    kinds = [type(command).__name__ for command in given]
    assert kinds.count("CloseRecording") <= 1
    assert kinds.count("OpenRecording") == 1
    assert kinds.count("Finish") <= 1
    if "CloseRecording" in kinds:
        after = given[kinds.index("CloseRecording") + 1 :]
        assert all(isinstance(command, Finish) for command in after)
    running = False
    for index, command in enumerate(given):
        if isinstance(command, RunWorld):
            running = command.running
        if isinstance(command, MarkRunEnd):
            assert not running
            assert any(isinstance(before, StopArm) for before in given[:index])
        if isinstance(command, Rearm):
            assert not running, "the arm is armed while time stands still"
    assert kinds.count("MarkRunEnd") <= kinds.count("MarkRunStart") <= plan.run_count


@settings(max_examples=300, deadline=None)
@given(st.lists(EVENTS, max_size=120))
def test_no_order_of_events_breaks_the_machine(events: list[object]) -> None:
    state, commands = machine.start(PLAN)
    given: list[object] = list(commands)
    cancelled_at: int | None = None
    for event in events:
        waiting = state.pending[0] if state.pending else None
        if event == "cancel":
            cancelled_at = len(given) if state.stage < Stage.CLOSE and cancelled_at is None else cancelled_at
            state, commands = machine.cancel(state, "cancelled")
        elif event == "foreign":
            state, commands = machine.step(state, Reply(OpenRecording(), ok=True, stamp_ns=1))
            assert commands == []
        elif isinstance(event, str):
            reply = Reply(waiting, ok=event == "reply", message="no", stamp_ns=state.now_ns + SECOND_NS)
            state, commands = machine.step(state, reply)
        else:
            state, commands = machine.step(state, event)
        given += commands
        waits = [command for command in commands if not isinstance(command, NOT_ANSWERED)]
        assert len(waits) <= 1
        assert not waits or (commands[-1] is waits[0] and state.pending[0] is waits[0])
        assert state.stage is not Stage.DONE or not state.pending
        if state.problem and waits:
            assert not isinstance(waits[0], Rearm | ResetWorld | SetDistortion | OpenRecording)
            assert waits[0] != RunWorld(running=True)
    check_invariants(given, PLAN)


@settings(max_examples=100, deadline=None)
@given(st.lists(EVENTS.filter(lambda event: event != "foreign"), max_size=60))
def test_the_trial_can_always_be_brought_to_its_end(events: list[object]) -> None:
    state, _ = machine.start(ONE_RUN)
    for event in events:
        waiting = state.pending[0] if state.pending else None
        if event == "cancel":
            state, _ = machine.cancel(state, "cancelled")
        elif isinstance(event, str):
            state, _ = machine.step(state, Reply(waiting, ok=event == "reply", stamp_ns=state.now_ns))
        else:
            state, _ = machine.step(state, event)
    state, _ = machine.cancel(state, "the end")
    for _ in range(5):
        if state.pending:
            state, _ = machine.step(state, Reply(state.pending[0], ok=True))
    assert state.stage is Stage.DONE


@pytest.mark.parametrize("limit_s", [1, 3, 8])
def test_a_hold_has_a_deadline_of_its_own(limit_s: int) -> None:
    plan = replace(ONE_RUN, hold_limit_ns=limit_s * SECOND_NS)
    result = FakeWorld(plan=plan, on_tick=holds(), success=False).play().state.results[0]
    held_ns = result.end_ns - result.start_ns - SECOND_NS - PLAN.settle_ns
    assert result.outcome is Outcome.HELD_BY_GATE
    assert 0 <= held_ns - plan.hold_limit_ns <= 4 * TICK_NS
    assert FakeWorld(plan=plan, on_tick=holds()).play().state.results[0].reason == (
        f"the gate held the arm for over {limit_s} s: too dark"
    )


def test_after_a_hold_the_arm_has_the_whole_time_to_move() -> None:
    def recovers(world: FakeWorld) -> list[Event]:
        if world.since_start_ns < 7 * SECOND_NS:
            return holds()(world)
        moving = world.since_start_ns > 9 * SECOND_NS  # two seconds after the gate opened
        done = ChunkSeen(world.now_ns, ChunkStatus.DONE)
        return [ArmSeen(world.now_ns, moving, False, ""), *([done] if moving else [])]

    result = (
        FakeWorld(plan=replace(ONE_RUN, hold_limit_ns=8 * SECOND_NS), on_tick=recovers)
        .play()
        .state.results[0]
    )
    assert (result.outcome, result.reason) == (Outcome.SUCCESS, "the VLA reported that the task is done")


@pytest.mark.parametrize(
    ("age_ns", "words"), [(0, "too dark; no lease of front"), (SECOND_NS, "no lease of front")]
)
def test_a_hold_names_what_the_gate_saw_while_another_camera_passes(age_ns: int, words: str) -> None:
    now_ns = 10 * SECOND_NS
    state, _ = machine.start(ONE_RUN)
    rejected = replace(state, held="no lease of front", rejection="too dark", rejected_ns=now_ns - age_ns)
    assert held_by_gate(replace(rejected, passed_ns=now_ns), now_ns) == words


def test_what_the_gate_saw_is_said_once_although_the_next_image_has_other_numbers() -> None:
    now_ns = 10 * SECOND_NS
    state, _ = machine.start(ONE_RUN)
    held = "the gate's verdict on the goal's top frame is REJECT: sharpness 4.7 below 232.9: blurred"
    seen = replace(state, held=held, rejection="sharpness 4.6 below 232.9: blurred", rejected_ns=now_ns)
    assert held_by_gate(replace(seen, passed_ns=now_ns), now_ns) == held
