"""One record for what the numbers of a policy mean."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from embodied_iqa.errors import InternalError

__all__ = [
    "ActionConvention",
    "ActionFrame",
    "ActionKind",
    "GripperForm",
    "Motion",
    "ObservationForm",
    "RotationForm",
]


class ActionKind(StrEnum):
    """What is commanded."""

    CARTESIAN = "cartesian"
    """The pose of the tool."""
    JOINTS = "joints"
    """The joints of a particular arm."""


class Motion(StrEnum):
    """What a row of numbers is relative to."""

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


class RotationForm(StrEnum):
    """How a rotation is written."""

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
        """How many numbers it takes."""
        return _WIDTHS[self]


_WIDTHS = {
    RotationForm.EULER_XYZ: 3,
    RotationForm.ROTVEC: 3,
    RotationForm.QUATERNION_XYZW: 4,
    RotationForm.ROT6D: 6,
}


class ObservationForm(StrEnum):
    """How the policy is told what is seen."""

    OWN = "embodied-iqa"
    """Frames by view with intrinsics and pose, tool pose, gripper: docs/reference/policy-protocols.md."""
    LIBERO = "libero"
    """openpi's LIBERO keys."""
    DROID = "droid"
    """openpi's DROID keys."""
    ALOHA = "aloha"
    """openpi's ALOHA keys: pictures with the channels first, 14 joints."""
    UR5 = "ur5"
    """openpi's UR5 keys."""
    SINGLE = "single"
    """One or two pictures and the instruction, with LIBERO's names and no state."""


@dataclass(frozen=True, slots=True)
class GripperForm:
    """How the gripper's state is written: a line through two values, cut off outside of them.

    Attributes:
        open_at: Value that means fully open.
        closed_at: Value that means fully closed.
        keeps_within: Of a policy that commands changes: values between minus and plus this keep the state,
            others open or close it; None where the value is the state.
    """

    open_at: float
    closed_at: float
    keeps_within: float | None = None


@dataclass(frozen=True, slots=True)
class ActionConvention:
    """What the rows of a policy's action chunk mean.

    A row holds, for each arm in turn, the motion and then the gripper. Numbers behind them (padding, depth,
    termination) are dropped.

    Attributes:
        name: Unique, such as ``openvla-bridge``.
        kind: Tool pose or joints.
        motion: Relative or absolute.
        gripper: How the gripper is written.
        chunk_length: Rows that the policy usually gives.
        observation: How it is told what is seen.
        source: Where this is written.
        frame: Axes of a Cartesian motion.
        rotation: Form of a Cartesian rotation.
        position_scale_m: Metres of one unit of displacement.
        rotation_scale_rad: Radians of one unit of a rotation vector or of Euler angles.
        arm: The arm whose joints they are, see `arms`; empty for a Cartesian one.
        joint_scale_rad: Radians of one unit of a joint.
        arms: One or two; of two, the arm that moves more counts.
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
    joints: int = field(default=0)

    def __post_init__(self) -> None:
        is_joints = self.kind is ActionKind.JOINTS
        if self.arms not in {1, 2} or is_joints != bool(self.arm) or is_joints != bool(self.joints):
            raise InternalError(f"action convention {self.name} is not whole")
        if self.motion is Motion.FROM_START and not is_joints:
            raise InternalError(f"action convention {self.name}: poses from the start are not known")
        if self.gripper.open_at == self.gripper.closed_at:
            raise InternalError(f"action convention {self.name}: an open and a closed gripper are the same")

    @property
    def width(self) -> int:
        """Numbers of one arm in a row."""
        return (self.joints or 3 + self.rotation.width) + 1

    @property
    def numbers(self) -> int:
        """Numbers that a row has at least."""
        return self.arms * self.width
