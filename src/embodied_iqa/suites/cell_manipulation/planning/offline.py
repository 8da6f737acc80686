"""Planners without a model: they look inside the simulated cell, or at the prompt's object list only."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, Protocol, runtime_checkable

import numpy as np

from embodied_iqa.base.errors import InternalError, UsageError
from embodied_iqa.base.kinematics import chain_increments
from embodied_iqa.imaging.images.frame import Frame, View
from embodied_iqa.models.subjects.reference import parse_vla
from embodied_iqa.models.subjects.registry import make_vla
from embodied_iqa.models.subjects.subject_options import VlmRequest
from embodied_iqa.suites.cell_manipulation.actions import CLOSED, OPEN, GridAction, OutsideGridError
from embodied_iqa.suites.cell_manipulation.environment import Environment, Observation
from embodied_iqa.suites.cell_manipulation.episodes import CellTask, Episode
from embodied_iqa.suites.cell_manipulation.planning.detecting import Detections
from embodied_iqa.suites.cell_manipulation.planning.prompt import Bins, listed_objects, plan_text
from embodied_iqa.world.protocols import ChunkStatus, Message, SubjectInfo, Vla, VlaObservation
from embodied_iqa.world.simulation.rollout import KINEMATICS

PANEL_VLA: Final = "panel-vla-query"
_SENTENCE: Final = {
    CellTask.PLACE: "place the {target} in the {destination}",
    CellTask.INSERT: "insert the {target} in the {destination}",
    CellTask.STACK: "pick the {target}",
    CellTask.WIPE: "pick the {target}",
}
"""What the panel can do of a task: it knows neither stacking nor wiping."""


@dataclass(frozen=True, slots=True, eq=False)
class Inside:
    """The state of the cell at a question.

    Attributes:
        environment: The cell.
        episode: The running episode.
        observation: The true state.
        front: The front image as delivered, or None.
        turn: Number of questions before in this episode.
        detections: What the object list was made of; None unless a detector made it.
    """

    environment: Environment
    episode: Episode
    observation: Observation
    front: Frame | None
    turn: int
    detections: Detections | None = None


@runtime_checkable
class InsidePlanner(Protocol):
    """A planner that is given the state of the cell before each question."""

    def enter(self, inside: Inside) -> None:
        """Take the state of the next question."""
        ...


class OfflinePlanner:
    """What the planners without a model share: the state, and an answer as JSON.

    Args:
        name: Name of the catalogue.
        description: One sentence.
    """

    def __init__(self, name: str, description: str) -> None:
        self.info = SubjectInfo(name, "1", description, (View.TOP,), simulation_only=True)
        self._inside: Inside | None = None

    @property
    def inside(self) -> Inside:
        """The state of the present question."""
        if self._inside is None:
            raise InternalError(f"{self.info.name} was asked outside of the cell")
        return self._inside

    def enter(self, inside: Inside) -> None:
        """Take the state of the next question."""
        self._inside = inside

    def plan(self, messages: Sequence[Message], schema: str = "") -> str:
        """Return the plan as JSON; an empty one where it would lead outside of the grid."""
        del schema
        return plan_text(self.planned(messages), seen="")

    def planned(self, messages: Sequence[Message]) -> list[GridAction]:
        """Return the plan, empty where it would lead outside of the grid: an object fell off the table."""
        try:
            return self.actions(messages)
        except OutsideGridError:
            return []

    def actions(self, messages: Sequence[Message]) -> list[GridAction]:
        """Return the plan: here the expert's."""
        del messages
        return self.inside.environment.expert_plan()


class ReadingPlanner(OfflinePlanner):
    """The expert's plan, moved to where the prompt's object list has the objects; looks at no image.

    Each pose moves with the object that it is about to the listed object that is nearest in X and Y: the
    truth says which object is meant, the list where it is. With an exact list it is the expert; without a
    list it plans nothing.
    """

    def __init__(self, name: str, description: str) -> None:
        super().__init__(name, description)
        self.info = replace(self.info, version="2")

    def actions(self, messages: Sequence[Message]) -> list[GridAction]:
        """Return the moved plan."""
        found = listed_objects(messages)
        if not found:
            return []
        truth = {item.name: item.bins for item in self.inside.observation.objects}
        return [
            moved(step.action, truth[step.about], found[nearest(truth[step.about], found)])
            for step in self.inside.environment.expert_steps()
        ]


class BlindPlanner(OfflinePlanner):
    """The same plan in every episode: down at the middle of the table, close, up."""

    def actions(self, messages: Sequence[Message]) -> list[GridAction]:
        """Return the plan."""
        del messages
        heights = ((30, OPEN), (18, OPEN), (18, CLOSED), (35, CLOSED), (35, OPEN))
        return [GridAction(55, 50, z, gripper=gripper) for z, gripper in heights]


class PanelPlanner(OfflinePlanner):
    """The waypoints of a learned policy; it gets each goal in the words that it was trained on.

    Args:
        name: Name of the catalogue.
        vla: The policy.
    """

    def __init__(self, name: str, vla: Vla) -> None:
        super().__init__(name, f"waypoints of {vla.info.name} {vla.info.version}, put into the grid's bins")
        self.info = replace(self.info, version=f"1-{vla.info.version}", views=vla.info.views)
        self._vla = vla

    def actions(self, messages: Sequence[Message]) -> list[GridAction]:
        """Return the plan of the first goal that is not reached; empty if the policy sees no target.

        Raises:
            UsageError: The run shows no image.
        """
        del messages
        inside = self.inside
        if inside.front is None:
            raise UsageError(f"{self.info.name} needs images", expected="a run without language-only")
        open_goals = [
            goal
            for goal, missing in zip(inside.episode.goals, inside.environment.missing(), strict=True)
            if missing
        ]
        if not open_goals:
            return []
        goal = open_goals[0]
        task = _SENTENCE[goal.task].format(target=goal.target, destination=goal.destination)
        pose = KINEMATICS.forward(inside.environment.snapshot.qpos[:6])
        frames = {View.TOP: inside.front}
        chunk = self._vla.act(VlaObservation(frames, task, pose, 0.0, 0))
        if chunk.status is not ChunkStatus.ACT:
            return []
        poses = chain_increments(pose, chunk.increments)
        return [
            GridAction.from_pose(at, closing)
            for at, closing in zip(poses, chunk.increments[:, 6].tolist(), strict=True)
        ]


def make_oracle(request: VlmRequest) -> OfflinePlanner:
    """Make the expert."""
    return OfflinePlanner(request.reference.text, "the expert's plan from the true state, on the grid")


def make_reader(request: VlmRequest) -> OfflinePlanner:
    """Make the expert that reads positions from the prompt."""
    return ReadingPlanner(request.reference.text, "the expert's plan with positions from the prompt's list")


def make_blind(request: VlmRequest) -> OfflinePlanner:
    """Make the planner that knows nothing."""
    return BlindPlanner(request.reference.text, "one plan for every episode")


def make_panel(request: VlmRequest) -> OfflinePlanner:
    """Make the panel's planner.

    Raises:
        UserError: The policy cannot be loaded.
    """
    return PanelPlanner(request.reference.text, make_vla(parse_vla(PANEL_VLA)))


def nearest(place: Sequence[int], objects: Sequence[Bins]) -> int:
    """Return the index of the object that is nearest to a place in X and Y."""
    offsets = np.array(objects)[:, :2] - np.array(place[:2])
    return int(np.argmin(np.hypot(*offsets.T)))


def moved(action: GridAction, old: Bins, new: Bins) -> GridAction:
    """Return an action that is moved in X and Y as an object is."""
    return replace(action, x=action.x + new[0] - old[0], y=action.y + new[1] - old[1])
