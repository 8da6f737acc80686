"""Seeded training samples of policies that look while they act: states along the expert's paths and beside.

In each scene the expert acts on what it sees every 0.4 s, and is led astray now and then; in each state that
results it is asked again. A state is stored like a scene with a single task, with the positions that the
objects have then.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.base.errors import InputError
from embodied_iqa.imaging.images.frame import Frame, View
from embodied_iqa.models.panel.image_formats import LARGE_WHOLE, SMALL_CLOSE, ImageFormat
from embodied_iqa.models.panel.samples.draw_samples import DRAWN_PX, reworded, sample_of, sample_scene
from embodied_iqa.models.panel.samples.path_expert import RestOfPath, rest_of_path
from embodied_iqa.models.panel.samples.sample_files import Samples, join_samples, parts_of, save_samples
from embodied_iqa.models.panel.true_answers import image_marks
from embodied_iqa.models.subjects.backends.panel.format import framed
from embodied_iqa.models.subjects.backends.panel.stepping import (
    EXECUTE_STEPS,
    STEP_RATE_HZ,
    next_steps,
    tool_fields,
)
from embodied_iqa.world.manipulation.waypoints import MAX_WAYPOINTS, WAYPOINT_FIELDS
from embodied_iqa.world.scenes.scene import Scene
from embodied_iqa.world.scenes.snapshot import WorldSnapshot, object_position_m, object_yaw_rad
from embodied_iqa.world.simulation.camera.simulated_cameras import as_delivered
from embodied_iqa.world.simulation.rollout import follow
from embodied_iqa.world.simulation.scene_batches import SceneBatchRenderer
from embodied_iqa.world.simulation.world import World
from embodied_iqa.world.tasks.instruction import Instruction

STATE_FORMATS: Final[tuple[tuple[View, ImageFormat], ...]] = (
    (View.TOP, LARGE_WHOLE),
    (View.SIDE, SMALL_CLOSE),
)
"""Views and formats of the images of states."""
_VIEWS: Final = tuple(view for view, _ in STATE_FORMATS)
_QUARTER_RAD: Final = np.pi / 2
_FILE: Final = "states.npz"
_MOST_DECISIONS: Final = 40
_ASTRAY: Final = 0.35
"""Share of the decisions after which the tool goes beside the expert's path."""
_BESIDE_M: Final = 0.014
_FIRST_BESIDE_M: Final = 0.05
"""Spread of where it then goes, along each axis; and of where it goes first."""


@dataclass(frozen=True, slots=True, eq=False)
class StateLabels:
    """What is known of ``n`` states, beside what `Samples` hold.

    Attributes:
        tool: ``(n, 6)`` float32, the tool and its gripper, columns as in `WAYPOINT_FIELDS`.
        plan: ``(n, K, 6)`` float32, the expert's waypoints of the whole task.
        length: ``(n,)`` int64, their number.
        following: ``(n,)`` int64, index of the one that comes next; `length` where the task is done.
    """

    tool: NDArray[np.float32]
    plan: NDArray[np.float32]
    length: NDArray[np.int64]
    following: NDArray[np.int64]


_OF_STATES: Final = tuple(item.name for item in fields(StateLabels))


@dataclass(frozen=True, slots=True, eq=False)
class PathState:
    """A state on the way of a task.

    Attributes:
        now: The world.
        tool: ``(6,)`` the tool and its gripper.
        rest: What the expert would do.
    """

    now: WorldSnapshot
    tool: NDArray[np.float64]
    rest: RestOfPath


def states_of(scene: Scene, task: Instruction, rng: np.random.Generator) -> Iterator[PathState]:
    """Yield the states of one task at which the expert decides; it is led astray at random."""
    world = World(scene)
    start = world.snapshot()
    for decision in range(_MOST_DECISIONS):
        now, tool = world.snapshot(), world.T_base_tool
        rest = rest_of_path(scene, task, start, now, tool)
        yield PathState(now, tool_fields(tool, world.gripper), rest)
        if rest.following == len(rest.plan):
            return
        plan = rest.plan.copy()
        if rng.random() < _ASTRAY:
            spread_m = _BESIDE_M if decision else _FIRST_BESIDE_M
            plan[rest.following, :3] += spread_m * rng.standard_normal(3) * (1.0, 1.0, 0.5)
            plan[rest.following, 2] = max(plan[rest.following, 2], rest.plan[:, 2].min())
        steps = next_steps(plan, rest.following, tool, world.gripper)[:EXECUTE_STEPS]
        if follow(world, steps, 1.0 / STEP_RATE_HZ) is not None:
            return


def draw_states(folder: Path, seed: int, first: int, end: int) -> None:
    """Draw the states of scenes ``first`` to ``end - 1`` of a seed, and store them as one part."""
    samples: list[Samples] = []
    images: list[list[NDArray[np.uint8]]] = []
    states: list[PathState] = []
    with closing(SceneBatchRenderer(*DRAWN_PX)) as renderer:
        for number in range(first, end):
            scene, task = sample_scene(seed, number)
            rng = np.random.default_rng([seed, number, 3])
            for state in states_of(scene, task, rng):
                shown = renderer.frames(scene, _VIEWS, state.now)
                frames = {view: as_delivered(frame, scene.seed) for view, frame in shown.items()}
                samples.append(_sample(scene, task, reworded(task, rng), state.now, frames))
                images.append(
                    [
                        framed(frames[view].rgb, view, kind.framing, kind.size_px)
                        for view, kind in STATE_FORMATS
                    ]
                )
                states.append(state)
    stacked = {key: np.stack([shown[at] for shown in images]) for at, key in enumerate(STATE_FORMATS)}
    save_samples(join_samples(samples), stacked, folder, lambda fresh: _save_states(states, fresh / _FILE))


def _sample(
    scene: Scene, task: Instruction, text: str, now: WorldSnapshot, frames: Mapping[View, Frame]
) -> Samples:
    """Return a state as a scene with one task, its objects where they are now."""
    centres = np.array([object_position_m(scene, now, index) for index in range(len(scene.objects))])
    turns = np.array([[object_yaw_rad(scene, now, index)] for index in range(len(scene.objects))])
    turns = (turns + _QUARTER_RAD / 2) % _QUARTER_RAD - _QUARTER_RAD / 2
    marks = {view: image_marks(centres, frame) for view, frame in frames.items()}
    return sample_of(scene, [task], [text], np.hstack([centres[:, :2], turns]), marks)


def _save_states(states: Sequence[PathState], file: Path) -> None:
    plan = np.zeros((len(states), MAX_WAYPOINTS, len(WAYPOINT_FIELDS)), np.float32)
    for row, state in enumerate(states):
        plan[row, : len(state.rest.plan)] = state.rest.plan
    np.savez(
        file,
        tool=np.array([state.tool for state in states], np.float32),
        plan=plan,
        length=np.array([len(state.rest.plan) for state in states]),
        following=np.array([state.rest.following for state in states]),
    )


def load_states(folder: Path) -> StateLabels:
    """Read the labels of the states in the parts of a folder.

    Raises:
        InputError: A part is broken.
    """
    loaded: list[list[NDArray[Any]]] = []
    try:
        for part in parts_of(folder):
            with np.load(part / _FILE, allow_pickle=False) as stored:
                loaded.append([stored[name] for name in _OF_STATES])
        return StateLabels(*(np.concatenate(columns) for columns in zip(*loaded, strict=True)))
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(f"broken samples of states in {folder}: {error}") from error
