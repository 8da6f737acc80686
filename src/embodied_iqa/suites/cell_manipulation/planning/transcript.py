"""Transcripts of episodes: everything that a planner was given, answered and caused; they replay."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from embodied_iqa.base.errors import InputError
from embodied_iqa.suites.cell_manipulation.actions import GridAction
from embodied_iqa.suites.cell_manipulation.environment import Environment
from embodied_iqa.suites.cell_manipulation.episodes import Episode

Bins = tuple[int, int, int]


class Ending(StrEnum):
    """Why an episode ended."""

    SUCCESS = "success"
    STEPS = "no step left"
    EMPTY_PLAN = "empty plan"


@dataclass(frozen=True, slots=True)
class StepRecord:
    """One executed or refused action.

    Attributes:
        action: The action.
        fault: Why it is not valid (`ActionFault`); empty if it is.
        feedback: What the planner is told of it.
        reward: 1 for success, -1 for an invalid action, else 0.
        success: Whether all conditions hold.
        objects: True bins of all objects and areas after it, by name.
        holding: Name of the object that it lifted off the table; empty if none.
    """

    action: GridAction
    fault: str
    feedback: str
    reward: float
    success: bool
    objects: dict[str, Bins]
    holding: str = ""


@dataclass(frozen=True, slots=True)
class Turn:
    """One question to the planner and what came of it.

    Attributes:
        listed: The object list that the planner was given; None without one.
        truth: True bins of all objects and areas, by name.
        answer: Its answer; empty where the gate held the image back.
        error: Why the answer is not a plan (`FormatError`); empty if it is.
        planned: Number of planned actions.
        steps: What was executed, in order.
        held: Whether the gate held the image back, and no question was asked.
        images: Number of images that were taken.
        asked_s: Time of the planner.
    """

    listed: tuple[Bins, ...] | None
    truth: dict[str, Bins]
    answer: str
    error: str
    planned: int
    steps: tuple[StepRecord, ...]
    held: bool = False
    images: int = 1
    asked_s: float = 0.0

    @property
    def costs(self) -> int:
        """Number of environment steps that the turn used."""
        return len(self.steps) + int(bool(self.error) or self.held)

    @property
    def dropped(self) -> int:
        """Number of planned actions that were not executed."""
        return self.planned - len(self.steps)


@dataclass(frozen=True, slots=True)
class Transcript:
    """An episode as it was run.

    Attributes:
        episode: The episode.
        planner: Name of the planner.
        version: Its version.
        arm: Name of the arm: distortion and gate.
        turns: In order.
        ending: Why it ended.
        missing: What each goal lacks at the end; empty text for a goal that is reached.
        elapsed_s: Time of the whole episode.
    """

    episode: Episode
    planner: str
    version: str
    arm: str
    turns: tuple[Turn, ...]
    ending: Ending
    missing: tuple[str, ...]
    elapsed_s: float

    @property
    def success(self) -> bool:
        """Whether the task is done."""
        return self.ending is Ending.SUCCESS

    @property
    def steps(self) -> tuple[StepRecord, ...]:
        """Executed and refused actions of all turns."""
        return tuple(step for turn in self.turns for step in turn.steps)

    @property
    def format_errors(self) -> int:
        """Number of answers that are not plans; an empty plan counts, too."""
        empty = self.ending is Ending.EMPTY_PLAN
        return sum(bool(turn.error) for turn in self.turns) + int(empty)


def replay(transcript: Transcript, environment: Environment) -> None:
    """Execute the actions of a transcript again and compare every outcome and where all objects are then.

    Raises:
        InputError: An outcome differs.
    """
    environment.reset(transcript.episode)
    success = False
    for number, step in enumerate(transcript.steps, start=1):
        result = environment.step(step.action)
        objects = {item.name: item.bins for item in result.observation.objects}
        outcome = ("" if result.fault is None else str(result.fault), result.success, result.reward, objects)
        stored = (step.fault, step.success, step.reward, step.objects)
        if outcome != stored:
            title = f"step {number} of {transcript.episode.name} ends otherwise in the replay"
            raise InputError(title, expected=str(stored), got=outcome)
        success = result.success
    if success != transcript.success:
        raise InputError(f"{transcript.episode.name} ends otherwise in the replay", got=success)
