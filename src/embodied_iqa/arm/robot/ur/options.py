"""Options of the UR arm driver, its gripper and its worker process."""

from __future__ import annotations

from dataclasses import dataclass, field

from embodied_iqa.base.config import ranged
from embodied_iqa.base.errors import UsageError
from embodied_iqa.base.kinematics.models import ArmModel

CB3_RATE_HZ = 125.0


@dataclass(frozen=True, slots=True)
class GripperOptions:
    """A Robotiq gripper connected through its URCap.

    Attributes:
        port: Port of the URCap's socket server; 0 for no gripper.
        speed: 0 (slowest) to 255 (fastest).
        force: 0 (weakest) to 255 (strongest).
        open_count: Position reported by the open gripper; 0 to 255.
        closed_count: Position reported by the closed gripper; 0 to 255.
        reply_s: Deadline for a reply [s].
        activation_s: Deadline for the activation, in which the fingers open and close once [s].
    """

    port: int = ranged(63352, 0, 65535)
    speed: int = ranged(255, 0, 255)
    force: int = ranged(100, 0, 255)
    open_count: int = ranged(0, 0, 255)
    closed_count: int = ranged(255, 0, 255)
    reply_s: float = ranged(0.5, 0.01, 30.0)
    activation_s: float = ranged(10.0, 0.1, 60.0)


@dataclass(frozen=True, slots=True)
class UrOptions:
    """A UR arm.

    Attributes:
        ip: Address of the robot's controller.
        connect_s: Deadline for connecting [s].
        reply_s: Deadline for any other request [s].
        state_timeout_s: The connection counts as lost if no state arrives for longer [s].
        watchdog_hz: The robot's program stops if the driver is silent for one period of this frequency [Hz].
        servo_lookahead_s: Smoothing of streamed targets [s].
        servo_gain: Stiffness with which the arm follows streamed targets.
        stop_mps2: Deceleration of the tool when streaming stops [m/s2].
        stop_radps2: Deceleration of the joints when a move stops [rad/s2].
        unlock_on_rearm: Re-arming also unlocks a protective stop; else it is unlocked at the pendant.
        payload_kg: Mass of gripper and load [kg], set where the pendant has none, as much as the model
            carries; 0 keeps the pendant's value.
        gripper: Options of the gripper.
    """

    ip: str = ""
    connect_s: float = ranged(10.0, 0.1, 60.0)
    reply_s: float = ranged(1.5, 0.05, 1.8)
    state_timeout_s: float = ranged(0.15, 0.01, 30.0)
    watchdog_hz: float = ranged(4.0, 1.0, 25.0)
    servo_lookahead_s: float = ranged(0.05, 0.03, 0.2)
    servo_gain: float = ranged(300.0, 100.0, 2000.0)
    stop_mps2: float = ranged(10.0, 0.1, 100.0)
    stop_radps2: float = ranged(4.0, 0.1, 40.0)
    unlock_on_rearm: bool = False
    payload_kg: float = ranged(0.0, 0.0, 16.0)
    gripper: GripperOptions = field(default_factory=GripperOptions)

    def check(self, model: ArmModel = ArmModel.UR5) -> None:
        """Check that the address is set and that the model carries the load.

        Raises:
            UsageError: The address or the model is missing, or the load is too heavy.
        """
        if not self.ip:
            raise UsageError("the arm's address is missing", expected="ip, such as 192.168.1.10")
        if self.payload_kg > model.payload_kg:
            raise UsageError(
                f"a {model.geometry.name} does not carry ur.payload_kg",
                expected=f"at most {model.payload_kg:g} kg",
                got=self.payload_kg,
            )


@dataclass(frozen=True, slots=True)
class SessionOptions:
    """Options of the worker process.

    Attributes:
        arm: Options of the arm.
        rate_hz: States and joint targets per second, at most those of the controller.
        tool_pose: Tool centre point in the flange's frame (m, rad).
        lockstep: A simulated world waits for an answer to each of its states.
        model: The model that the arm has to be.
    """

    arm: UrOptions = field(default_factory=UrOptions)
    rate_hz: float = CB3_RATE_HZ
    tool_pose: tuple[float, ...] = (0.0,) * 6
    lockstep: bool = False
    model: ArmModel = ArmModel.UR5
