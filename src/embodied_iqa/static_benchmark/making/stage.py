"""Stage-wise reasoning: an expert episode cut at 50 to 75 % of its time; which step is under way, or next."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.database.sources.candidate import home_tool
from embodied_iqa.images.frame import View
from embodied_iqa.kinematics import chain_increments, rotation_to_rotvec, rotvec_to_rotation
from embodied_iqa.scenes.language.feasible_plans import feasible_steps
from embodied_iqa.scenes.scene import Scene
from embodied_iqa.scenes.scene_graph import SceneGraph
from embodied_iqa.scenes.snapshot import nominal_snapshot
from embodied_iqa.simulation.expert import expert_chunk
from embodied_iqa.simulation.rollout import RolloutOptions
from embodied_iqa.static_benchmark.making.draft import Cut, NoItemError, mixed
from embodied_iqa.static_benchmark.making.step_words import WAYPOINT_WORDS, worded
from embodied_iqa.tasks.instruction import Instruction

Array = NDArray[np.float64]

CUT: Final = (0.50, 0.75)
"""Part of an episode's time at which it is cut, as the paper has it."""
_INNER: Final = (0.2, 0.8)
"""Part of a step's way in which it is cut: near its ends, a picture shows two steps."""
_GRIP_S: Final = 0.7
"""Time in which the fingers open or close."""
_TRIES: Final = 20


@dataclass(frozen=True, slots=True, eq=False)
class _Episode:
    """An expert's way through its waypoints.

    Attributes:
        instruction: The task.
        poses: ``(K + 1, 4, 4)``, the tool at home and at each waypoint (m).
        grippers: ``(K,)``, the gripper's state on arrival.
        ends_s: ``(K,)``, when it arrives.
        moving_s: ``(K,)``, part of the time in which the tool moves.
    """

    instruction: Instruction
    poses: Array
    grippers: Array
    ends_s: Array
    moving_s: Array


def draw_stage(rng: np.random.Generator, scene: Scene) -> tuple[str, tuple[str, ...], Cut]:
    """Return a question, its options, the right one first, and the state at the cut.

    Raises:
        NoItemError: The scene has no task, or the cut is no clear step.
    """
    tasks = [
        task for task in feasible_steps(scene, SceneGraph(scene, View.TOP)) if task.verb in WAYPOINT_WORDS
    ]
    if not tasks:
        raise NoItemError
    verbs = sorted({task.verb for task in tasks})
    verb = verbs[int(rng.integers(len(verbs)))]
    tasks = [task for task in tasks if task.verb is verb]
    task = tasks[int(rng.integers(len(tasks)))]
    episode = _episode(scene, task)
    cut = _cut(rng, episode)
    words = [worded(line, task) for line in WAYPOINT_WORDS[verb]]
    is_next = bool(rng.integers(2))
    now = words[cut.waypoint]
    later = [line for line in words[cut.waypoint :] if line != now]
    if is_next and not later:
        raise NoItemError
    right = later[0] if is_next else now
    wrong = [line for line in dict.fromkeys(words) if line != right]
    asked = "Which step comes next?" if is_next else "Which step is under way?"
    return f'The robot does this task: "{task}". {asked}', mixed(rng, right, wrong), cut


def _episode(scene: Scene, task: Instruction) -> _Episode:
    """Return the expert's way from home and its times, from speed limits alone."""
    options = RolloutOptions()
    start = home_tool()
    increments = expert_chunk(scene, nominal_snapshot(scene), task, start).increments
    poses = np.concatenate([start[None], chain_increments(start, increments)])
    ways_m = np.linalg.norm(np.diff(poses[:, :3, 3], axis=0), axis=1)
    turns_rad = np.linalg.norm(increments[:, 3:6], axis=1)
    moves = (ways_m > 1e-6) | (turns_rad > 1e-6)
    cruise_s = np.maximum(ways_m / options.tool_speed_mps, turns_rad / options.turn_speed_radps)
    moving_s = np.where(moves, cruise_s + options.tool_speed_mps / options.tool_acceleration_mps2, 0.0)
    grips = np.abs(np.diff(increments[:, 6], prepend=0.0)) > 0.05
    ends_s = np.cumsum(moving_s + np.where(grips, _GRIP_S, 0.0))
    return _Episode(task, poses, increments[:, 6], ends_s, moving_s)


def _cut(rng: np.random.Generator, episode: _Episode) -> Cut:
    """Draw a time between 50 and 75 % at which the tool is on its way, off both ends of a step.

    Raises:
        NoItemError: No such time was found.
    """
    for _ in range(_TRIES):
        time_s = float(rng.uniform(*CUT)) * episode.ends_s[-1]
        index = int(np.searchsorted(episode.ends_s, time_s))
        begin_s = episode.ends_s[index - 1] if index else 0.0
        part = (time_s - begin_s) / episode.moving_s[index] if episode.moving_s[index] else 0.0
        if _INNER[0] <= part <= _INNER[1]:
            pose = _between(episode.poses[index], episode.poses[index + 1], part)
            return Cut(episode.instruction, index, part, pose, float(episode.grippers[index]))
    raise NoItemError


def _between(start: Array, end: Array, part: float) -> Array:
    """Return a pose on the straight way between two."""
    pose = np.eye(4)
    turn = rotation_to_rotvec(start[:3, :3].T @ end[:3, :3])
    pose[:3, :3] = start[:3, :3] @ rotvec_to_rotation(part * turn)
    pose[:3, 3] = start[:3, 3] + part * (end[:3, 3] - start[:3, 3])
    return pose
