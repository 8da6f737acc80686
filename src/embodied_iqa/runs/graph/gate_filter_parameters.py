"""Parameters of the filter that lets commands pass only under fresh leases."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from embodied_iqa.base.config import ranged
from embodied_iqa.base.errors import UsageError
from embodied_iqa.imaging.images.frame import View


class FilteredCommand(StrEnum):
    """Message of the commands, and how they stop."""

    TWIST = "twist"
    """geometry_msgs/TwistStamped: a twist of zeros."""
    TRAJECTORY = "trajectory"
    """trajectory_msgs/JointTrajectory: one point at the newest joint state."""
    POSITIONS = "positions"
    """std_msgs/Float64MultiArray of joint positions: those of the newest joint state."""
    VELOCITIES = "velocities"
    """std_msgs/Float64MultiArray of joint velocities: zeros."""

    @property
    def holds(self) -> bool:
        """Whether it stops at the newest joint state."""
        return self in {FilteredCommand.TRAJECTORY, FilteredCommand.POSITIONS}


@dataclass(frozen=True, slots=True)
class GateFilterParameters:
    """The filter between a policy and its controller.

    Attributes:
        views: Cameras whose leases have to be fresh; needed.
        command: twist, trajectory, positions or velocities.
        frame_id: Frame of the stop of a twist until a command has passed; then it is that of the command.
        joints: Names of the joints, in the order of the numbers; needed for all commands but twist.
        state_age_s: Oldest joint state with which a command passes that can only be stopped by one [s]. Both
            its arrival and its stamp count, a stamp of zero does not.
        silence_s: Longest time between two commands of twist or velocities, after which one stop is sent; 0
            for no limit [s].
        hold_s: From a stop to the point of the trajectory that holds the arm [s].
    """

    views: tuple[View, ...] = ()
    command: FilteredCommand = FilteredCommand.TWIST
    frame_id: str = ""
    joints: tuple[str, ...] = ()
    state_age_s: float = ranged(0.1, 0.001, 5.0)
    silence_s: float = ranged(0.5, 0.0, 60.0)
    hold_s: float = ranged(0.1, 0.0, 5.0)

    def check(self) -> None:
        """Check that nothing is missing, and nothing named twice.

        Raises:
            UsageError: Views or joints are.
        """
        if not self.views:
            raise UsageError("no camera whose leases count", expected="views, such as [top, wrist]")
        if self.command is not FilteredCommand.TWIST and not self.joints:
            raise UsageError(
                f"command {self.command} without joints", expected="joints: their names in order"
            )
        for key, names in (("views", self.views), ("joints", self.joints)):
            if twice := [name for name in names if names.count(name) > 1]:
                raise UsageError(f"{key} names one twice", expected="each once", got=str(twice[0]))
