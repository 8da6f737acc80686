"""The loop of an episode: rules of steps, errors and endings, without physics."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from embodied_iqa.base.errors import InputError, UsageError
from embodied_iqa.base.records import structure, unstructure
from embodied_iqa.imaging.images.frame import Frame, Intrinsics, View
from embodied_iqa.suites.cell_manipulation.actions import ActionFault, GridAction
from embodied_iqa.suites.cell_manipulation.environment import Environment, Observation, SeenObject, StepResult
from embodied_iqa.suites.cell_manipulation.episodes import CellTask, Episode, Goal, Subset
from embodied_iqa.suites.cell_manipulation.planning.arms import Arm, ArmCamera
from embodied_iqa.suites.cell_manipulation.planning.loop import EpisodeLoop, Look
from embodied_iqa.suites.cell_manipulation.planning.planner_options import (
    Coordinates,
    LoopOptions,
    OnInvalid,
    PromptOptions,
)
from embodied_iqa.suites.cell_manipulation.planning.planner_results import protocol_result, summarize
from embodied_iqa.suites.cell_manipulation.planning.prompt import Scenery, messages_for, plan_text
from embodied_iqa.suites.cell_manipulation.planning.seeing import Sighting
from embodied_iqa.suites.cell_manipulation.planning.transcript import Ending, Transcript, replay
from embodied_iqa.world.protocols import Message, SubjectInfo

GOAL = Goal(CellTask.PLACE, "red cube", "blue bowl")
EPISODE = Episode(Subset.BASE, CellTask.PLACE, 3, 1, 5, "put the red cube into the blue bowl", (GOAL,))
MOVE, WIN = GridAction(50, 50, 30), GridAction(60, 60, 30)
BAD = GridAction(100, 50, 30)
OBJECTS = (SeenObject((50, 30, 17), "red cube", 0, (0.0, 0.2, 0.02)),)


class Table(Environment):
    """Succeeds at `WIN`; refuses what is out of range."""

    def __init__(self, *, lies: bool = False, objects: tuple[SeenObject, ...] = OBJECTS) -> None:
        self.taken: list[GridAction] = []
        self.lies, self.objects = lies, objects

    def reset(self, episode: Episode) -> Observation:
        self.taken = []
        return Observation(episode.instruction, self.objects, None, None, MOVE, 0)

    def step(self, action: GridAction) -> StepResult:
        self.taken.append(action)
        steps, fault = len(self.taken), ActionFault.GRID if action.range_fault else None
        success = action == WIN and not self.lies
        seen = Observation(EPISODE.instruction, self.objects, None, None, action, steps)
        reward = 1.0 if success else -1.0 if fault else 0.0
        reason = action.range_fault
        return StepResult(seen, f"step {steps} {reason}", fault, reason, reward, success, steps, success)

    def missing(self) -> tuple[str, ...]:
        return ("" if WIN in self.taken else "not there",)


class Script:
    """Answers what it was given, the last answer over and over."""

    info = SubjectInfo("script", "1", "", ())

    def __init__(self, *answers: str) -> None:
        self.answers = list(answers)
        self.asked: list[Sequence[Message]] = []

    def plan(self, messages: Sequence[Message], schema: str = "") -> str:
        self.asked.append(messages)
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]


BLIND = PromptOptions(shots=0, language_only=True)


def run(script: Script, options: LoopOptions | None = None, table: Table | None = None) -> Transcript:
    options = options or LoopOptions(BLIND)
    camera = ArmCamera(Arm(), options.prompt, None)
    return EpisodeLoop(script, table or Table(), camera, options).run(EPISODE, (), "clean")


def test_a_plan_is_executed_until_success() -> None:
    done = run(Script(plan_text([MOVE, WIN, MOVE])))
    assert (done.ending, done.success, len(done.turns), len(done.steps)) == (Ending.SUCCESS, True, 1, 2)
    assert done.turns[0].dropped == 1


def test_an_invalid_action_stops_the_plan_and_the_planner_is_asked_again() -> None:
    table, script = Table(), Script(plan_text([BAD, WIN]), plan_text([WIN]))
    done = run(script, table=table)
    assert table.taken == [BAD, WIN]
    assert (len(done.turns), done.steps[0].fault) == (2, ActionFault.GRID)
    assert "X is 100" in script.asked[1][-1].text


def test_as_published_the_plan_goes_on() -> None:
    options = LoopOptions(BLIND, OnInvalid.CONTINUE, as_published=True)
    done = run(Script(plan_text([BAD, WIN])), options)
    assert (len(done.turns), len(done.steps), done.success) == (1, 2, True)


def test_an_answer_that_cannot_be_read_costs_a_step_and_moves_nothing() -> None:
    table = Table()
    done = run(Script("no idea", plan_text([MOVE])[:-9], plan_text([WIN])), table=table)
    assert table.taken == [WIN]
    assert [turn.error for turn in done.turns] == ["no JSON", "JSON is cut off", ""]
    result = protocol_result(done, as_published=False)
    assert (result["num_steps"], result["planner_steps"], result["planner_output_error"]) == (3, 3, 2)
    assert result["reward"] == [-1.0, -1.0, 1.0]
    assert result["action_success"] == [0.0, 0.0, 1.0]


def test_an_episode_has_fifteen_steps_at_most() -> None:
    for script in (Script("no idea"), Script(plan_text([MOVE] * 40)), Script(plan_text([BAD]))):
        done = run(script)
        assert (done.ending, sum(turn.costs for turn in done.turns)) == (Ending.STEPS, 15)
    assert run(Script(plan_text([MOVE] * 40))).turns[0].dropped == 25


def test_an_empty_plan_ends_the_episode_and_counts_as_an_error() -> None:
    done = run(Script(plan_text([MOVE]), plan_text([])))
    assert (done.ending, done.success, done.format_errors) == (Ending.EMPTY_PLAN, False, 1)
    assert protocol_result(done, as_published=True)["planner_output_error"] == -1
    assert summarize([done], as_published=False).output_format_error == 1
    assert summarize([done], as_published=True).output_format_error == 0


def test_an_image_that_the_gate_holds_back_costs_a_step_and_asks_nobody() -> None:
    script = Script(plan_text([WIN]))
    loop = EpisodeLoop(script, Table(), lambda _seen: Look(None, 3, "too dark"), LoopOptions(BLIND))
    done = loop.run(EPISODE, (), "12-3+hold")
    assert (done.ending, script.asked, sum(turn.costs for turn in done.turns)) == (Ending.STEPS, [], 15)
    assert done.format_errors == 0


def test_a_transcript_survives_its_file_and_replays() -> None:
    done = run(Script(plan_text([MOVE, BAD]), plan_text([WIN])))
    again = structure(Transcript, unstructure(done), "a transcript")
    assert again == done
    replay(again, Table())
    with pytest.raises(InputError, match="ends otherwise"):
        replay(again, Table(lies=True))
    moved = (replace(OBJECTS[0], bins=(51, 30, 17)),)
    with pytest.raises(InputError, match="step 1 of base-003 ends otherwise"):
        replay(again, Table(objects=moved))


def test_the_history_repeats_the_conversation() -> None:
    options = LoopOptions(PromptOptions(shots=0, language_only=True, history=True))
    script = Script(plan_text([MOVE]), plan_text([WIN]))
    run(script, options)
    speakers = [str(message.speaker) for message in script.asked[1]]
    assert speakers == ["system", "user", "assistant", "user"]
    assert "Objects:" in script.asked[1][-1].text


def test_options_that_exclude_each_other_are_refused() -> None:
    with pytest.raises(UsageError, match="exclude each other"):
        PromptOptions(multiview=True, history=True)
    with pytest.raises(UsageError, match="language-only"):
        PromptOptions(language_only=True, multistep=True)
    with pytest.raises(UsageError, match="wrong shots; expected 0 to 8; got 9"):
        PromptOptions(shots=9)


def test_without_coordinates_the_prompt_has_no_list() -> None:
    script = Script(plan_text([WIN]))
    options = LoopOptions(PromptOptions(shots=0, language_only=True, coordinates=Coordinates.NONE))
    assert run(script, options).turns[0].listed is None
    assert "Objects:" not in script.asked[0][-1].text
    assert "Objects are given" not in script.asked[0][-1].text


@pytest.mark.parametrize(
    ("options", "named"),
    [
        (PromptOptions(), ("Objects are given", "Arrows", "boxes")),
        (PromptOptions(boxes=False), ("Objects are given", "Arrows")),
        (PromptOptions(coordinates=Coordinates.NONE), ("are not given", "Arrows")),
        (PromptOptions(language_only=True), ("Objects are given",)),
    ],
)
def test_the_prompt_explains_what_is_drawn_and_listed(options: PromptOptions, named: tuple[str, ...]) -> None:
    scenery = Scenery("pick", ((50, 30, 17),), ())
    text = messages_for(scenery, (), options)[0].text
    words = ("Objects are given", "are not given", "Arrows", "boxes")
    assert tuple(word for word in words if word in text) == named


def test_every_image_that_the_planner_gets_can_be_kept() -> None:
    camera = Intrinsics(64, 64, 64.0, 64.0, 31.5, 31.5)
    frames = [
        Frame(View.TOP, 0, np.full((64, 64, 3), tone, np.uint8), camera, np.eye(4)) for tone in (90, 160)
    ]
    seen = Sighting(frames[0], frames[1], None)
    kept: list[tuple[int, str]] = []
    script = Script(plan_text([MOVE]), plan_text([WIN]))
    options = LoopOptions(PromptOptions(shots=0, boxes=False, multiview=True))
    loop = EpisodeLoop(
        script, Table(), lambda _: Look(seen), options, lambda *one: kept.append((one[0], one[1]))
    )
    loop.run(EPISODE, (), "clean")
    names = ("front_rgb_annotated", "wrist_rgb")
    assert kept == [(step, name) for step in (0, 1) for name in names]
    parts = [[part for part in asked[-1].parts if not isinstance(part, str)] for asked in script.asked]
    assert [len(images) for images in parts] == [2, 2]
