"""A suite of LIBERO as a world: a worker in its own environment simulates and renders."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.base.errors import InputError
from embodied_iqa.base.kinematics import T_BASE_LINK_BASE, chain_increments, rotation_to_rotvec
from embodied_iqa.base.kinematics.se3 import (
    matrix_to_quaternion,
    quaternion_to_matrix,
    rotvec_to_rotation,
)
from embodied_iqa.base.units import SECOND_NS
from embodied_iqa.base.worker_process import OtherEnvironment, WorkerProcess
from embodied_iqa.imaging.images.frame import Frame, Intrinsics, View
from embodied_iqa.world.libero.suites import (
    CAMERAS,
    HORIZONS,
    RATE_HZ,
    SEED,
    SIDE_PX,
    check_suite,
)
from embodied_iqa.world.worlds import WorldObservation, WorldTask, check_state

Array = NDArray[np.float64]

VARIABLE: Final = "EMBODIED_IQA_LIBERO"
"""Names the Python of another environment that has LIBERO."""
ENVIRONMENT: Final = OtherEnvironment("libero", VARIABLE)
_WORKER: Final = Path(__file__).with_name("worker.py")
_RENDERING: Final = {"MUJOCO_GL": "egl", "PYOPENGL_PLATFORM": "egl", "LP_NUM_THREADS": "1"}
"""Off screen, on a GPU where EGL finds one, else in software."""
_START_S: Final = 600.0
_ANSWER_S: Final = 600.0
"""A task opens in some seconds, in minutes where others leave this process a twentieth of a core."""
_FINGERS_OPEN_M: Final = 0.08
_STEP_M, _STEP_RAD = 0.05, 0.5
"""One unit of a displacement and of a rotation of the OSC_POSE controller."""
_OPTICAL: Final = np.diag([1.0, -1.0, -1.0])
"""Axes of a camera in MuJoCo (x right, y up, z back) to those of an optical frame."""


class LiberoWorld:
    """One suite of LIBERO; `close` ends its worker, unless it is shared.

    Its base frame is the frame of LIBERO turned as `T_BASE_LINK_BASE` turns, so that `T_BASE_LINK_BASE` times
    a pose is what policies of LIBERO call the pose.

    Args:
        suite: Such as ``libero_spatial``.
        seed: Of everything random in an episode; each episode begins with it.
        worker: See `start_worker`; None for one of its own. Of worlds that share one, the last one that was
            opened can be used, the others when they are opened again.

    Raises:
        UsageError: Unknown suite.
        InputError: LIBERO is not installed, or cannot be loaded.
    """

    views: tuple[View, ...] = tuple(CAMERAS)
    rate_hz: float | None = RATE_HZ
    violation: str = ""
    """Contacts end no episode of LIBERO."""

    def __init__(self, suite: str, seed: int = SEED, worker: WorkerProcess | None = None) -> None:
        self.name = check_suite(suite)
        self._seed, self._owns_worker = seed, worker is None
        self._worker = start_worker(suite) if worker is None else worker
        self.version = f"{self._worker.about['version']}, seed {seed}"
        try:
            self.tasks = _tasks(suite, self._ask("suite")["tasks"])
        except InputError:
            self.close()
            raise
        self._steps = 0
        self._state: dict[str, Any] = {}

    @property
    def success(self) -> bool:
        """Whether LIBERO's own check says that the task is done, as of the last step."""
        return bool(self._state.get("success", False))

    @property
    def time_ns(self) -> int:
        """Simulated time since the objects have settled."""
        return round(self._steps * SECOND_NS / RATE_HZ)

    def open(self, task: WorldTask, state: int) -> None:
        """Restore an initial state and let objects settle for ten steps; see `World`."""
        check_state(task, state)
        number = self.tasks.index(task)
        self._state, self._steps = self._ask("open", task=number, state=state, seed=self._seed), 0

    def observe(self, views: Sequence[View]) -> WorldObservation:
        """Return the state of the robot and images of some cameras; see `World`."""
        frames: dict[View, Frame] = {}
        if views:
            answer = self._ask("observe", cameras=[CAMERAS[view] for view in views])
            images = _images(answer.get("data", b""), len(views))
            frames = {
                view: _frame(view, self.time_ns, image, camera)
                for view, image, camera in zip(views, images, answer["cameras"], strict=True)
            }
        position, quaternion, fingers = (np.array(self._state[key]) for key in _STATE)
        T = _pose(position, quaternion_to_matrix(quaternion))
        native = np.concatenate([position, axis_angle(quaternion), fingers])
        return WorldObservation(frames, T, _closed(fingers), native)

    def step(self, increments: Array, T_base_tool: Array) -> int:
        """Execute increments as actions of OSC_POSE, one a step of 50 ms; see `World`."""
        actions = actions_of(increments, T_base_tool)
        self._state = self._ask("step", actions=actions.tolist())
        executed = int(self._state["executed"])
        self._steps += executed
        return executed

    def objects(self) -> Mapping[str, Array]:
        """Return the poses of the objects, for scripted experts only; see `World`."""
        found = self._ask("objects")["objects"]
        return {
            name: _pose(np.array(item["position"]), np.array(item["rotation"]).reshape(3, 3))
            for name, item in found.items()
        }

    def close(self) -> None:
        """End the worker that is not shared."""
        if self._owns_worker:
            self._worker.close()

    def _ask(self, do: str, **parts: Any) -> dict[str, Any]:
        return self._worker.ask({"do": do, "suite": self.name, **parts})


def start_worker(name: str = "LIBERO") -> WorkerProcess:
    """Start a process that executes tasks of any suite, one at a time.

    Args:
        name: In error messages.

    Raises:
        InputError: LIBERO is not installed, or cannot be loaded.
    """
    return WorkerProcess(
        [str(ENVIRONMENT.python()), str(_WORKER), "{socket}"],
        ENVIRONMENT.variables(**_RENDERING),
        name,
        start_s=_START_S,
        answer_s=_ANSWER_S,
        again="the same command again",
    )


_STATE: Final = ("position", "quaternion", "fingers")


def actions_of(increments: Array, T_base_tool: Array) -> Array:
    """Return increments as actions of robosuite's OSC_POSE.

    The inverse of what `to_increments` does with the rows of a policy of LIBERO.

    Args:
        increments: ``(K, 7)``, see `ActionChunk`.
        T_base_tool: ``(4, 4)``, the tool at the decision.

    Returns:
        ``(K, 7)``: displacement and rotation vector about the axes of LIBERO's world, in units of 0.05 m and
        0.5 rad, and the gripper, -1 open to 1 closed.
    """
    start = T_BASE_LINK_BASE @ np.asarray(T_base_tool)
    poses = np.concatenate([start[None], chain_increments(start, increments)])
    shifts_m = np.diff(poses[:, :3, 3], axis=0)
    turns = poses[1:, :3, :3] @ poses[:-1, :3, :3].transpose(0, 2, 1)
    gripper = 2.0 * np.asarray(increments)[:, 6:] - 1.0
    return np.concatenate([shifts_m / _STEP_M, rotation_to_rotvec(turns) / _STEP_RAD, gripper], axis=1)


def axis_angle(quaternion_xyzw: Array) -> Array:
    """Return axis times angle, ``(3,)`` rad, with an angle from 0 to 2 pi, as LIBERO's policies are told it.

    It is not the shortest rotation vector: the gripper points down, half a turn from upright, and policies
    were trained with angles on both sides of it.
    """
    w = float(np.clip(quaternion_xyzw[3], -1.0, 1.0))
    sine = math.sqrt(1.0 - w * w)
    if math.isclose(sine, 0.0):
        return np.zeros(3)
    found: Array = quaternion_xyzw[:3] * (2.0 * math.acos(w) / sine)
    return found


def native_state_of(T_base_tool: Array, gripper: float) -> Array:
    """Return what policies of LIBERO are told of a robot whose tool and gripper are known.

    The gripper points down as at the start of every task: the axis then has a positive x, which decides on
    which side of half a turn the angle is. The fingers are as far from the middle as each other.

    Args:
        T_base_tool: ``(4, 4)`` (m).
        gripper: 0 open to 1 closed.

    Returns:
        ``(8,)``, see `VlaObservation.native_state`.
    """
    T = T_BASE_LINK_BASE @ np.asarray(T_base_tool)
    quaternion = np.array(matrix_to_quaternion(T[:3, :3]))
    finger_m = _FINGERS_OPEN_M / 2 * (1.0 - gripper)
    turned = quaternion if quaternion[0] >= 0 else -quaternion
    return np.concatenate([T[:3, 3], axis_angle(turned), [finger_m, -finger_m]])


def pose_and_gripper_of(native_state: Array) -> tuple[Array, float]:
    """Return pose of the tool, ``(4, 4)`` (m), and gripper, 0 open to 1 closed, of what policies are told.

    Args:
        native_state: ``(8,)``, see `VlaObservation.native_state`.
    """
    T_base_tool = _pose(native_state[:3], rotvec_to_rotation(native_state[3:6]))
    return T_base_tool, _closed(native_state[6:])


def _closed(fingers_m: Array) -> float:
    """Return how far fingers are closed, 0 to 1."""
    return float(np.clip(1.0 - np.abs(fingers_m).sum() / _FINGERS_OPEN_M, 0.0, 1.0))


def _tasks(suite: str, told: Sequence[Mapping[str, Any]]) -> tuple[WorldTask, ...]:
    """Return the tasks; where scenes share an instruction, as in libero_90, the name is that of LIBERO."""
    counts = Counter(item["instruction"] for item in told)
    return tuple(
        WorldTask(
            item["instruction"] if counts[item["instruction"]] == 1 else item["name"],
            item["instruction"],
            item["states"],
            HORIZONS[suite],
        )
        for item in told
    )


def _pose(position_m: Array, rotation: Array) -> Array:
    T = np.eye(4)
    T[:3, :3], T[:3, 3] = rotation, position_m
    turned: Array = T_BASE_LINK_BASE @ T  # T_BASE_LINK_BASE is its own inverse
    return turned


def _images(data: bytes, count: int) -> NDArray[np.uint8]:
    if len(data) != 3 * SIDE_PX * SIDE_PX * count:
        raise InputError("LIBERO sends no whole images", expected=f"{count} of {SIDE_PX} px", got=len(data))
    return np.frombuffer(data, np.uint8).reshape(count, SIDE_PX, SIDE_PX, 3)


def _frame(view: View, stamp_ns: int, image: NDArray[np.uint8], camera: Mapping[str, Any]) -> Frame:
    focal_px = SIDE_PX / 2 / math.tan(math.radians(camera["fovy_deg"]) / 2)
    middle_px = (SIDE_PX - 1) / 2
    pinhole = Intrinsics(SIDE_PX, SIDE_PX, focal_px, focal_px, middle_px, middle_px)
    rotation = np.array(camera["rotation"]).reshape(3, 3) @ _OPTICAL
    return Frame(view, stamp_ns, image, pinhole, _pose(np.array(camera["position"]), rotation))
