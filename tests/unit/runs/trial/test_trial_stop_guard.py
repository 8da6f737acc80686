"""After a stop a real arm is armed only once a person has answered a question that names the stop."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pytest
from test_trial_attended import ATTENDED, AttendedWorld, outcomes
from trial_world import FakeWorld, done_after

from embodied_iqa.models.scoring.execution_score import Outcome
from embodied_iqa.runs.trial.attendance import ANSWERS, Question, question_text, unanswered
from embodied_iqa.runs.trial.protocol import (
    ArmSeen,
    AskPerson,
    AskVlm,
    Command,
    Finish,
    FrameSeen,
    MarkRunStart,
    Rearm,
    Reply,
    ReturnToStart,
    Stage,
)
from embodied_iqa.runs.trial.stop_guard import StopGuard

PRESSED = "the robot made an emergency stop (robot emergency stopped)"
OFF = "the robot is not running (power off): power on, release the brakes"
ONE_RUN = replace(ATTENDED, distortions=())


def pressed() -> StopGuard:
    guard = StopGuard()
    guard.see_status("emergency stop", PRESSED, 10.0)
    guard.see_fault(PRESSED, 10.1)
    return guard


def test_a_stop_is_answered_after_its_release_by_an_answer_that_names_it() -> None:
    guard = pressed()
    guard.ask(PRESSED, 11.0)
    guard.answer(12.0)
    assert guard.stopped == PRESSED, "it is still pressed"
    guard.see_fault(OFF, 13.0)
    guard.answer(14.0)
    assert guard.stopped == PRESSED, "it is released, but the brakes are on"
    guard.see_fault("", 15.0)
    assert guard.stopped == PRESSED, "power alone does not answer"
    guard.answer(16.0)
    assert guard.stopped == ""


@pytest.mark.parametrize("named", ["", "the tool is 40 mm from the start"])
def test_a_question_that_does_not_name_the_stop_does_not_answer_it(named: str) -> None:
    guard = pressed()
    guard.see_fault("", 11.0)
    guard.ask(named, 12.0)
    guard.answer(13.0)
    assert guard.stopped == PRESSED


def test_a_stop_while_a_person_is_asked_is_not_answered_by_that_question() -> None:
    guard = StopGuard()
    guard.ask("", 1.0)
    guard.see_fault(OFF, 2.0)
    guard.see_fault("", 3.0)
    guard.answer(4.0)
    assert guard.stopped == OFF


def test_another_stop_after_the_question_asks_anew() -> None:
    guard = pressed()
    guard.see_fault("", 11.0)
    guard.ask(PRESSED, 12.0)
    guard.see_fault(OFF, 13.0)
    guard.see_fault("", 14.0)
    guard.answer(15.0)
    assert guard.stopped == OFF
    guard.ask(OFF, 16.0)
    guard.answer(17.0)
    assert guard.stopped == ""


def test_a_status_that_repeats_an_answered_stop_is_no_new_one_until_the_arm_was_armed() -> None:
    guard = pressed()
    guard.see_fault("", 11.0)
    guard.ask(PRESSED, 12.0)
    guard.answer(13.0)
    guard.see_status("emergency stop", PRESSED, 13.1)
    assert guard.stopped == ""
    guard.see_status("", "", 14.0)
    guard.see_status("emergency stop", PRESSED, 15.0)
    assert guard.stopped == PRESSED


@pytest.mark.parametrize(
    ("cause", "needs"),
    [
        ("emergency stop", True), ("protective stop", True), ("power lost", True), ("connection lost", True),
        ("requested", False), ("limit", False), ("contact", False),
    ],
)  # fmt: skip
def test_which_stops_need_an_answer(cause: str, *, needs: bool) -> None:
    guard = StopGuard()
    guard.see_status(cause, "why", 1.0)
    assert bool(guard.stopped) is needs


UNLOCK = "unlock the protective stop at the pendant (a safeguard stop: reset it)"


@pytest.mark.parametrize(
    ("cause", "release"),
    [
        ("protective stop", UNLOCK),
        ("emergency stop", "release the emergency stop, power on and release the brakes"),
        ("power lost", "power on and release the brakes"),
    ],
)
def test_a_question_says_what_its_kind_of_stop_needs_at_the_robot(cause: str, release: str) -> None:
    guard = StopGuard()
    guard.see_status(cause, "why", 1.0)
    assert guard.release == f"First {release}."
    guard.see_fault("why", 1.1, cause)
    guard.ask("why", 2.0)
    assert guard.release == f"First {release}."
    guard.answer(3.0)
    assert guard.release == f"It is still stopped: {release} first.", "it is asked again"
    guard.see_fault("", 4.0)
    assert guard.release == "", "it is released"
    guard.ask("why", 5.0)
    guard.answer(6.0)
    guard.see_status("", "", 7.0)
    guard.see_status(cause, "why", 8.0)
    assert guard.release == f"First {release}.", "it was stopped anew"


def test_what_is_to_be_done_follows_what_the_robot_reports() -> None:
    guard = pressed()
    guard.see_fault(OFF, 11.0, "power lost")
    assert guard.release == "First power on and release the brakes."


@pytest.mark.parametrize("cause", ["watchdog", "program ended", "connection lost"])
def test_nothing_is_said_where_nothing_is_known_to_be_done(cause: str) -> None:
    guard = StopGuard()
    guard.see_status(cause, "why", 1.0)
    assert guard.stopped
    assert guard.release == ""


def test_the_answer_to_another_question_does_not_make_a_stop_an_old_one() -> None:
    guard = StopGuard()
    guard.see_fault("why", 1.0, "protective stop")
    guard.ask("", 2.0)
    guard.answer(3.0)
    assert guard.release == f"First {UNLOCK}."


def test_a_refused_arming_is_not_tried_again_without_an_answer() -> None:
    guard = StopGuard()
    guard.refuse("the gripper is silent", 1.0)
    assert guard.stopped == "the gripper is silent"
    guard.ask("the gripper is silent", 2.0)
    guard.answer(3.0)
    assert guard.stopped == ""


def test_a_trial_begins_without_the_stops_from_before_it() -> None:
    guard = StopGuard()
    guard.refuse("of another trial", 1.0)
    guard.begin()
    assert guard.stopped == ""


def trips(world: FakeWorld) -> list[object]:
    return [ArmSeen(world.now_ns, moving=False, emergency_stop=True, reason=PRESSED)]


def recover_questions(world: AttendedWorld) -> list[AskPerson]:
    return [question for question in world.asked if question.stage is Stage.RECOVER]


class JudgedStop(AttendedWorld):
    """Stopped from the first judgement on, until the second question of the way back is answered."""

    def reply(self, command: Command) -> Reply:
        found = super().reply(command)
        is_judged = any(question.stage is Stage.JUDGE for question in self.asked)
        return replace(found, stopped=PRESSED if is_judged and len(recover_questions(self)) < 2 else "")


def test_the_way_back_after_a_stop_waits_for_an_answer_after_the_release() -> None:
    world = JudgedStop(plan=ONE_RUN, on_tick=trips).play()
    assert outcomes(world) == [Outcome.EMERGENCY_STOP]
    questions = recover_questions(world)
    assert [(one.run_index, one.problem) for one in questions] == 2 * [(0, PRESSED)]
    kinds = world.kinds()
    assert kinds.count("ReturnToStart") == 1
    assert kinds.index("ReturnToStart") > max(i for i, kind in enumerate(kinds) if kind == "AskPerson")
    assert world.finish is not None
    assert world.finish.ok


@pytest.mark.parametrize("stopped", ["", PRESSED])
def test_the_judge_reads_whether_the_arm_moves_after_the_answer(stopped: str) -> None:
    class Ended(AttendedWorld):
        def reply(self, command: Command) -> Reply:
            found = super().reply(command)
            return replace(found, stopped=stopped if self.state.ending else "")

    world = Ended(plan=ONE_RUN, on_tick=trips if stopped else done_after(1.0)).play()
    (judged,) = (question for question in world.asked if question.stage is Stage.JUDGE)
    text = question_text(Question(judged.stage, 0, 1, judged.problem))
    assert ("go back to their start: keep clear. Was the task done?" in text) is not bool(stopped)
    assert ("it stays where it is after your answer, and another question comes." in text) is bool(stopped)
    assert [question.problem for question in recover_questions(world)] == [stopped] * bool(stopped)


def test_a_stop_on_the_way_back_is_asked_about_before_the_arm_goes_on() -> None:
    class Stopped(AttendedWorld):
        def reply(self, command: Command) -> Reply:
            found = super().reply(command)
            if isinstance(command, ReturnToStart) and not recover_questions(self):
                return Reply(command, ok=False, message="the arm has stopped", stopped=PRESSED)
            return found

    world = Stopped(plan=ONE_RUN, on_tick=done_after(1.0)).play()
    assert [question.problem for question in recover_questions(world)] == [PRESSED]
    assert world.kinds().count("ReturnToStart") == 2


@pytest.mark.parametrize("message", ["given up", unanswered(Stage.RECOVER, 60.0)])
@pytest.mark.parametrize("runs", [1, 3])
def test_no_answer_after_a_stop_ends_the_trial_without_motion(message: str, runs: int) -> None:
    def answer(asked: AskPerson) -> Reply:
        return Reply(asked, ok=asked.stage is not Stage.RECOVER, yes=True, message=message)

    plan = ONE_RUN if runs == 1 else ATTENDED
    world = JudgedStop(plan=plan, on_tick=trips, answer=answer).play()
    kinds = world.kinds()
    ended = kinds.index("MarkRunEnd")
    assert not {"ReturnToStart", "Rearm"} & set(kinds[ended:])
    assert world.finish is not None
    assert world.finish.ok is (runs == 1), "all runs have ended"
    told = world.state.remarks if runs == 1 else (world.finish.message,)
    assert [words for words in told if message in words]


def test_a_stop_before_a_run_is_named_by_the_question_that_is_asked_again() -> None:
    class Stopped(AttendedWorld):
        def reply(self, command: Command) -> Reply:
            found = super().reply(command)
            return replace(found, stopped=PRESSED if len(self.asked) == 1 else "")

    world = Stopped(plan=ONE_RUN, on_tick=done_after(1.0)).play()
    prepared = [question.problem for question in world.asked if question.stage is Stage.PREPARE]
    assert prepared == ["", PRESSED]
    assert world.kinds().count("CheckStart") == 1, "the first answer does not count"


@dataclass
class ArmingRefused(AttendedWorld):
    """Stopped while the arm is about to be armed for its first run, as often as the test wants."""

    stops: int = 1

    def reply(self, command: Command) -> Reply:
        if isinstance(command, Rearm) and self.kinds().count("Rearm") <= self.stops:
            return Reply(command, ok=False, message=PRESSED, stopped=PRESSED)
        return super().reply(command)


@pytest.mark.parametrize("stops", [1, 3])
def test_a_stop_between_the_answer_and_the_arming_asks_again_each_time(stops: int) -> None:
    world = ArmingRefused(plan=ONE_RUN, on_tick=done_after(1.0), stops=stops).play()
    prepared = [question.problem for question in world.asked if question.stage is Stage.PREPARE]
    assert prepared == ["", *stops * [PRESSED]]
    kinds = world.kinds()
    assert kinds.count("Rearm") == kinds.count("CheckStart") == stops + 1, "once for each answer"
    for place, kind in enumerate(kinds):
        if kind == "AskPerson" and world.asked[kinds[:place].count("AskPerson")].problem == PRESSED:
            assert kinds[place - 2 : place] == ["Rearm", "StopArm"], "the arm is stopped before the question"
    assert kinds.count("MarkRunStart") == kinds.count("MarkRunEnd") == 1, "no run begins without an arm"
    assert kinds.index("MarkRunStart") > max(place for place, kind in enumerate(kinds) if kind == "Rearm")
    assert outcomes(world) == [Outcome.SUCCESS]
    assert world.finish is not None
    assert world.finish.ok


def test_the_first_frame_of_the_run_that_begins_after_such_a_stop_is_asked_about() -> None:
    """An answer about a frame from before the stop is of no run."""

    class Seen(ArmingRefused):
        def reply(self, command: Command) -> Reply:
            if isinstance(command, Rearm):
                self.step(FrameSeen(self.now_ns))
            return super().reply(command)

    world = Seen(plan=ONE_RUN, on_tick=done_after(1.0)).play()
    (start,) = (command.start_ns for command in world.commands if isinstance(command, MarkRunStart))
    stamps = [command.stamp_ns for command in world.commands if isinstance(command, AskVlm)]
    assert len(stamps) == 4
    assert [stamp_ns >= start for stamp_ns in stamps] == [False, False, True, True]


@pytest.mark.parametrize("message", ["given up", unanswered(Stage.PREPARE, 60.0)])
def test_no_answer_after_such_a_stop_ends_the_trial_without_motion(message: str) -> None:
    def answer(asked: AskPerson) -> Reply:
        return Reply(asked, ok=not asked.problem, yes=True, message=message)

    world = ArmingRefused(plan=ONE_RUN, on_tick=done_after(1.0), answer=answer).play()
    assert world.kinds().count("Rearm") == 1
    assert world.finish == Finish(ok=False, message=message)


def test_an_arming_that_fails_without_a_stop_ends_the_trial() -> None:
    world = AttendedWorld(plan=ONE_RUN, refuse=lambda command: isinstance(command, Rearm)).play()
    assert world.finish == Finish(ok=False, message="Rearm failed: refused")


def test_the_question_names_the_stop_and_says_what_moves_when() -> None:
    text = question_text(Question(Stage.RECOVER, 0, 1, PRESSED))
    assert text.startswith(f"{PRESSED}\n")
    assert "after your answer it moves back to its start. Clear?" in text
    assert list(ANSWERS[Stage.RECOVER]) == ["clear", "give-up"]


def test_who_does_not_answer_after_a_stop_reads_how_to_go_on() -> None:
    assert unanswered(Stage.JUDGE, 60.0) == "no answer within 60 s (judge)"
    words = "the arm stays where it was stopped: see that it is clear, then start the trial again"
    assert unanswered(Stage.RECOVER, 60.0) == f"no answer within 60 s (recover); {words}"
