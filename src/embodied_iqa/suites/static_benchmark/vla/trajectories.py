"""Expert trajectories on disk: the VLA half of a static benchmark.

``BENCH/vla/plan.json`` holds the plan, ``BENCH/vla/trajectories/NNN.json`` a task each, and
``BENCH/vla/images`` its images. A laboratory can write trajectories of its own in this form.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Final

import cv2
import numpy as np
from numpy.typing import NDArray

from embodied_iqa.base.errors import InputError
from embodied_iqa.base.files import sha256_of
from embodied_iqa.base.records import read_json, read_versioned
from embodied_iqa.imaging.images.codecs import read_image, write_image
from embodied_iqa.imaging.images.frame import Frame, Intrinsics, View
from embodied_iqa.suites.static_benchmark.vla.scores import POSE
from embodied_iqa.world.scenes.dimensions import CELL_VIEWS

Array = NDArray[np.float64]

FORMAT: Final = 1
STEPS: Final = 50
"""Steps of a trajectory that is made here, as in the paper."""
FOLDER: Final = "vla"
_PLAN: Final = "plan.json"
_QUALITY: Final = 95
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,99}\Z")


@dataclass(frozen=True, slots=True)
class TrajectoryPlan:
    """What the trajectories of a benchmark depend on.

    Attributes:
        format: `FORMAT`.
        source: Where they come from, in a few words.
        tasks: Their number.
        seed: Of scenes and tasks; 0 for recorded ones.
        step_images: Whether each step has its images, besides the start.
    """

    format: int
    source: str
    tasks: int
    seed: int = 0
    step_images: bool = False


@dataclass(frozen=True, slots=True)
class StoredImage:
    """An image at the start of a trajectory, and its camera.

    Attributes:
        view: The camera.
        file: Name in ``images``.
        sha256: Of the file.
        pinhole_px: Focal lengths and centre: fx, fy, cx, cy; None where they are not known.
        T_base_camera: 16 numbers, row by row (m); None where the pose is not known.
    """

    view: View
    file: str
    sha256: str
    pinhole_px: tuple[float, float, float, float] | None
    T_base_camera: tuple[float, ...] | None


@dataclass(frozen=True, slots=True)
class Trajectory:
    """A task and how an expert does it.

    Attributes:
        task: Name, unique in the benchmark.
        instruction: The task in words.
        verb: What is done.
        kind: Kind of the handled object.
        background: Of the scene.
        scene_seed: Seed of the simulated scene; None for a recorded trajectory.
        duration_s: Of the motion; step k of n is at k / n of it.
        T_base_tool: The tool at the start, 16 numbers row by row (m).
        gripper: At the start, in [0, 1]: 0 open, 1 closed.
        steps: x, y, z (base frame, m), roll, pitch, yaw (fixed axes, rad), commanded gripper of each step.
        measured_gripper: Measured gripper of each step; empty where it was not recorded.
        images: At the start, one a view.
        draws: Scenes that were drawn before this one and whose expert failed.
    """

    task: str
    instruction: str
    verb: str
    kind: str
    background: str
    scene_seed: int | None
    duration_s: float
    T_base_tool: tuple[float, ...]
    gripper: float
    steps: tuple[tuple[float, ...], ...]
    measured_gripper: tuple[float, ...]
    images: tuple[StoredImage, ...]
    draws: int = 0

    @property
    def start(self) -> Array:
        """``(4, 4)``, the tool at the start (m)."""
        return np.array(self.T_base_tool, dtype=np.float64).reshape(4, 4)

    @property
    def rows(self) -> Array:
        """``(n, 7)``, the steps."""
        return np.array(self.steps, dtype=np.float64)

    @property
    def times_s(self) -> Array:
        """``(n,)``, time of each step since the start."""
        count = len(self.steps)
        return np.arange(1, count + 1, dtype=np.float64) * (self.duration_s / count)


class TrajectoryFolder:
    """The VLA half of a benchmark.

    Args:
        benchmark: Folder of the benchmark.
    """

    def __init__(self, benchmark: Path) -> None:
        self.path = benchmark / FOLDER
        self.plan_file = self.path / _PLAN
        self.images = self.path / "images"

    def exists(self) -> bool:
        """Whether the benchmark has this half."""
        return self.plan_file.is_file()

    def plan(self) -> TrajectoryPlan:
        """Read the plan.

        Raises:
            InputError: There is none, or it has another format.
        """
        if not self.exists():
            raise InputError(
                f"{self.path.parent} has no expert trajectories",
                expected="a folder of `embodied-iqa static make --trajectories`",
            )
        plan = read_versioned(TrajectoryPlan, self.plan_file, "the plan of the trajectories", FORMAT)
        if plan.tasks < 1:
            raise InputError(f"{self.plan_file} plans no task", expected="1 or more", got=plan.tasks)
        return plan

    def file(self, name: str) -> Path:
        """Return the file of a task."""
        return self.path / "trajectories" / f"{name}.json"

    def read(self) -> tuple[Trajectory, ...]:
        """Read all trajectories, by name.

        Raises:
            InputError: They are not complete, or one is damaged.
        """
        plan = self.plan()
        files = sorted((self.path / "trajectories").glob("[!.]*.json"))
        if len(files) != plan.tasks:
            raise InputError(
                f"{self.path} is not complete",
                expected=f"{plan.tasks} trajectories: run `embodied-iqa static make --trajectories` again",
                got=len(files),
            )
        return tuple(map(read_trajectory, files))

    def digest(self) -> str:
        """Return a hash of all trajectories with their images, 64 hexadecimal digits."""
        whole = sha256()
        for file in sorted((self.path / "trajectories").glob("[!.]*.json")):
            whole.update(f"{file.name} {sha256_of(file)}\n".encode())
        return whole.hexdigest()

    def frames(self, trajectory: Trajectory, views: Collection[View] = CELL_VIEWS) -> dict[View, Frame]:
        """Read images at the start of a task.

        Args:
            trajectory: The task.
            views: The cameras; if it has none of them, its first image is read.

        Raises:
            InputError: A file is missing, damaged or not the one that was written.
        """
        wanted = [image for image in trajectory.images if image.view in views]
        return {image.view: self._frame(image) for image in wanted or trajectory.images[:1]}

    def _frame(self, image: StoredImage) -> Frame:
        file = self.images / image.file
        if sha256_of(file) != image.sha256:
            raise InputError(f"{file} is not the image that was written")
        rgb = read_image(file)
        height_px, width_px = rgb.shape[:2]
        pinhole, pose = image.pinhole_px, image.T_base_camera
        camera = None if pinhole is None else Intrinsics(width_px, height_px, *pinhole)
        return Frame(image.view, 0, rgb, camera, None if pose is None else np.array(pose).reshape(4, 4))


def read_trajectory(file: Path) -> Trajectory:
    """Read the trajectory of a task.

    Raises:
        InputError: It is damaged.
    """
    trajectory = read_json(Trajectory, file, "the trajectory")
    fault = _fault(trajectory, file.stem)
    if fault:
        raise InputError(f"{file}: {fault}")
    return trajectory


def store_image(folder: Path, name: str, frame: Frame) -> StoredImage:
    """Write an image as JPEG into a folder and return its record."""
    file = folder / f"{name}_{frame.view}.jpg"
    write_image(file, frame.rgb, (cv2.IMWRITE_JPEG_QUALITY, _QUALITY))
    camera, T_base_camera = frame.intrinsics, frame.T_base_camera
    pose = None if T_base_camera is None else tuple(float(number) for number in T_base_camera.ravel())
    pinhole = None if camera is None else (camera.fx_px, camera.fy_px, camera.cx_px, camera.cy_px)
    return StoredImage(frame.view, file.name, sha256_of(file), pinhole, pose)


def _fault(trajectory: Trajectory, name: str) -> str:
    """Return what is wrong with a trajectory; empty for nothing."""
    if trajectory.task != name or not _NAME.match(name):
        return f"its task is called {trajectory.task!r}, expected the name of the file"
    if not all(_NAME.match(image.file) for image in trajectory.images):
        return "an image is not a file name in the folder of the images"
    poses = [image.T_base_camera for image in trajectory.images if image.T_base_camera is not None]
    if not _all_of(16, [trajectory.T_base_tool, *poses]):
        return "a pose does not have 16 numbers"
    if not trajectory.steps or not _all_of(POSE, trajectory.steps):
        return f"expected steps of {POSE} numbers"
    if len(trajectory.measured_gripper) not in {0, len(trajectory.steps)}:
        return "expected a measured gripper state for each step, or none"
    states = (trajectory.gripper, *(step[-1] for step in trajectory.steps))
    if not all(0.0 <= state <= 1.0 for state in states):
        return "expected gripper states from 0 to 1"
    return "" if trajectory.duration_s > 0.0 else "expected a duration above 0 s"


def _all_of(count: int, rows: Iterable[tuple[float, ...]]) -> bool:
    return all(len(row) == count for row in rows)
