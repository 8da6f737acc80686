"""Action convention: the meaning of a policy's numbers."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from embodied_iqa.base.errors import InternalError
from embodied_iqa.models.subjects.catalogue import StatisticsKind


class ActionKind(StrEnum):
    """Commanded quantity."""

    CARTESIAN = "cartesian"
    """Pose of the tool."""
    JOINTS = "joints"
    """Joints of a particular arm."""


class Motion(StrEnum):
    """Reference of a row of numbers."""

    DELTA = "delta"
    """The pose or the joints before the step."""
    ABSOLUTE = "absolute"
    """The base, or the joints' zero."""
    FROM_START = "from-start"
    """The joints before the first step of the chunk."""


class ActionFrame(StrEnum):
    """The axes of a Cartesian motion."""

    BASE = "base"
    """Displacement and rotation about the axes of the policy's base; the rotation is about the tool point."""
    TOOL = "tool"
    """Displacement and rotation about the axes of the tool before the step."""
    OWN_BASE = "own base"
    """As base, about the axes of this package's base frame, which is that of the UR controller."""


class RotationForm(StrEnum):
    """Representation of a rotation."""

    EULER_XYZ = "euler-xyz"
    """Roll, pitch, yaw about fixed axes x, y, z in this order [rad]."""
    ROTVEC = "rotvec"
    """Axis times angle [rad]."""
    QUATERNION_XYZW = "quaternion-xyzw"
    """Unit quaternion, the real part last."""
    ROT6D = "rot6d"
    """The first two columns of the matrix (Zhou et al. 2019, arXiv:1812.07035)."""

    @property
    def width(self) -> int:
        """Number of values."""
        return _WIDTHS[self]


_WIDTHS = {
    RotationForm.EULER_XYZ: 3,
    RotationForm.ROTVEC: 3,
    RotationForm.QUATERNION_XYZW: 4,
    RotationForm.ROT6D: 6,
}


class ObservationForm(StrEnum):
    """Form of the policy's observation."""

    OWN = "embodied-iqa"
    """Frames by view with intrinsics and pose, tool pose, gripper: docs/reference/policy-protocols.md."""
    LIBERO = "libero"
    """openpi's LIBERO keys."""
    DROID = "droid"
    """openpi's DROID keys."""
    ALOHA = "aloha"
    """openpi's ALOHA keys: images with channels first, 14 joints."""
    UR5 = "ur5"
    """openpi's UR5 keys."""
    SINGLE = "single"
    """One or two images and the instruction, with LIBERO's names and no state."""


@dataclass(frozen=True, slots=True)
class GripperForm:
    """Representation of the gripper state: linear between two values, clipped outside.

    Attributes:
        open_at: Value that means fully open.
        closed_at: Value that means fully closed.
        keeps_within: For policies that command changes: values within plus or minus this keep the state,
            others open or close the gripper; None if the value is the state itself.
    """

    open_at: float
    closed_at: float
    keeps_within: float | None = None


@dataclass(frozen=True, slots=True)
class ActionConvention:
    """Meaning of the rows of a policy's action chunk.

    A row holds, for each arm in turn, the motion and then the gripper. Further numbers (padding, depth,
    termination) are dropped.

    Attributes:
        name: Unique, such as ``openvla-bridge``.
        kind: Tool pose or joints.
        motion: Relative or absolute.
        gripper: Representation of the gripper.
        chunk_length: Usual number of rows.
        observation: Form of the observation.
        source: Source of this description.
        frame: Axes of a Cartesian motion.
        rotation: Form of a Cartesian rotation.
        position_scale_m: Metres of one unit of displacement.
        rotation_scale_rad: Radians of one unit of a rotation vector or of Euler angles.
        arm: Name of the arm of a joint convention, see `arms`; else empty.
        joint_scale_rad: Radians of one unit of a joint.
        arms: One or two; of two, the arm that moves more is used.
        joints: Number of joints; 0 for a Cartesian convention.
        rate_hz: Rate of the rows in the training data; None where it is not published, and for waypoints.
        statistics: Statistics of a policy that is not in the catalogue; auto where families of both kinds
            have this convention. No part of the text that versions are hashes of.
    """

    name: str
    kind: ActionKind
    motion: Motion
    gripper: GripperForm
    chunk_length: int
    observation: ObservationForm
    source: str
    frame: ActionFrame = ActionFrame.BASE
    rotation: RotationForm = RotationForm.ROTVEC
    position_scale_m: float = 1.0
    rotation_scale_rad: float = 1.0
    arm: str = ""
    joint_scale_rad: float = 1.0
    arms: int = 1
    joints: int = 0
    rate_hz: float | None = None
    statistics: StatisticsKind = field(default=StatisticsKind.AUTO, repr=False)

    def __post_init__(self) -> None:
        is_joints = self.kind is ActionKind.JOINTS
        if self.arms not in {1, 2} or is_joints != bool(self.arm) or is_joints != bool(self.joints):
            raise InternalError(f"action convention {self.name} is incomplete")
        if self.motion is Motion.FROM_START and not is_joints:
            raise InternalError(f"action convention {self.name}: poses have no motion from the start")
        if self.gripper.open_at == self.gripper.closed_at:
            raise InternalError(f"action convention {self.name}: an open and a closed gripper are the same")

    @property
    def width(self) -> int:
        """Numbers per arm in a row."""
        return (self.joints or 3 + self.rotation.width) + 1

    @property
    def numbers(self) -> int:
        """Smallest length of a row."""
        return self.arms * self.width
