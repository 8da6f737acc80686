"""Action space of EB-Manipulation, on a grid of 10 mm and 3 degrees over the simulated cell.

The grid's frame is the base frame turned by half a turn about z and shifted: X grows away from the robot,
Y to the robot's left, Z upwards, and the table top is the lower side of Z = 15. The hand's frame is the tool
frame turned about its axis, so that Yaw 60 closes the fingers along Y, as it does for the Panda of the
original.

Source: EmbodiedBench (arXiv 2502.09560), ``embodiedbench/envs/eb_manipulation``.
"""

from __future__ import annotations

import warnings
from dataclasses import astuple, dataclass
from enum import StrEnum
from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.spatial.transform import Rotation

from embodied_iqa.base.errors import UsageError
from embodied_iqa.world.manipulation.shapes import STROKE_M

Array = NDArray[np.float64]

POSITION_BINS: Final = 100
"""Bins of X, Y and Z: 0 to 99, 10 mm each."""
ANGLE_BINS: Final = 120
"""Bins of Roll, Pitch and Yaw: 0 to 119, 3 degrees each."""
BIN_M: Final = 0.01
BIN_DEG: Final = 3.0
TABLE_Z: Final = 15
"""Z of a point just above the table top."""
DOWN_ROLL: Final = 0
DOWN_PITCH: Final = 60
"""Roll and Pitch of a hand that points straight down; its Yaw is free."""
OPEN: Final = 1
CLOSED: Final = 0
"""The gripper's two states: the opposite of `WorldSnapshot` and `ActionChunk`, where 1 is closed."""

OPENING_M: Final = 0.080
"""Distance of the finger pads at `OPEN`: the stroke of the Panda's hand."""
_CLOSED_ABOVE: Final = 0.8
"""A plan opens the fingers just wider than an object: up to 0.6 for the slimmest one."""

_ORIGIN_M: Final = np.array([0.0, 0.5, -0.15])
"""The corner of bin (0, 0, 0) in the base frame."""
_SIGNS: Final = np.array([-1.0, -1.0, 1.0])
_R_GRID_BASE: Final = np.diag(_SIGNS)
_R_TOOL_HAND: Final = np.array([[0.0, 1.0, 0.0], [-1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
_EULER: Final = "xyz"
"""Extrinsic, as scipy spells it."""


class ActionFault(StrEnum):
    """Why an action was not executed, or not completely."""

    GRID = "out of the grid"
    """A number outside of its range."""
    WORKSPACE = "out of the workspace"
    """The hand would leave the workspace, or its fingers would enter the table."""
    UNREACHABLE = "unreachable"
    """The arm has no solution at the pose or on the straight way to it."""
    COLLISION = "collision of the arm"
    """The arm would collide with itself or with the table."""
    PRESSED = "pressed too hard"
    """The robot pressed against table or wall and stopped on the way."""


class OutsideGridError(UsageError):
    """A pose has no bins: an object fell off the table, or a policy reaches too far."""


@dataclass(frozen=True, slots=True)
class GridAction:
    """An absolute pose of the hand and a state of the gripper, which is set on arrival.

    Out-of-range numbers are kept, so that an environment can refuse them; see `range_fault`.

    Attributes:
        x: Bin away from the robot, 0 to 99.
        y: Bin to the robot's left, 0 to 99.
        z: Bin upwards, 0 to 99; the table top is the lower side of 15.
        roll: Bin of the turn about X, 0 to 119; extrinsic angles in the order x, y, z.
        pitch: Bin of the turn about Y, 0 to 119.
        yaw: Bin of the turn about Z, 0 to 119.
        gripper: 1 open, 0 closed.
    """

    x: int
    y: int
    z: int
    roll: int = DOWN_ROLL
    pitch: int = DOWN_PITCH
    yaw: int = 60
    gripper: int = OPEN

    @property
    def numbers(self) -> tuple[int, ...]:
        """The seven integers in the protocol's order."""
        return astuple(self)

    @property
    def closing(self) -> float:
        """The gripper's state by this package's convention: 0 open, 1 closed."""
        return 1.0 - OPENING_M / STROKE_M if self.gripper == OPEN else 1.0

    @property
    def range_fault(self) -> str:
        """Describe the first number that is out of its range; empty if none is."""
        sizes = (*(POSITION_BINS,) * 3, *(ANGLE_BINS,) * 3, 2)
        names = ("X", "Y", "Z", "Roll", "Pitch", "Yaw", "Gripper")
        for name, value, size in zip(names, self.numbers, sizes, strict=True):
            if not 0 <= value < size:
                return f"{name} is {value}, outside of [0, {size - 1}]"
        return ""

    def to_pose(self) -> Array:
        """Return ``(4, 4)``, the tool's pose in the base frame (m), at the middle of the bins.

        Raises:
            UsageError: A number is out of its range.
        """
        if self.range_fault:
            raise UsageError(f"the action is outside of the grid: {self.range_fault}")
        angles_deg = BIN_DEG * np.array([self.roll, self.pitch, self.yaw]) - 180.0
        R_grid_hand = Rotation.from_euler(_EULER, angles_deg, degrees=True).as_matrix()
        pose = np.eye(4)
        pose[:3, :3] = _R_GRID_BASE.T @ R_grid_hand @ _R_TOOL_HAND.T
        pose[:3, 3] = _ORIGIN_M + _SIGNS * (np.array([self.x, self.y, self.z]) + 0.5) * BIN_M
        return pose

    @classmethod
    def from_pose(cls, T_base_tool: ArrayLike, closing: float = 0.0) -> GridAction:
        """Return the action nearest to a pose: at most 5 mm an axis and 1.5 degrees an angle from it.

        Args:
            T_base_tool: ``(4, 4)``, the tool's pose in the base frame (m).
            closing: The gripper's state by this package's convention: closed above 0.8.

        Raises:
            OutsideGridError: The position is outside of the grid.
            UsageError: The pose is not finite.
        """
        pose = np.asarray(T_base_tool, dtype=np.float64)
        if pose.shape != (4, 4) or not np.isfinite(pose).all():
            raise UsageError("wrong pose of the tool", expected="finite numbers of shape (4, 4)", got=pose)
        bins = _exact_bins(pose[:3, 3])
        if not ((bins >= 0) & (bins < POSITION_BINS)).all():
            raise OutsideGridError(
                "a pose outside of the grid",
                expected=f"bins from 0 to {POSITION_BINS - 1}",
                got=bins.tolist(),
            )
        rotation = Rotation.from_matrix(_R_GRID_BASE @ pose[:3, :3] @ _R_TOOL_HAND)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # at Pitch 30 and 90 it sets Yaw to zero
            angles_deg = rotation.as_euler(_EULER, degrees=True)
        turns = np.round((angles_deg + 180.0) / BIN_DEG).astype(int) % ANGLE_BINS
        x, y, z, roll, pitch, yaw = (int(number) for number in (*bins, *turns))
        return cls(x, y, z, roll, pitch, yaw, CLOSED if closing > _CLOSED_ABOVE else OPEN)


def position_bins(position_m: ArrayLike) -> tuple[int, int, int]:
    """Return the bins of a point of the base frame (m), clipped to the grid as for object coordinates."""
    x, y, z = np.clip(_exact_bins(position_m), 0, POSITION_BINS - 1).tolist()
    return x, y, z


def bin_centre_m(x: int, y: int, z: int) -> Array:
    """Return ``(3,)``, the middle of a bin in the base frame (m)."""
    return np.asarray(_ORIGIN_M + _SIGNS * (np.array([x, y, z]) + 0.5) * BIN_M)


def _exact_bins(position_m: ArrayLike) -> NDArray[np.int64]:
    distance_m = _SIGNS * (np.asarray(position_m, dtype=np.float64) - _ORIGIN_M)
    return np.asarray(np.floor(distance_m / BIN_M + 1e-9), dtype=np.int64)
