"""Trajectories of an expert in the simulated cell: seeded, in any number of processes, resumable."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.base.errors import InternalError, UsageError
from embodied_iqa.base.files import remove_parts, write_json_whole
from embodied_iqa.base.jobs.engine import BlockReport, EngineOptions, run_jobs
from embodied_iqa.base.jobs.folder import JobFolder
from embodied_iqa.base.jobs.plan import require_same_plan
from embodied_iqa.base.number_range import NumberRange
from embodied_iqa.base.records import unstructure
from embodied_iqa.base.units import SECOND_NS
from embodied_iqa.suites.static_benchmark.vla.pose_paths import pose_rows, poses_at
from embodied_iqa.suites.static_benchmark.vla.trajectories import (
    FORMAT,
    STEPS,
    StoredImage,
    Trajectory,
    TrajectoryFolder,
    TrajectoryPlan,
    store_image,
)
from embodied_iqa.world.scenes.dimensions import CELL_VIEWS
from embodied_iqa.world.scenes.scene import WORLD_VERSION, Background, Scene, draw_instruction, make_scene
from embodied_iqa.world.scenes.snapshot import WorldSnapshot, gripper_of
from embodied_iqa.world.simulation.camera import DEFAULT_MODEL, CameraModel
from embodied_iqa.world.simulation.camera.simulated_cameras import taken
from embodied_iqa.world.simulation.expert import expert_chunk
from embodied_iqa.world.simulation.kept_renderers import batch_renderer
from embodied_iqa.world.simulation.renderer import check_image_size
from embodied_iqa.world.simulation.rollout import rollout
from embodied_iqa.world.simulation.success import task_success
from embodied_iqa.world.simulation.world import World
from embodied_iqa.world.tasks.instruction import Instruction
from embodied_iqa.world.tasks.vocabulary import KINDS_OF_VERB, Kind, Verb

Array = NDArray[np.float64]

_COUNTS, _SEEDS = NumberRange(1, math.inf), NumberRange(0, 2**32 - 1)
_SETTLING: Final = 1
"""States at the end of a rollout in which the arm only rests."""


@dataclass(frozen=True, slots=True, eq=False)
class RecordedExpert:
    """A successful expert.

    Attributes:
        start: State before the first motion.
        T_base_tool: ``(4, 4)``, the tool there (m).
        duration_s: Of the motion.
        steps: ``(n, 7)``: x, y, z, roll, pitch, yaw, commanded gripper, at even times; the last at the end.
        measured_gripper: ``(n,)``, in [0, 1].
        snapshots: The state at each step, to within a servo period (8 ms).
    """

    start: WorldSnapshot
    T_base_tool: Array
    duration_s: float
    steps: Array
    measured_gripper: Array
    snapshots: tuple[WorldSnapshot, ...]


class _RecordedWorld(World):
    """A world that keeps its state after each advance."""

    def __init__(self, scene: Scene) -> None:
        self.poses: list[Array] = []
        self.snapshots: list[WorldSnapshot] = []
        self.commands: list[float] = []
        self._commanded = 0.0
        super().__init__(scene)
        self._keep()

    def set_gripper_target(self, gripper: float, speed_per_s: float = 1.0) -> None:
        super().set_gripper_target(gripper, speed_per_s)
        self._commanded = gripper

    def advance(self, duration_ns: int) -> None:
        super().advance(duration_ns)
        self._keep()

    def _keep(self) -> None:
        self.poses.append(self.T_base_tool)
        self.snapshots.append(self.snapshot())
        self.commands.append(self._commanded)


def record_expert(scene: Scene, instruction: Instruction, steps: int) -> RecordedExpert | None:
    """Let the expert do a task in contact physics; None if it fails.

    Args:
        scene: What is on the table.
        instruction: The task.
        steps: Number of samples.
    """
    world = _RecordedWorld(scene)
    start, T_base_tool = world.snapshots[0], world.poses[0]
    result = rollout(world, expert_chunk(scene, start, instruction, T_base_tool).increments)
    if result.stopped is not None or not task_success(scene, instruction, start, result.end):
        return None
    moving = len(world.poses) - _SETTLING
    known_s = np.array([snapshot.time_ns for snapshot in world.snapshots[:moving]]) / SECOND_NS
    at_s = np.arange(1, steps + 1) * (known_s[-1] / steps)
    poses = poses_at(known_s, np.stack(world.poses[:moving]), at_s)
    nearest = np.minimum(np.searchsorted(known_s, at_s - 1e-9), moving - 1)
    snapshots = tuple(world.snapshots[index] for index in nearest)
    commands = np.array(world.commands)[nearest]
    measured = np.array([gripper_of(snapshot) for snapshot in snapshots])
    return RecordedExpert(
        start, T_base_tool, float(known_s[-1]), pose_rows(poses, commands), measured, snapshots
    )


VERBS: Final = (Verb.PUSH, Verb.PULL, Verb.PLACE, Verb.PICK, Verb.PRESS)
"""The five verbs of the paper."""
TASKS: Final = 100
_SEED_TAG: Final = 0x57A7
_MOST_DRAWS: Final = 10_000
"""Seeds tried for a task; about 35 have the wanted object and background."""

Done = Callable[[int, int], object]
"""Takes the number of finished tasks and of all."""


@dataclass(frozen=True, slots=True)
class ImageOptions:
    """The images of made trajectories.

    Attributes:
        width_px: Of each image.
        height_px: Of each image.
        camera_model: What the cameras make of a rendered image.
        steps: Also draw every step, from every camera; otherwise the start only.
    """

    width_px: int = 640
    height_px: int = 480
    camera_model: CameraModel = DEFAULT_MODEL
    steps: bool = False


def make_trajectories(
    benchmark: Path, *, tasks: int = TASKS, seed: int = 0, images: ImageOptions | None = None,
    engine: EngineOptions | None = None, done: Done | None = None,
) -> TrajectoryFolder:  # fmt: skip
    """Draw the VLA half of a benchmark; finished tasks of the same plan are kept.

    Args:
        benchmark: The folder; may hold questions already.
        tasks: Number of tasks; verbs alternate, then objects and backgrounds.
        seed: The same seed gives the same trajectories.
        images: Which images are drawn.
        engine: What runs the work.
        done: Called after each task.

    Raises:
        UsageError: Wrong numbers, or the folder holds trajectories of another plan.
        InputError: The folder cannot be written, or another process works in it.
    """
    images = images or ImageOptions()
    plan = _plan(tasks, seed, images)
    report = done or (lambda *_: None)
    with JobFolder(benchmark, "making of trajectories").locked():
        folder = _opened(benchmark, plan)
        missing = [index for index in range(tasks) if not folder.file(task_name(index)).is_file()]
        report(tasks - len(missing), tasks)
        jobs = (MakeTrajectory(benchmark, seed, index, images) for index in missing)
        made = run_jobs(jobs, engine or EngineOptions())
        for count, _ in enumerate(made, start=tasks - len(missing) + 1):
            report(count, tasks)
    return folder


def _plan(tasks: int, seed: int, images: ImageOptions) -> TrajectoryPlan:
    for name, number, limits in (("number of tasks", tasks, _COUNTS), ("seed", seed, _SEEDS)):
        if number not in limits:
            raise UsageError(f"wrong {name}", expected=str(limits), got=number)
    check_image_size(images.width_px, images.height_px)
    size = f"{images.width_px}x{images.height_px}, camera model {images.camera_model}"
    source = f"expert in the simulated cell, world {WORLD_VERSION}, {size}"
    return TrajectoryPlan(FORMAT, source, tasks, seed, images.steps)


def _opened(benchmark: Path, plan: TrajectoryPlan) -> TrajectoryFolder:
    """Check what the folder holds and write the plan."""
    folder = TrajectoryFolder(benchmark)
    made = JobFolder(folder.path, "making of trajectories", folder.plan_file.name)
    if folder.exists() and made.has_results():
        require_same_plan(folder.path, unstructure(folder.plan()), unstructure(plan))
    write_json_whole(folder.plan_file, unstructure(plan))
    remove_parts(folder.path)
    return folder


def task_name(index: int) -> str:
    """Return the name of a task that is made here."""
    return f"{index:03d}"


@dataclass(frozen=True, slots=True)
class MakeTrajectory:
    """The job of one task.

    Attributes:
        benchmark: The folder.
        seed: Of the benchmark.
        index: Number of the task.
        options: Which images are drawn.
    """

    benchmark: Path
    seed: int
    index: int
    options: ImageOptions

    def __call__(self) -> BlockReport:
        """Draw scenes until the expert succeeds; write the images, then the trajectory."""
        folder, name = TrajectoryFolder(self.benchmark), task_name(self.index)
        scene, instruction, expert, draws = _drawn_expert(self.seed, self.index)
        images = self._store(folder.images, name, scene, expert.start)
        if self.options.steps:
            for step, snapshot in enumerate(expert.snapshots, start=1):
                self._store(folder.path / "steps" / name, f"{step:02d}", scene, snapshot)
        made = Trajectory(
            task=name,
            instruction=str(instruction),
            verb=str(instruction.verb),
            kind=str(instruction.kind),
            background=str(scene.background),
            scene_seed=scene.seed,
            duration_s=expert.duration_s,
            T_base_tool=tuple(expert.T_base_tool.ravel().tolist()),
            gripper=0.0,
            steps=tuple(map(tuple, expert.steps.tolist())),
            measured_gripper=tuple(expert.measured_gripper.tolist()),
            images=images,
            draws=draws,
        )
        write_json_whole(folder.file(name), unstructure(made))
        return BlockReport(self.index, 1)

    def _store(
        self, folder: Path, name: str, scene: Scene, snapshot: WorldSnapshot
    ) -> tuple[StoredImage, ...]:
        options = self.options
        with batch_renderer(options.width_px, options.height_px) as renderer:
            rendered = renderer.frames(scene, CELL_VIEWS, snapshot)
        frames = [taken(frame, options.camera_model, scene.seed) for frame in rendered.values()]
        folder.mkdir(parents=True, exist_ok=True)
        return tuple(store_image(folder, name, frame) for frame in frames)


def draw_task(seed: int, index: int, draw: int) -> tuple[Scene, Instruction]:
    """Return a scene and a task with the verb, object and background of task number ``index``.

    The scene is that of `make_scene` with its own seed, so that an experiment runs the same task.

    Args:
        seed: Of the benchmark.
        index: Number of the task.
        draw: Further scenes of the task.
    """
    verb, kind, background = _combination(seed, index)
    rng = np.random.default_rng([_SEED_TAG, seed, index, draw])
    for scene_seed in rng.integers(2**31, size=_MOST_DRAWS).tolist():
        instruction = draw_instruction(verb, scene_seed)
        if instruction.kind is kind:
            scene = make_scene(scene_seed, instruction)
            if scene.background is background:
                return scene, instruction
    raise InternalError(f"no scene for {verb} a {kind} on {background}")


def _combination(seed: int, index: int) -> tuple[Verb, Kind, Background]:
    """Return verb, object and background of a task; a verb's combinations alternate in a seeded order."""
    turn, which = divmod(index, len(VERBS))
    verb = VERBS[which]
    combinations = list(product(KINDS_OF_VERB[verb], Background))
    order = np.random.default_rng([_SEED_TAG, seed, which]).permutation(len(combinations))
    kind, background = combinations[int(order[turn % len(order)])]
    return verb, kind, background


def _drawn_expert(seed: int, index: int) -> tuple[Scene, Instruction, RecordedExpert, int]:
    for draw in range(_MOST_DRAWS):
        scene, instruction = draw_task(seed, index, draw)
        expert = record_expert(scene, instruction, STEPS)
        if expert is not None:
            return scene, instruction, expert, draw
    raise InternalError(f"the expert never succeeds at task {index}")
