"""Clean frames of the simulated cameras: the robot at work and at random poses."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.base.kinematics import HOME_Q_RAD, Kinematics, choose, rotvec_to_rotation
from embodied_iqa.imaging.images.frame import View
from embodied_iqa.world.manipulation.shapes import STROKE_M
from embodied_iqa.world.scenes.dimensions import T_flange_tool
from embodied_iqa.world.scenes.scene import Scene, make_scene, tasks_of
from embodied_iqa.world.scenes.snapshot import WorldSnapshot
from embodied_iqa.world.simulation.camera import DEFAULT_MODEL, CameraModel
from embodied_iqa.world.simulation.camera.simulated_cameras import Shot, SimulatedCameras
from embodied_iqa.world.simulation.expert import expert_chunk
from embodied_iqa.world.simulation.renderer import SceneRenderer
from embodied_iqa.world.simulation.rollout import rollout
from embodied_iqa.world.simulation.world import World

SAMPLES_A_TASK: Final = 18
"""Frames spread evenly over an expert's rollout of one task."""

POSES_A_SCENE: Final = 2
"""Further frames with the tool at random poses above the table, where distorted images may send it."""

_ADVANCES_A_IMAGE: Final = 8
"""The rollout advances at 125 Hz; images are taken at 15 Hz, as in a trial."""
_LOW_M: Final = (-0.70, -0.30, 0.08)
_HIGH_M: Final = (-0.34, 0.30, 0.35)
_TILT_RAD: Final = 0.25


def frames_a_scene() -> int:
    """Return the number of frames of each view in a scene."""
    return SAMPLES_A_TASK + POSES_A_SCENE


def simulated_frames(
    views: tuple[View, ...],
    sizes: tuple[tuple[int, int], ...],
    n_scenes: int,
    seed: int,
    model: CameraModel = DEFAULT_MODEL,
) -> Generator[tuple[View, NDArray[np.uint8]], None, None]:
    """Take clean images: every scene with an expert at one of its tasks and with random poses.

    A camera that is not ideal takes images through the whole rollout, so that arm and wrist camera smear
    and the exposure follows.

    Args:
        views: The cameras.
        sizes: Resolutions ``(width_px, height_px)``; every image is taken at each.
        n_scenes: Number of scenes.
        seed: The scenes' seeds follow from it; the same seed gives the same images.
        model: The camera model.
    """
    for index in range(n_scenes):
        rng = np.random.default_rng([seed, index])
        scene = make_scene(int(rng.integers(2**31)))
        work, poses = _at_work(scene, rng), _anywhere(scene, rng)
        for width_px, height_px in sizes:
            with SceneRenderer(scene, width_px, height_px) as renderer:
                cameras = SimulatedCameras(renderer, model, views)
                for shot in _shots(cameras, work, poses):
                    for view in views:
                        yield view, cameras.frame(view, shot).rgb


def _shots(
    cameras: SimulatedCameras, work: Sequence[WorldSnapshot], poses: Sequence[WorldSnapshot]
) -> Iterator[Shot]:
    """Yield shots spread evenly over a rollout, then one at each pose, with exposures that have settled."""
    chosen = set(np.linspace(0, len(work) - 1, SAMPLES_A_TASK).round().astype(int).tolist())
    for moment, snapshot in enumerate(work):
        if moment in chosen or moment % _ADVANCES_A_IMAGE == 0:
            shot = cameras.take(snapshot)
            if moment in chosen:
                yield shot
    for snapshot in poses:
        cameras.reset()
        yield cameras.take(snapshot)


class _WatchedWorld(World):
    """A world that keeps a snapshot after every advance."""

    def __init__(self, scene: Scene) -> None:
        super().__init__(scene)
        self.seen: list[WorldSnapshot] = [self.snapshot()]

    def advance(self, duration_ns: int) -> None:
        super().advance(duration_ns)
        self.seen.append(self.snapshot())


def _at_work(scene: Scene, rng: np.random.Generator) -> list[WorldSnapshot]:
    tasks = tasks_of(scene)
    task = tasks[int(rng.integers(len(tasks)))]
    world = _WatchedWorld(scene)
    rollout(world, expert_chunk(scene, world.snapshot(), task, world.T_base_tool).increments)
    return world.seen


def _anywhere(scene: Scene, rng: np.random.Generator) -> list[WorldSnapshot]:
    rest = World(scene).snapshot()
    kinematics = Kinematics(np.asarray(T_flange_tool))
    snapshots: list[WorldSnapshot] = []
    while len(snapshots) < POSES_A_SCENE:
        choice = choose(kinematics, _random_pose(kinematics, rng), np.array(HOME_Q_RAD))
        if choice.q_rad is None:
            continue
        qpos = rest.qpos.copy()
        qpos[:6] = choice.q_rad
        qpos[6:8] = rng.uniform(0, STROKE_M / 2)
        snapshots.append(WorldSnapshot(rest.time_ns, qpos))
    return snapshots


def _random_pose(kinematics: Kinematics, rng: np.random.Generator) -> NDArray[np.float64]:
    """Draw a pose above the table: the tool points down, with a random tilt and turn."""
    pose = np.array(kinematics.forward(np.array(HOME_Q_RAD)))
    tilt = rotvec_to_rotation(rng.uniform(-_TILT_RAD, _TILT_RAD, 3) * [1, 1, 0])
    turn = rotvec_to_rotation(np.array([0.0, 0.0, rng.uniform(-np.pi / 2, np.pi / 2)]))
    pose[:3, :3] = tilt @ turn @ pose[:3, :3]
    pose[:3, 3] = rng.uniform(_LOW_M, _HIGH_M)
    return pose
