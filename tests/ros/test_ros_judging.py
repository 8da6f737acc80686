"""Studio and `attend` see the open question of a trial and answer it through /trial/confirm."""

from __future__ import annotations

import queue
import time

import pytest
import rclpy
from rclpy.node import Node

from embodied_iqa.cli.main import main
from embodied_iqa.live.cell.clean_recording import cell_node
from embodied_iqa.live.ros.attendance import Attendance
from embodied_iqa.live.ros.spinning import SpinThread
from embodied_iqa.runs.graph.judging_process import JudgingProcess
from embodied_iqa.runs.trial.attendance import Answer, Question
from embodied_iqa.runs.trial.judging import AskingTrial, JudgingState
from embodied_iqa.runs.trial.protocol import AskPerson, Event, Reply, Stage
from live_process import COMPLETION_S

TRIAL = AskingTrial("put the cup on the shelf", 3, "2026-11-29T15:03:12Z")


def _until(process: JudgingProcess, idle: Node, *, wanted: bool) -> JudgingState:
    """Wait until a question is open, or none; the state comes from another process."""
    deadline_s = time.monotonic() + COMPLETION_S
    while True:
        state = process.state()
        if (state.question is not None) is wanted and not state.problem:
            return state
        assert time.monotonic() < deadline_s, state
        rclpy.spin_once(idle, timeout_sec=0.05)


def test_a_question_is_seen_and_answered_once() -> None:
    rclpy.init()
    node, idle = Node("trial_node"), Node("idle")
    events: queue.SimpleQueue[Event] = queue.SimpleQueue()
    attendance = Attendance(node, COMPLETION_S, events.put)
    spin, process = SpinThread(node), JudgingProcess()
    try:
        asked = AskPerson(Stage.JUDGE, 1, "the run took too long")
        attendance.ask(asked, asked.problem, TRIAL)
        state = _until(process, idle, wanted=True)  # it connects after the question was opened
        question = state.question
        assert (state.task, state.trial) == (TRIAL.task, TRIAL.started)
        assert question is not None
        assert (question.stage, question.run_index) == (Stage.JUDGE, 1)
        assert question.run_count == 3
        assert question.problem == "the run took too long"
        wrong = Question(Stage.JUDGE, 2, 3, "")
        assert process.answer(wrong, Answer(True)) == "stage and run asked are (8, 1)"
        assert process.answer(question, Answer(False, remark="it slipped")) == ""
        reply = events.get(timeout=COMPLETION_S)
        assert reply == Reply(asked, ok=True, message="it slipped", yes=False)
        assert process.answer(question, Answer(True)) == (
            "no question is open; run 2 was judged already: not done"
        )
        _until(process, idle, wanted=False)
    finally:
        process.close()
        spin.close()
        node.destroy_node()
        idle.destroy_node()
        rclpy.try_shutdown()


def test_a_person_without_the_terminal_of_the_trial_answers_what_is_asked(
    capsys: pytest.CaptureFixture[str],
) -> None:
    events: queue.SimpleQueue[Event] = queue.SimpleQueue()
    asked = AskPerson(Stage.JUDGE, 1, "the run took too long")
    with cell_node("trial_node", "") as node:
        attendance, spin = Attendance(node, COMPLETION_S, events.put), SpinThread(node)
        attendance.ask(asked, asked.problem, TRIAL)
        assert main(["attend"]) == 0
        first_line, second_line = capsys.readouterr().out.splitlines()
        assert first_line == "the run took too long"
        assert second_line.startswith("run 2 has ended")
        assert main(["attend", "ready"]) == 1, "it answers another question"
        assert main(["attend", "not-done", "--remark", "it slipped"]) == 0
        assert events.get(timeout=COMPLETION_S) == Reply(asked, ok=True, message="it slipped", yes=False)
        assert main(["attend", "done"]) == 1
        attendance.ask(AskPerson(Stage.PREPARE, 2), "The arm stands at x 1.", TRIAL)
        assert main(["attend", "done"]) == 1
        assert main(["attend", "clear"]) == 1
        spin.close()
    first, second, third, fourth = capsys.readouterr().err.splitlines()
    assert "available: done, not-done, give-up" in first
    for late in (second, third):
        assert late.endswith("run 2 was judged already: not done"), late
    assert "run 3 waits" in fourth
    assert "got 'clear'" in fourth


def test_an_answer_while_the_robot_is_still_stopped_is_not_called_taken(
    capsys: pytest.CaptureFixture[str],
) -> None:
    asked = AskPerson(Stage.RECOVER, 1, "the robot made an emergency stop")
    still = "the robot made an emergency stop\nIt is still stopped: release the button first."
    stops = [still]
    with cell_node("trial_node", "") as node:

        def answered(_event: Event) -> None:
            if stops:
                attendance.ask(asked, stops.pop(), TRIAL)

        attendance, spin = Attendance(node, COMPLETION_S, answered), SpinThread(node)
        attendance.ask(asked, asked.problem, TRIAL)
        assert main(["attend", "clear"]) == 1
        said = capsys.readouterr()
        assert "taken: clear" not in said.out
        assert said.err.splitlines()[-1] == (
            "embodied-iqa: not taken: the robot made an emergency stop; It is still stopped: release the "
            "button first."
        )
        assert main(["attend", "clear"]) == 0
        assert "taken: clear" in capsys.readouterr().out
        spin.close()
