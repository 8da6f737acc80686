"""The conventions that are known by name."""

from __future__ import annotations

from types import MappingProxyType
from typing import Final

from embodied_iqa.errors import UsageError
from embodied_iqa.subjects.actions.convention import (
    ActionConvention,
    ActionFrame,
    ActionKind,
    GripperForm,
    Motion,
    ObservationForm,
    RotationForm,
)

__all__ = ["CONVENTIONS", "OWN", "convention_of"]

_OPEN_IS_ONE: Final = GripperForm(open_at=1.0, closed_at=0.0)
_OPEN_IS_ZERO: Final = GripperForm(open_at=0.0, closed_at=1.0)
_OPEN_IS_MINUS_ONE: Final = GripperForm(open_at=-1.0, closed_at=1.0)

OWN: Final = ActionConvention(
    name="increments",
    kind=ActionKind.CARTESIAN,
    motion=Motion.DELTA,
    frame=ActionFrame.TOOL,
    gripper=_OPEN_IS_ZERO,
    chunk_length=0,
    observation=ObservationForm.OWN,
    source="this package: T_k = T_0 dT_1 ... dT_k",
)
"""Ours; what `embodied-iqa serve` gives."""


def _bridge(name: str, chunk_length: int, source: str) -> ActionConvention:
    return ActionConvention(
        name=name,
        kind=ActionKind.CARTESIAN,
        motion=Motion.DELTA,
        rotation=RotationForm.EULER_XYZ,
        gripper=_OPEN_IS_ONE,
        chunk_length=chunk_length,
        observation=ObservationForm.SINGLE,
        source=source,
    )


def _libero(
    name: str, chunk_length: int, gripper: GripperForm, observation: ObservationForm, source: str
) -> ActionConvention:
    return ActionConvention(
        name=name,
        kind=ActionKind.CARTESIAN,
        motion=Motion.DELTA,
        rotation=RotationForm.ROTVEC,
        position_scale_m=0.05,
        rotation_scale_rad=0.5,
        gripper=gripper,
        chunk_length=chunk_length,
        observation=observation,
        source=source,
    )


def _joints(
    name: str,
    *,
    arm: str,
    joints: int,
    gripper: GripperForm,
    chunk_length: int,
    observation: ObservationForm,
    source: str,
    motion: Motion = Motion.ABSOLUTE,
    scale_rad: float = 1.0,
    arms: int = 1,
) -> ActionConvention:
    return ActionConvention(
        name=name,
        kind=ActionKind.JOINTS,
        motion=motion,
        gripper=gripper,
        chunk_length=chunk_length,
        observation=observation,
        source=source,
        arm=arm,
        joints=joints,
        joint_scale_rad=scale_rad,
        arms=arms,
    )


_ALL: Final = (
    OWN,
    _bridge("openvla-bridge", 1, "BridgeData V2 as OpenVLA un-normalises it (unnorm_key bridge_orig)"),
    _bridge("octo-bridge", 4, "BridgeData V2 as Octo un-normalises it (dataset_statistics bridge_dataset)"),
    _bridge("cogact-bridge", 16, "BridgeData V2 as CogACT un-normalises it (unnorm_key bridge_orig)"),
    ActionConvention(
        name="rt-1-x",
        kind=ActionKind.CARTESIAN,
        motion=Motion.DELTA,
        rotation=RotationForm.EULER_XYZ,
        gripper=GripperForm(open_at=-1.0, closed_at=1.0, keeps_within=0.1),
        chunk_length=1,
        observation=ObservationForm.SINGLE,
        source="RT-1-X: world_vector [m], rotation_delta [rad], gripper_closedness_action (a change)",
    ),
    _libero(
        "openvla-libero",
        1,
        _OPEN_IS_ONE,
        ObservationForm.SINGLE,
        "robosuite OSC_POSE units (0.05 m, 0.5 rad); gripper as in the training data, 1 is open",
    ),
    _libero(
        "openvla-oft-libero",
        8,
        _OPEN_IS_ONE,
        ObservationForm.LIBERO,
        "robosuite OSC_POSE units (0.05 m, 0.5 rad); gripper as in the training data, 1 is open",
    ),
    _libero(
        "pi0-libero",
        50,
        _OPEN_IS_MINUS_ONE,
        ObservationForm.LIBERO,
        "openpi examples/libero: goes to robosuite's OSC_POSE as it is, -1 opens the gripper",
    ),
    _joints(
        "pi0-base",
        arm="ur5",
        joints=6,
        gripper=_OPEN_IS_ZERO,
        chunk_length=50,
        observation=ObservationForm.UR5,
        source="openpi docs/norm_stats.md, robot ur5e: six joints [rad] and the gripper, 1 is closed",
    ),
    _joints(
        "pi0-base-raw",
        arm="ur5",
        joints=6,
        gripper=_OPEN_IS_ZERO,
        chunk_length=50,
        observation=ObservationForm.UR5,
        source="as pi0-base, before openpi's AbsoluteActions: joints relative to those at the chunk's start",
        motion=Motion.FROM_START,
    ),
    _joints(
        "pi0-droid",
        arm="panda",
        joints=7,
        gripper=_OPEN_IS_ZERO,
        chunk_length=10,
        observation=ObservationForm.DROID,
        source="DROID joint_velocity, one unit is 0.2 rad a step at 15 Hz; gripper position, 1 is closed",
        motion=Motion.DELTA,
        scale_rad=0.2,
    ),
    _joints(
        "pi0-aloha",
        arm="vx300s",
        joints=6,
        gripper=_OPEN_IS_ONE,
        chunk_length=50,
        observation=ObservationForm.ALOHA,
        source="ALOHA: two arms, six joints [rad] and a normalised gripper each, 1 is open",
        arms=2,
    ),
)

CONVENTIONS: Final = MappingProxyType({convention.name: convention for convention in _ALL})
"""Name to convention."""


def convention_of(name: str) -> ActionConvention:
    """Return the convention of this name.

    Raises:
        UsageError: There is none.
    """
    found = CONVENTIONS.get(name)
    if found is None:
        raise UsageError("unknown action convention", got=name, available=CONVENTIONS)
    return found
