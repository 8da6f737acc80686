"""Parameters of the arm, and which arm it is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from ipaddress import ip_address
from typing import ClassVar

from embodied_iqa.arm.robot.controller_options import ControllerOptions
from embodied_iqa.arm.robot.limits import ArmLimits
from embodied_iqa.arm.robot.ur.options import UrOptions
from embodied_iqa.base.config import ranged
from embodied_iqa.base.errors import UsageError
from embodied_iqa.base.kinematics.geometry import TOOL_2F140_M
from embodied_iqa.base.kinematics.models import NAMED_MODELS, ArmModel


class RobotKind(StrEnum):
    """Kind of arm."""

    SIM = "sim"
    """The simulated arm, through the real robot's driver and protocols."""
    UR5 = "ur5"
    """A UR arm with a Robotiq gripper."""
    NONE = "none"

    @property
    def is_simulated(self) -> bool:
        """Whether the arm lives in the simulated world."""
        return self is RobotKind.SIM


@dataclass(frozen=True, slots=True)
class ArmParameters:
    """The arm.

    Attributes:
        robot: Which arm moves.
        model: Model of a real UR arm, whose geometry kinematics, limits and collisions follow; unset, a real
            arm is refused. The simulated arm is a ur5.
        report_rate_hz: Status, joint states and tool pose per second [Hz].
        tool_length_m: From the flange to the tool centre point [m].
        limits: Limits of the arm.
        controller: Times and tolerances of the controller.
        ur: The UR arm, or its emulator in the simulated world.
    """

    FORMER_NAMES: ClassVar[Mapping[str, str]] = {"lease_wait_s": "controller.lease.wait_s"}

    robot: RobotKind = RobotKind.SIM
    model: ArmModel = ArmModel.UNSET
    report_rate_hz: float = ranged(25.0, 1.0, 500.0)
    tool_length_m: float = ranged(TOOL_2F140_M, 0.0, 1.0)
    limits: ArmLimits = field(default_factory=ArmLimits)
    controller: ControllerOptions = field(default_factory=ControllerOptions)
    ur: UrOptions = field(default_factory=UrOptions)

    def check_model(self) -> ArmModel:
        """Return the model of the arm that moves.

        Raises:
            UsageError: That of a real arm is unset, the simulated arm is to be another than a UR5 or has an
                address at which a real one could answer, or the limits do not go with the model.
        """
        if self.robot is RobotKind.UR5 and self.model is ArmModel.UNSET:
            raise UsageError(
                "arm_node.model is not set, and a real arm is not moved by guess",
                expected="the model on its nameplate",
                available=NAMED_MODELS,
            )
        if self.robot.is_simulated and self.model not in {ArmModel.UNSET, ArmModel.UR5}:
            raise UsageError("the simulated arm is a UR5", expected="arm_node.model ur5", got=self.model)
        if self.robot.is_simulated and self.ur.ip and not _is_loopback(self.ur.ip):
            raise UsageError(
                "the simulated arm is on this machine, and a real one is not moved as if it were simulated",
                expected="a loopback address in arm_node.ur.ip, or arm_node.robot ur5 with its model",
                got=self.ur.ip,
            )
        model = ArmModel.UR5 if self.model is ArmModel.UNSET else self.model
        self.limits.check_model(model)
        return model

    def timed_controller(self, model: ArmModel) -> ControllerOptions:
        """Return the controller's options with the period of the arm: a real arm has that of its controller.

        Raises:
            UsageError: The period is set for a real arm.
        """
        if self.robot is not RobotKind.UR5:
            return self.controller
        if self.controller.dt_s != ControllerOptions().dt_s:
            raise UsageError(
                "arm_node.controller.dt_s of a real arm follows from its model",
                expected="no value",
                got=self.controller.dt_s,
            )
        return replace(self.controller, dt_s=1.0 / model.rate_hz)


def _is_loopback(address: str) -> bool:
    """Whether it is a loopback address; another name than localhost may lead to another machine."""
    try:
        return address == "localhost" or ip_address(address).is_loopback
    except ValueError:
        return False
