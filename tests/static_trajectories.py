"""A made VLA half of a static benchmark, without a simulator: straight ways of a tool that points down."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from embodied_iqa.base.files import write_json_whole
from embodied_iqa.base.records import unstructure
from embodied_iqa.imaging.images.frame import image_frame
from embodied_iqa.suites.static_benchmark.vla.trajectories import (
    FORMAT,
    StoredImage,
    Trajectory,
    TrajectoryFolder,
    TrajectoryPlan,
    store_image,
)
from embodied_iqa.world.scenes.dimensions import CELL_VIEWS

START = np.array([[0.0, 1.0, 0.0, -0.4], [1.0, 0.0, 0.0, 0.0], [0.0, 0.0, -1.0, 0.35], [0.0, 0.0, 0.0, 1.0]])
VERBS = ("push", "pull", "place", "pick", "press")


def made_trajectory(
    index: int, steps: int = 50, folder: Path | None = None, size_px: tuple[int, int] = (80, 60)
) -> Trajectory:
    """A straight way to a seeded place with a turn about the vertical; the gripper closes half way."""
    rng = np.random.default_rng(index)
    part = np.arange(1, steps + 1)[:, None] / steps
    rows = np.zeros((steps, 7))
    rows[:, :3] = START[:3, 3] + part * rng.uniform(-0.2, 0.2, 3)
    rows[:, 3:6] = np.array([np.pi, 0.0, np.pi / 2]) + part * [0.0, 0.0, rng.uniform(-1.0, 1.0)]
    rows[:, 6] = part[:, 0] > 0.5
    name = f"{index:03d}"
    images: tuple[StoredImage, ...] = ()
    if folder is not None:
        rgb = rng.integers(0, 256, (size_px[1], size_px[0], 3), dtype=np.uint8)
        images = tuple(store_image(folder, name, image_frame(rgb, view)) for view in CELL_VIEWS)
    return Trajectory(
        name, "pick the red cube", VERBS[index % 5], "cube", "wood", 7 + index, 4.0,
        tuple(START.ravel().tolist()), 0.0, tuple(map(tuple, rows.tolist())), (), images,
    )  # fmt: skip


def write_trajectories(benchmark: Path, tasks: int, size_px: tuple[int, int] = (80, 60)) -> TrajectoryFolder:
    """Write a benchmark with made trajectories and images of noise."""
    folder = TrajectoryFolder(benchmark)
    folder.images.mkdir(parents=True)
    for index in range(tasks):
        trajectory = made_trajectory(index, folder=folder.images, size_px=size_px)
        write_json_whole(folder.file(trajectory.task), unstructure(trajectory))
    plan = TrajectoryPlan(FORMAT, "made for a test", tasks)
    write_json_whole(folder.plan_file, unstructure(plan))
    return folder
