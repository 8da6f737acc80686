"""Action conventions by name."""

from __future__ import annotations

from functools import partial
from types import MappingProxyType
from typing import Final

from embodied_iqa.base.errors import UsageError
from embodied_iqa.models.subjects.actions.convention import (
    ActionConvention,
    ActionFrame,
    ActionKind,
    GripperForm,
    Motion,
    ObservationForm,
    RotationForm,
)
from embodied_iqa.models.subjects.catalogue import StatisticsKind

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
"""Convention of this package and of `embodied-iqa serve`."""

_bridge = partial(
    ActionConvention,
    kind=ActionKind.CARTESIAN,
    motion=Motion.DELTA,
    rotation=RotationForm.EULER_XYZ,
    gripper=_OPEN_IS_ONE,
    observation=ObservationForm.SINGLE,
    rate_hz=5.0,
)
_libero = partial(
    ActionConvention,
    kind=ActionKind.CARTESIAN,
    motion=Motion.DELTA,
    rotation=RotationForm.ROTVEC,
    position_scale_m=0.05,
    rotation_scale_rad=0.5,
    gripper=_OPEN_IS_ONE,
    observation=ObservationForm.LIBERO,
    rate_hz=20.0,
)
_joints = partial(ActionConvention, kind=ActionKind.JOINTS, motion=Motion.ABSOLUTE, gripper=_OPEN_IS_ZERO)
_ur5 = partial(_joints, arm="ur5", joints=6, chunk_length=50, observation=ObservationForm.UR5, rate_hz=20.0)

_ALL: Final = (
    OWN,
    ActionConvention(
        name="tool-absolute",
        kind=ActionKind.CARTESIAN,
        motion=Motion.ABSOLUTE,
        frame=ActionFrame.OWN_BASE,
        gripper=_OPEN_IS_ZERO,
        chunk_length=0,
        observation=ObservationForm.OWN,
        source="data sets of `embodied-iqa recording export`: the pose of the tool that follows, in its base",
    ),
    _bridge(
        name="openvla-bridge",
        statistics=StatisticsKind.PERCENTILES,
        chunk_length=1,
        source="BridgeData V2 as OpenVLA un-normalises it (unnorm_key bridge_orig)",
    ),
    _bridge(
        name="octo-bridge",
        statistics=StatisticsKind.MOMENTS,
        chunk_length=4,
        source="BridgeData V2 as Octo un-normalises it (dataset_statistics bridge_dataset)",
    ),
    _bridge(
        name="cogact-bridge",
        statistics=StatisticsKind.PERCENTILES,
        chunk_length=16,
        source="BridgeData V2 as CogACT un-normalises it (unnorm_key bridge_orig)",
    ),
    _bridge(
        name="rt-1-x",
        rate_hz=3.0,
        gripper=GripperForm(open_at=-1.0, closed_at=1.0, keeps_within=0.1),
        chunk_length=1,
        source="RT-1-X: world_vector [m], rotation_delta [rad], gripper_closedness_action (a change)",
    ),
    _libero(
        name="openvla-libero",
        statistics=StatisticsKind.PERCENTILES,
        chunk_length=1,
        observation=ObservationForm.SINGLE,
        source="robosuite OSC_POSE units (0.05 m, 0.5 rad); gripper as in the training data, 1 is open",
    ),
    _libero(
        name="openvla-oft-libero",
        statistics=StatisticsKind.PERCENTILES,
        chunk_length=8,
        source="robosuite OSC_POSE units (0.05 m, 0.5 rad); gripper as in the training data, 1 is open",
    ),
    _libero(
        name="pi0-libero",
        chunk_length=50,
        gripper=_OPEN_IS_MINUS_ONE,
        source="openpi examples/libero: goes to robosuite's OSC_POSE as it is, -1 opens the gripper",
    ),
    _ur5(
        name="pi0-base",
        source="openpi docs/norm_stats.md, robot ur5e: six joints [rad] and the gripper, 1 is closed",
    ),
    _ur5(
        name="pi0-base-raw",
        source="as pi0-base, before openpi's AbsoluteActions: joints relative to those at the chunk's start",
        motion=Motion.FROM_START,
    ),
    _joints(
        name="pi0-droid",
        arm="panda",
        joints=7,
        chunk_length=10,
        observation=ObservationForm.DROID,
        source="DROID joint_velocity, one unit is 0.2 rad a step at 15 Hz; gripper position, 1 is closed",
        motion=Motion.DELTA,
        joint_scale_rad=0.2,
        rate_hz=15.0,
    ),
    _joints(
        name="pi0-aloha",
        arm="vx300s",
        joints=6,
        gripper=_OPEN_IS_ONE,
        chunk_length=50,
        observation=ObservationForm.ALOHA,
        source="ALOHA: two arms, six joints [rad] and a normalised gripper each, 1 is open",
        arms=2,
        rate_hz=50.0,
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
