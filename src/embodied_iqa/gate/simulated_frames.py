"""Clean frames of the simulated cameras: the robot at work and at random poses."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.images.frame import View
from embodied_iqa.kinematics import Kinematics, choose, rotvec_to_rotation
from embodied_iqa.manipulation.shapes import STROKE_M
from embodied_iqa.scenes.dimensions import HOME_Q_RAD, T_flange_tool
from embodied_iqa.scenes.scene import Scene, make_scene, tasks_of
from embodied_iqa.scenes.snapshot import WorldSnapshot
from embodied_iqa.simulation.expert import expert_chunk
from embodied_iqa.simulation.renderer import SceneRenderer
from embodied_iqa.simulation.rollout import rollout
from embodied_iqa.simulation.world import World

SAMPLES_A_TASK: Final = 18
"""Frames spread evenly over an expert's rollout of one task."""

POSES_A_SCENE: Final = 2
"""Further frames with the tool at random poses above the table, where distorted pictures may send it."""

_LOW_M: Final = (-0.70, -0.30, 0.08)
_HIGH_M: Final = (-0.34, 0.30, 0.35)
_TILT_RAD: Final = 0.25


def frames_a_scene() -> int:
    """Return the number of frames of each view in a scene."""
    return SAMPLES_A_TASK + POSES_A_SCENE


def simulated_frames(
    views: tuple[View, ...], sizes: tuple[tuple[int, int], ...], n_scenes: int, seed: int
) -> Iterator[tuple[View, NDArray[np.uint8]]]:
    """Render clean pictures: every scene with an expert at one of its tasks and with random poses.

    Args:
        views: The cameras.
        sizes: Resolutions ``(width_px, height_px)``; every picture is rendered at each.
        n_scenes: Number of scenes.
        seed: The scenes' seeds follow from it; the same seed gives the same pictures.
    """
    for index in range(n_scenes):
        rng = np.random.default_rng([seed, index])
        scene = make_scene(int(rng.integers(2**31)))
        snapshots = [*_at_work(scene, rng), *_anywhere(scene, rng)]
        for width_px, height_px in sizes:
            with SceneRenderer(scene, width_px, height_px) as renderer:
                for snapshot in snapshots:
                    for view in views:
                        yield view, renderer.frame(view, snapshot).rgb


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
    moments = np.linspace(0, len(world.seen) - 1, SAMPLES_A_TASK).round().astype(int)
    return [world.seen[moment] for moment in moments]


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
