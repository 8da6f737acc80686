"""Seeded training samples of policies that look while they act: states along the expert's paths and beside.

In each scene the expert acts on what it sees every 0.4 s, and is led astray now and then; or a member acts,
and the expert says what it would have done. A state is stored as what a shipped member sees in it.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.base.errors import InputError
from embodied_iqa.base.files import write_whole
from embodied_iqa.imaging.images.frame import Frame, View
from embodied_iqa.models.panel.samples.draw_samples import DRAWN_PX, reworded, sample_scene
from embodied_iqa.models.panel.samples.path_expert import RestOfPath, rest_of_path
from embodied_iqa.models.subjects.backends.panel.stepping import (
    EXECUTE_STEPS,
    STEP_RATE_HZ,
    next_steps,
    tool_fields,
)
from embodied_iqa.world.manipulation.waypoints import MAX_WAYPOINTS, WAYPOINT_FIELDS
from embodied_iqa.world.protocols import ChunkStatus, Vla, VlaObservation
from embodied_iqa.world.scenes.scene import Scene
from embodied_iqa.world.scenes.snapshot import WorldSnapshot
from embodied_iqa.world.simulation.camera.simulated_cameras import as_delivered
from embodied_iqa.world.simulation.rollout import follow
from embodied_iqa.world.simulation.scene_batches import SceneBatchRenderer
from embodied_iqa.world.simulation.world import World
from embodied_iqa.world.tasks.instruction import Instruction
from embodied_iqa.world.tasks.vocabulary import Verb

See: TypeAlias = Callable[[Frame, str], tuple[NDArray[np.float32], NDArray[np.float32]]]
"""From an image and a task to ``(F,)`` features and ``(2, 3)`` voted, as in `Sighting`."""

_MOST_DECISIONS: Final = 40
_ASTRAY: Final = 0.35
"""Share of the decisions after which the tool goes beside the expert's path."""
_BESIDE_M: Final = 0.014
_FIRST_BESIDE_M: Final = 0.05
"""Spread of where it then goes, along each axis; and of where it goes first."""
_MEMBER_ACTS: Final = 0.75
"""Share of the decisions that a member takes where it acts; the expert's lead it out of a dead end."""
_VERBS: Final = tuple(Verb)


@dataclass(frozen=True, slots=True, eq=False)
class States:
    """What is known of ``n`` states, with a task each.

    Attributes:
        features: ``(n, F)`` float32, what a shipped member sees, see `Sighting`.
        voted: ``(n, 2, 3)`` float32, as in `Sighting`.
        tool: ``(n, 6)`` float32, the tool and its gripper, columns as in `WAYPOINT_FIELDS`.
        plan: ``(n, K, 6)`` float32, the expert's waypoints of the whole task.
        length: ``(n,)`` int64, their number.
        following: ``(n,)`` int64, index of the one that comes next; `length` where the task is done.
        verb: ``(n,)`` int64, index of the task's verb.
    """

    features: NDArray[np.float32]
    voted: NDArray[np.float32]
    tool: NDArray[np.float32]
    plan: NDArray[np.float32]
    length: NDArray[np.int64]
    following: NDArray[np.int64]
    verb: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.length)


_COLUMNS: Final = tuple(item.name for item in fields(States))


@dataclass(frozen=True, slots=True, eq=False)
class PathState:
    """A state on the way of a task.

    Attributes:
        now: The world.
        T_base_tool: ``(4, 4)``, the tool's pose.
        gripper: 0 open to 1 closed.
        rest: What the expert would do.
    """

    now: WorldSnapshot
    T_base_tool: NDArray[np.float64]
    gripper: float
    rest: RestOfPath


def states_of(
    scene: Scene, task: Instruction, rng: np.random.Generator
) -> Generator[PathState, NDArray[np.float64] | None, None]:
    """Yield the states of one task at which the expert decides; it is led astray at random.

    Steps that are sent for a state, ``(n, 7)`` as in `ActionChunk`, are taken instead of the expert's.
    """
    world = World(scene)
    start = world.snapshot()
    for decision in range(_MOST_DECISIONS):
        now, tool = world.snapshot(), world.T_base_tool
        rest = rest_of_path(scene, task, start, now, tool)
        steps = yield PathState(now, tool, world.gripper, rest)
        if rest.following == len(rest.plan):
            return
        if steps is None:
            plan = rest.plan.copy()
            if rng.random() < _ASTRAY:
                spread_m = _BESIDE_M if decision else _FIRST_BESIDE_M
                plan[rest.following, :3] += spread_m * rng.standard_normal(3) * (1.0, 1.0, 0.5)
                plan[rest.following, 2] = max(plan[rest.following, 2], rest.plan[:, 2].min())
            steps = next_steps(plan, rest.following, tool, world.gripper)
        if follow(world, steps[:EXECUTE_STEPS], 1.0 / STEP_RATE_HZ) is not None:
            return


def draw_states(
    file: Path, view: View, see: See, seed: int, scenes: range, *, member: Vla | None = None
) -> None:
    """Draw the states of scenes of a seed, and store them, whole or not at all.

    Args:
        file: Where.
        view: The camera.
        see: What a shipped member sees.
        seed: Of the scenes.
        scenes: Their numbers.
        member: Takes most of the decisions; None: the expert takes all.
    """
    rows: list[tuple[Any, ...]] = []
    with closing(SceneBatchRenderer(*DRAWN_PX)) as renderer:
        for number in scenes:
            scene, task = sample_scene(seed, number)
            rng = np.random.default_rng([seed, number, 3])
            path = states_of(scene, task, rng)
            state: PathState | None = next(path)
            while state is not None:
                frame = as_delivered(renderer.frames(scene, (view,), state.now)[view], scene.seed)
                text = reworded(task, rng)
                rows.append((*see(frame, text), *_labels(state), _VERBS.index(task.verb)))
                steps = None
                if member is not None and rng.random() < _MEMBER_ACTS:
                    steps = _steps(member, state, frame, text)
                try:
                    state = path.send(steps)
                except StopIteration:
                    state = None
    _save(States(*(np.array(column) for column in zip(*rows, strict=True))), file)


def _labels(state: PathState) -> tuple[Any, ...]:
    """Return the columns of a state from `States.tool` to `States.following`."""
    rest = state.rest
    plan = np.zeros((MAX_WAYPOINTS, len(WAYPOINT_FIELDS)), np.float32)
    plan[: len(rest.plan)] = rest.plan
    tool = tool_fields(state.T_base_tool, state.gripper).astype(np.float32)
    return tool, plan, len(rest.plan), rest.following


def _steps(member: Vla, state: PathState, frame: Frame, text: str) -> NDArray[np.float64] | None:
    """Return what a member does in a state; None where it does nothing more."""
    chunk = member.act(VlaObservation({frame.view: frame}, text, state.T_base_tool, state.gripper, 0))
    return chunk.increments if chunk.status is ChunkStatus.ACT else None


def _save(states: States, file: Path) -> None:
    def write(fresh: Path) -> None:
        with fresh.open("wb") as stream:
            np.savez(stream, **{name: getattr(states, name) for name in _COLUMNS})

    write_whole(file, write)


def load_states(files: Sequence[Path]) -> States:
    """Read files of states.

    Raises:
        InputError: One is missing or broken.
    """
    loaded: list[list[NDArray[Any]]] = []
    for file in files:
        try:
            with np.load(file, allow_pickle=False) as stored:
                loaded.append([stored[name] for name in _COLUMNS])
        except (OSError, ValueError, KeyError) as error:
            raise InputError(
                f"broken states in {file}: {error}", expected="delete it to draw it again"
            ) from error
    return States(*(np.concatenate(columns) for columns in zip(*loaded, strict=True)))
