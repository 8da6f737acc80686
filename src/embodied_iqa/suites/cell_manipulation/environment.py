"""The environment of a planner: an episode's scene in physics, its images, its steps and its success."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Final, Self

import numpy as np

from embodied_iqa.base.errors import UsageError
from embodied_iqa.imaging.images.frame import Frame, View
from embodied_iqa.suites.cell_manipulation.action_execution import Refusal, execute
from embodied_iqa.suites.cell_manipulation.actions import TABLE_Z, ActionFault, GridAction, position_bins
from embodied_iqa.suites.cell_manipulation.cell_scene import CellScene, build_cell_scene
from embodied_iqa.suites.cell_manipulation.conditions import Moment, goal_missing, wiped
from embodied_iqa.suites.cell_manipulation.episode_images import CellImages
from embodied_iqa.suites.cell_manipulation.episodes import MAX_STEPS, CellTask, Episode
from embodied_iqa.suites.cell_manipulation.oracle_plan import ExpertStep, expert_steps
from embodied_iqa.world.scenes.snapshot import WorldSnapshot, object_position_m
from embodied_iqa.world.simulation.rollout import RolloutOptions
from embodied_iqa.world.simulation.world import World

HOLD_NS: Final = 1_000_000_000
"""The conditions must hold for a second."""
_HOLD_CHECK_NS: Final = 40_000_000
_SUCCESS_REWARD: Final = 1.0
_INVALID_REWARD: Final = -1.0


@dataclass(frozen=True, slots=True)
class SeenObject:
    """An object as the planner's list has it, with its name, which the list does not show.

    Attributes:
        bins: X, Y and Z of its centre on the grid.
        name: Its colour and kind, or the area's name: truth, for judging.
        index: Its number in the scene; None for an area.
        position_m: Its centre in the base frame.
    """

    bins: tuple[int, int, int]
    name: str
    index: int | None
    position_m: tuple[float, float, float]


@dataclass(frozen=True, slots=True, eq=False)
class Observation:
    """What a planner may see before an action.

    Attributes:
        instruction: The task.
        objects: All objects and areas by their true place, from the robot's right to its left (Y ascending).
        front: Image of the camera that faces the robot; None where it is not drawn.
        wrist: Image of the wrist camera; None where it is not drawn.
        hand: The hand's pose and the gripper's command on the grid.
        step: Number of steps before.
    """

    instruction: str
    objects: tuple[SeenObject, ...]
    front: Frame | None
    wrist: Frame | None
    hand: GridAction
    step: int


@dataclass(frozen=True, slots=True, eq=False)
class StepResult:
    """Result of a step.

    Attributes:
        observation: The state after it.
        feedback: It in words: the number of steps, valid or not with the reason, the reward.
        fault: Why the action is not valid; None if it is.
        reason: The fault in words; empty for a valid action.
        reward: 1 for success, -1 for an invalid action, else 0.
        success: Whether all conditions held for a second.
        steps: Number of steps so far.
        done: Whether the episode has ended: by success, or because no step is left.
    """

    observation: Observation
    feedback: str
    fault: ActionFault | None
    reason: str
    reward: float
    success: bool
    steps: int
    done: bool

    @property
    def action_valid(self) -> bool:
        """Whether the action was executed completely."""
        return self.fault is None


@dataclass(frozen=True, slots=True)
class EnvironmentOptions:
    """Options of the environment.

    Attributes:
        views: Images to draw: `View.TOP` is the front image, `View.WRIST` the second one.
        size_px: Width and height of the square images.
        motion: Speed limits.
        max_steps: Steps in an episode.
    """

    views: tuple[View, ...] = (View.TOP,)
    size_px: int = 500
    motion: RolloutOptions = field(default_factory=RolloutOptions)
    max_steps: int = MAX_STEPS


class Environment:
    """One episode after the other, each the same for the same actions, bit for bit. Not thread-safe.

    Args:
        options: Images, speeds and the step limit.
    """

    def __init__(self, options: EnvironmentOptions | None = None) -> None:
        self._options = options or EnvironmentOptions()
        if not set(self._options.views) <= {View.TOP, View.WRIST}:
            raise UsageError("unknown image", got=self._options.views, available=[View.TOP, View.WRIST])
        self._episode: Episode | None = None
        self._images = CellImages(self._options.views, self._options.size_px)

    def reset(self, episode: Episode) -> Observation:
        """Build an episode's scene, bring the arm home and open the gripper.

        Raises:
            UsageError: The episode's scene lacks one of its objects.
        """
        self._episode = None
        self._cell = build_cell_scene(episode.goals, episode.scene_seed)
        self._world = World(self._cell.scene)
        self._gripper = GridAction(0, 0, 0).gripper
        self._world.set_gripper_target(GridAction(0, 0, 0).closing)
        self._world.advance(HOLD_NS)
        self._start = self._world.snapshot()
        self._dirt = {area.name: np.ones(len(area.spots_m), dtype=bool) for area in self._cell.areas}
        self._images.load(self._cell)
        self._steps, self._done = 0, False
        self._episode = episode
        return self._observation()

    def step(self, action: GridAction) -> StepResult:
        """Execute an action and judge the goals.

        Raises:
            UsageError: No episode was begun, or it has ended.
        """
        episode = self._running()
        refusal = execute(self._world, action, self._options.motion, self._sweep)
        if refusal is None:
            self._gripper = action.gripper
        self._steps += 1
        success = self._succeeded()
        self._done = success or self._steps >= self._options.max_steps
        reward = _SUCCESS_REWARD if success else _INVALID_REWARD if refusal is not None else 0.0
        return StepResult(
            self._observation(),
            _feedback(episode, self._steps, refusal, reward),
            None if refusal is None else refusal.fault,
            "" if refusal is None else refusal.reason,
            reward,
            success,
            self._steps,
            self._done,
        )

    def expert_plan(self) -> list[GridAction]:
        """Return the expert's actions on the grid for all goals that are not reached, from the present state.

        Raises:
            UsageError: No episode was begun, or an object is outside of the grid.
        """
        return [step.action for step in self.expert_steps()]

    def expert_steps(self) -> tuple[ExpertStep, ...]:
        """Return the expert's actions with the object that each is about; see `expert_plan`."""
        episode, moment = self._running(), self._moment()
        open_goals = [goal for goal in episode.goals if goal_missing(goal, moment)]
        return expert_steps(self._cell, moment.now, open_goals)

    @property
    def cell(self) -> CellScene:
        """What is on the table of the running episode."""
        self._running(even_done=True)
        return self._cell

    @property
    def snapshot(self) -> WorldSnapshot:
        """The state of the running episode."""
        self._running(even_done=True)
        return self._world.snapshot()

    def missing(self) -> tuple[str, ...]:
        """Return what each goal lacks at this instant; an empty text for a goal that is reached."""
        episode, moment = self._running(even_done=True), self._moment()
        return tuple(goal_missing(goal, moment) for goal in episode.goals)

    def boxes_px(self, view: View = View.TOP) -> dict[str, tuple[int, int, int, int]]:
        """Return the true box of each visible object in an image: left, top, right, bottom, by its name.

        Areas have a box too. The right and bottom pixels belong to it.
        """
        self._running(even_done=True)
        return self._images.boxes_px(view, self._world.snapshot())

    def close(self) -> None:
        """Release the graphics context; calling it twice is fine."""
        self._images.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _running(self, *, even_done: bool = False) -> Episode:
        if self._episode is None or (self._done and not even_done):
            raise UsageError("no running episode", expected="reset(episode) first")
        return self._episode

    def _moment(self) -> Moment:
        return Moment(self._cell, self._start, self._world.snapshot(), self._dirt)

    def _sweep(self) -> None:
        """Remove the spots under the sponges."""
        if not self._cell.areas or self._episode is None:
            return
        now = self._world.snapshot()
        sponges = {goal.target for goal in self._episode.goals if goal.task is CellTask.WIPE}
        for sponge in sorted(sponges):
            index = self._cell.index_of(sponge)
            for area in self._cell.areas:
                self._dirt[area.name] &= ~wiped(self._cell, now, index, area.spots_m)

    def _succeeded(self) -> bool:
        """Return whether all goals are reached now and for the second that follows."""
        held_ns = 0
        while not any(self.missing()):
            if held_ns >= HOLD_NS:
                return True
            self._world.advance(_HOLD_CHECK_NS)
            held_ns += _HOLD_CHECK_NS
        return False

    def _observation(self) -> Observation:
        episode, now = self._running(even_done=True), self._world.snapshot()
        frames = self._images.draw(now, self._dirt)
        hand = GridAction.from_pose(self._world.T_base_tool)
        return Observation(
            episode.instruction,
            _objects(self._cell, now),
            frames.get(View.TOP),
            frames.get(View.WRIST),
            replace(hand, gripper=self._gripper),
            self._steps,
        )


def _objects(cell: CellScene, now: WorldSnapshot) -> tuple[SeenObject, ...]:
    seen = []
    for index, item in enumerate(cell.scene.objects):
        x, y, z = object_position_m(cell.scene, now, index).tolist()
        seen.append(SeenObject(position_bins((x, y, z)), f"{item.colour} {item.kind}", index, (x, y, z)))
    for area in cell.areas:
        x, y = area.centre_m
        bins = position_bins((x, y, 0.0))
        seen.append(SeenObject((*bins[:2], TABLE_Z), area.name, None, (x, y, 0.0)))
    return tuple(sorted(seen, key=lambda item: (-item.position_m[1], item.name)))


def _feedback(episode: Episode, steps: int, refusal: Refusal | None, reward: float) -> str:
    valid = "the action is valid" if refusal is None else f"the action is invalid: {refusal.reason}"
    return f"Instruction: {episode.instruction}. Step {steps}: {valid}. Reward: {reward:g}"
