"""Stage-wise reasoning: an expert episode cut at 50 to 75 % of its time; which step is under way, or next."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.base.kinematics import chain_increments, rotation_to_rotvec, rotvec_to_rotation
from embodied_iqa.data.database.sources.candidate import home_tool
from embodied_iqa.suites.static_benchmark.making.draft import OPTIONS, Cut, NoItemError, mixed
from embodied_iqa.suites.static_benchmark.making.step_words import WAYPOINT_WORDS, worded
from embodied_iqa.suites.static_benchmark.making.two_tasks import StageQuestion, draw_tasks
from embodied_iqa.world.scenes.scene import Scene
from embodied_iqa.world.scenes.snapshot import nominal_snapshot
from embodied_iqa.world.simulation.expert import expert_chunk
from embodied_iqa.world.simulation.rollout import RolloutOptions
from embodied_iqa.world.tasks.instruction import Instruction

Array = NDArray[np.float64]

CUT: Final = (0.50, 0.75)
"""Part of an episode's time at which it is cut, as the paper has it."""
_INNER: Final = (0.2, 0.8)
"""Part of a step's way in which it is cut: near its ends, an image shows two steps."""
_GRIP_S: Final = 0.7
"""Time in which the fingers open or close."""


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


@dataclass(frozen=True, slots=True)
class _Span:
    """Times of an episode in which the tool moves to one waypoint, off both ends of the way.

    Attributes:
        waypoint: Its index.
        start_s: From the start of the episode.
        end_s: From the start of the episode.
    """

    waypoint: int
    start_s: float
    end_s: float


def draw_stage(rng: np.random.Generator, asked: StageQuestion) -> tuple[str, tuple[str, ...], Scene, Cut]:
    """Return a question, its options, the right one first, the scene, and the state at the cut.

    The robot does one of two tasks, and of both two steps are options that a cut of their episode can show:
    task and step are drawn last, so that the text says nothing about them.

    Args:
        rng: Draws everything else.
        asked: Verbs of the tasks, and what is asked.

    Raises:
        NoItemError: The drawn scene has no such item.
    """
    scene, tasks = draw_tasks(rng, asked.verbs)
    offered: list[tuple[_Episode, str, tuple[_Span, ...]]] = []
    for task in tasks:
        episode = _episode(scene, task)
        spans = _spans(episode, is_next=asked.is_next)
        lines = [sorted(spans)[int(number)] for number in rng.permutation(len(spans))[: OPTIONS // 2]]
        offered += [(episode, line, tuple(spans[line])) for line in lines]
    if len({line for _, line, _ in offered}) < OPTIONS:
        raise NoItemError
    episode, right, found = offered[int(rng.integers(OPTIONS))]
    wrong = [line for _, line, _ in offered if line != right]
    one, two = (str(tasks[int(number)]) for number in rng.permutation(2))
    words = "Which step comes next?" if asked.is_next else "Which step is under way?"
    question = f'The robot does one of two tasks: "{one}" or "{two}". {words}'
    return question, mixed(rng, right, wrong), scene, _cut(rng, episode, found)


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


def _spans(episode: _Episode, *, is_next: bool) -> dict[str, list[_Span]]:
    """Return when a cut, in `CUT` and off the ends of its step, has each step as its answer."""
    words = [worded(line, episode.instruction) for line in WAYPOINT_WORDS[episode.instruction.verb]]
    earliest_s, latest_s = (part * episode.ends_s[-1] for part in CUT)
    begins_s = np.concatenate([[0.0], episode.ends_s[:-1]])
    found: dict[str, list[_Span]] = {}
    for index, line in enumerate(words):
        start_s, end_s = (begins_s[index] + part * episode.moving_s[index] for part in _INNER)
        start_s, end_s = max(start_s, earliest_s), min(end_s, latest_s)
        later = next((other for other in words[index:] if other != line), None)
        answer = later if is_next else line
        if answer is not None and end_s > start_s:
            found.setdefault(answer, []).append(_Span(index, float(start_s), float(end_s)))
    return found


def _cut(rng: np.random.Generator, episode: _Episode, spans: Sequence[_Span]) -> Cut:
    """Draw a time in one of the spans."""
    lengths_s = np.array([span.end_s - span.start_s for span in spans])
    span = spans[int(rng.choice(len(spans), p=lengths_s / lengths_s.sum()))]
    index, time_s = span.waypoint, float(rng.uniform(span.start_s, span.end_s))
    begin_s = episode.ends_s[index - 1] if index else 0.0
    part = (time_s - begin_s) / episode.moving_s[index]
    pose = _between(episode.poses[index], episode.poses[index + 1], part)
    return Cut(episode.instruction, index, part, pose, float(episode.grippers[index]))


def _between(start: Array, end: Array, part: float) -> Array:
    """Return a pose on the straight way between two."""
    pose = np.eye(4)
    turn = rotation_to_rotvec(start[:3, :3].T @ end[:3, :3])
    pose[:3, :3] = start[:3, :3] @ rotvec_to_rotation(part * turn)
    pose[:3, 3] = start[:3, 3] + part * (end[:3, 3] - start[:3, 3])
    return pose
