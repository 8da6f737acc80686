"""Parameters of the frames on /tf and /tf_static, which arm and cameras have in common."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from embodied_iqa.base.errors import UsageError

_PREFIX: Final = re.compile(r"([A-Za-z]\w*)?", re.ASCII)
_BASE: Final = "base"
_BASE_LINK: Final = "base_link"
_TOOL: Final = "tool0"


class FramePublishing(StrEnum):
    """Whether frames are published."""

    AUTO = "auto"
    """Where tf2_msgs is installed; those of the arm not beside another driver, which has its own."""
    ON = "on"
    OFF = "off"


@dataclass(frozen=True, slots=True)
class FrameParameters:
    """Frames on /tf and /tf_static.

    Attributes:
        publish: on, off, or auto: where tf2_msgs is installed, those of the arm not beside another driver. A
            frame that another node publishes, such as robot_state_publisher, is left to it.
        prefix: Before the names of the arm's frames and joints, such as left_ (tf_prefix of ur_robot_driver).
    """

    publish: FramePublishing = FramePublishing.AUTO
    prefix: str = ""

    def __post_init__(self) -> None:
        """Refuse a prefix that cannot begin a name."""
        if _PREFIX.fullmatch(self.prefix) is None:
            raise UsageError(
                "frames.prefix cannot begin a name",
                expected="letters, digits and _, such as left_",
                got=self.prefix,
            )

    @property
    def base(self) -> str:
        """Frame of the arm's poses: that of its controller."""
        return f"{self.prefix}{_BASE}"

    @property
    def base_link(self) -> str:
        """Root of the arm's frames: `base`, turned by half a turn about z, as UR's URDF has it."""
        return f"{self.prefix}{_BASE_LINK}"

    @property
    def tool(self) -> str:
        """Frame of the flange, without a tool."""
        return f"{self.prefix}{_TOOL}"
