"""The loop of an episode: see, ask, execute, until success, the step limit or an empty plan."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from embodied_iqa.suites.cell_manipulation.actions import CLOSED, GridAction
from embodied_iqa.suites.cell_manipulation.environment import Environment, Observation, StepResult
from embodied_iqa.suites.cell_manipulation.episodes import Episode
from embodied_iqa.suites.cell_manipulation.planning.offline import Inside, InsidePlanner
from embodied_iqa.suites.cell_manipulation.planning.planner_answers import AnswerError, Plan, parse_answer
from embodied_iqa.suites.cell_manipulation.planning.planner_options import LoopOptions, OnInvalid
from embodied_iqa.suites.cell_manipulation.planning.prompt import (
    Example,
    Exchange,
    Image,
    Scenery,
    messages_for,
    schema_text,
    task_text,
)
from embodied_iqa.suites.cell_manipulation.planning.seeing import Sighting, annotated
from embodied_iqa.suites.cell_manipulation.planning.transcript import Ending, StepRecord, Transcript, Turn
from embodied_iqa.world.protocols import Planner

_RAISED_BINS = 3

See = Callable[[Observation], "Look"]
"""Delivers a state to the planner: camera, distortion and gate."""
OnImage = Callable[[int, str, Image], object]
"""Takes the number of steps before, what the image is, and the image that the planner gets."""
_FRONT, _WRIST = "front_rgb_annotated", "wrist_rgb"


@dataclass(frozen=True, slots=True, eq=False)
class Look:
    """What the cameras and the gate deliver.

    Attributes:
        sighting: What the planner gets; None where the gate holds the image back.
        images: Number of images that were taken.
        reason: Why the gate holds it back.
    """

    sighting: Sighting | None
    images: int = 1
    reason: str = ""


@dataclass(slots=True)
class _State:
    """Progress of an episode."""

    episode: Episode
    observation: Observation
    used: int = 0
    success: bool = False
    done: list[str] = field(default_factory=list)
    earlier: list[Exchange] = field(default_factory=list)
    images: list[Image] = field(default_factory=list)
    turns: list[Turn] = field(default_factory=list)


class EpisodeLoop:
    """Runs episodes with one planner.

    Args:
        planner: The planner.
        environment: The cell.
        see: Delivers a state.
        options: What the planner is shown, and the rules.
        on_image: Takes every image that the planner gets.
    """

    def __init__(
        self,
        planner: Planner,
        environment: Environment,
        see: See,
        options: LoopOptions,
        on_image: OnImage = lambda _number, _what, _image: None,
    ) -> None:
        self._planner, self._environment, self._see = planner, environment, see
        self._options, self._on_image = options, on_image
        self._schema = schema_text(options.prompt)

    def run(self, episode: Episode, examples: Sequence[Example], arm: str) -> Transcript:
        """Run an episode.

        Args:
            episode: The episode.
            examples: Solved tasks for the prompt.
            arm: Name of the arm, for the transcript.

        Raises:
            UserError: The planner cannot be reached.
        """
        began_s = time.monotonic()
        state = _State(episode, self._environment.reset(episode))
        ending = Ending.STEPS
        while state.used < self._options.max_steps:
            plan = self._turn(state, examples)
            if state.success:
                ending = Ending.SUCCESS
                break
            if plan is not None and not plan.actions:
                ending = Ending.EMPTY_PLAN
                break
        info, elapsed_s = self._planner.info, time.monotonic() - began_s
        missing = self._environment.missing()
        turns = tuple(state.turns)
        return Transcript(episode, info.name, info.version, arm, turns, ending, missing, elapsed_s)

    def _turn(self, state: _State, examples: Sequence[Example]) -> Plan | None:
        """Ask once and execute the plan; None where there is none."""
        look, truth = self._see(state.observation), truth_of(state.observation)
        if look.sighting is None:
            state.used += 1
            state.done.append(f"The picture was held back: {look.reason}. Nothing moved; this was a step.")
            state.turns.append(Turn(None, truth, "", "", 0, (), held=True, images=look.images))
            return None
        began_s = time.monotonic()
        answer = self._ask(state, look.sighting, examples)
        asked_s = time.monotonic() - began_s
        plan, error, steps = None, "", list[StepRecord]()
        try:
            plan = parse_answer(answer)
        except AnswerError as problem:
            error = str(problem.kind)
            state.used += 1
            state.done.append(f"An answer could not be read ({problem}); nothing moved. This was a step.")
        else:
            steps = self._execute(state, plan.actions)
        planned = 0 if plan is None else len(plan.actions)
        listed = look.sighting.objects
        state.turns.append(
            Turn(listed, truth, answer, error, planned, tuple(steps), False, look.images, asked_s)
        )
        return plan

    def _ask(self, state: _State, sighting: Sighting, examples: Sequence[Example]) -> str:
        prompt = self._options.prompt
        scenery = Scenery(
            state.observation.instruction,
            sighting.objects,
            self._images(state, sighting),
            tuple(state.done),
            tuple(state.earlier),
        )
        if isinstance(self._planner, InsidePlanner):
            turn = len(state.turns)
            seen = sighting.front, turn, sighting.detections
            self._planner.enter(Inside(self._environment, state.episode, state.observation, *seen))
        answer = self._planner.plan(messages_for(scenery, examples, prompt), self._schema)
        state.earlier.append(Exchange(task_text(scenery), answer))
        return answer

    def _images(self, state: _State, sighting: Sighting) -> tuple[Image, ...]:
        prompt = self._options.prompt
        front = annotated(sighting, prompt)
        if prompt.language_only or front is None:
            return ()
        self._on_image(state.used, _FRONT, front)
        state.images.append(front)
        if prompt.multiview and sighting.wrist is not None:
            self._on_image(state.used, _WRIST, sighting.wrist.rgb)
            return front, sighting.wrist.rgb
        if prompt.multistep and len(state.images) > 2:
            return tuple(reversed(state.images[-3:]))
        return (front,)

    def _execute(self, state: _State, actions: Sequence[GridAction]) -> list[StepRecord]:
        """Execute a plan until success, the step limit or, by the rules, an invalid action."""
        steps: list[StepRecord] = []
        for action in actions[: self._options.max_steps - state.used]:
            result = self._environment.step(action)
            state.used += 1
            state.observation, state.success = result.observation, result.success
            state.done.append(f"{list(action.numbers)}: {result.feedback}")
            steps.append(_record(action, result))
            if result.success:
                break
            if result.fault is not None and self._options.on_invalid is OnInvalid.REPLAN:
                break
        return steps


def truth_of(observation: Observation) -> dict[str, tuple[int, int, int]]:
    """Return the true bins of all objects and areas by name."""
    return {item.name: item.bins for item in observation.objects}


def _record(action: GridAction, result: StepResult) -> StepRecord:
    truth = truth_of(result.observation)
    hand = result.observation.hand
    held = [
        item.name
        for item in result.observation.objects
        if item.index is not None
        and hand.gripper == CLOSED
        and max(abs(a - b) for a, b in zip(item.bins, hand.numbers[:3], strict=True)) <= _RAISED_BINS
    ]
    fault = "" if result.fault is None else str(result.fault)
    return StepRecord(
        action, fault, result.feedback, result.reward, result.success, truth, held[0] if held else ""
    )
