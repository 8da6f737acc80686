"""`embodied-iqa attend`: the word of the person beside a real arm to a trial that has no terminal."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from dataclasses import replace
from typing import Final

from embodied_iqa.base.errors import InputError, UsageError
from embodied_iqa.cli.output import print_json
from embodied_iqa.runs.graph.judging_process import AnswerLine
from embodied_iqa.runs.graph.namespaces import parse_namespace
from embodied_iqa.runs.trial.attendance import ANSWERS, Question
from embodied_iqa.runs.trial.judging import NOTHING_OPEN, asked_of, late_answer, words_of
from embodied_iqa.runs.trial.protocol import Stage

_END_RUN: Final = "end-run"
_WAIT_S: Final = 10.0
_AGAIN_S: Final = 3.0
"""Longest wait for a question to be asked again, because the robot is still stopped."""
_MOVES: Final = frozenset({"ready", "clear"})
_ASKED: Final = {
    Stage.PREPARE: "run {} waits: put the scene back and keep clear of the arm",
    Stage.JUDGE: "run {} has ended: was the task done? The arm goes back unless it was stopped: keep clear",
    Stage.RECOVER: "the arm stands since run {}: after the answer it moves back to its start: keep clear",
}


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    add = parser.add_argument
    words = [*dict.fromkeys(word for answers in ANSWERS.values() for word in answers), _END_RUN]
    what = "the answer; end-run ends a run or stops a way back; without, the question is printed"
    add("word", nargs="?", choices=words, help=what)
    add("--remark", default="", metavar="TEXT", help="kept with the run")
    add("--namespace", default="", metavar="NAME", help="namespace of the graph, such as cell1")
    add("--json", action="store_true", help="print the open question and its answers as JSON")
    parser.epilog = "ROS_DOMAIN_ID has to be that of the trial, which prints it with each question."


def run(arguments: argparse.Namespace) -> int:
    """Show the question, answer it or end the run; return the exit code."""
    namespace = parse_namespace(arguments.namespace)
    if arguments.remark and arguments.word in {None, _END_RUN}:
        raise UsageError("--remark belongs to an answer", expected="an answer such as done")
    from embodied_iqa.live.ros import environment

    environment.prepare_environment()
    environment.require_ros()
    from embodied_iqa.live.ros.judging import trial_questions

    with trial_questions("attend", namespace) as trial:
        if arguments.word == _END_RUN:
            refused = trial.end_run(_WAIT_S)
        elif not (refused := trial.absent(_WAIT_S)):
            said = trial.refusal()
            _show(asked := asked_of(said), words_of(said), as_json=arguments.json)
            if arguments.word is not None:
                refused = _answer(arguments, asked, said, trial.answer)
                if asked is not None and not refused and arguments.word in _MOVES:
                    again = trial.asked_again(*asked, _AGAIN_S)
                    refused = again and f"not taken: {'; '.join(again.splitlines())}"
    if refused:
        raise InputError(refused)
    if arguments.word is not None:
        print(f"taken: {arguments.word}", file=sys.stderr if arguments.json else sys.stdout)
    return 0


def _show(asked: tuple[Stage, int] | None, words: str, *, as_json: bool) -> None:
    """Print the open question, or that there is none."""
    if as_json:
        stage, run_index = (None, None) if asked is None else asked
        answers = [] if stage is None else [*ANSWERS[stage]]
        named = None if stage is None else stage.name.lower()
        print_json({"stage": named, "run_index": run_index, "words": words or None, "answers": answers})
    elif asked is None:
        print(NOTHING_OPEN)
    else:
        stage, run_index = asked
        print(words, end="\n" * bool(words))
        print(f"{_ASKED[stage].format(run_index + 1)} ({', '.join(ANSWERS[stage])})")


def _answer(
    arguments: argparse.Namespace,
    asked: tuple[Stage, int] | None,
    said: str,
    send: Callable[[AnswerLine], str],
) -> str:
    """Answer the open question, or say how the one before was answered; return why it was refused."""
    word = arguments.word
    late = "" if asked is not None and word in ANSWERS[asked[0]] else late_answer(said, word)
    if late or asked is None:
        return late or NOTHING_OPEN
    refused = send(_line(arguments, *asked))
    return late_answer(refused, word) or refused


def _line(arguments: argparse.Namespace, stage: Stage, run_index: int) -> AnswerLine:
    """Return the answer to the open question.

    Raises:
        InputError: It answers another one.
    """
    known = ANSWERS[stage]
    if arguments.word not in known:
        raise InputError(_ASKED[stage].format(run_index + 1), got=arguments.word, available=known)
    answer = replace(known[arguments.word], remark=arguments.remark)
    return AnswerLine(Question(stage, run_index, run_index + 1, ""), answer)
