"""What the driver of a UR arm has to know."""

from __future__ import annotations

from dataclasses import dataclass, field

from embodied_iqa.config import ranged
from embodied_iqa.errors import UsageError

__all__ = ["GripperOptions", "UrOptions"]


@dataclass(frozen=True, slots=True)
class GripperOptions:
    """A Robotiq gripper behind its URCap.

    Attributes:
        port: Of the URCap's socket server; 0 where there is no gripper.
        speed: 0 (slowest) to 255 (fastest).
        force: 0 (least) to 255 (most).
        open_count: Position that the gripper reports when it is open; 0 to 255.
        closed_count: Position that the gripper reports when it is closed; 0 to 255.
        reply_s: Longest time for an answer [s].
        activation_s: Longest time for the activation, in which the fingers open and close once [s].
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
        connect_s: Longest time to connect [s].
        reply_s: Longest time for any other request [s].
        state_timeout_s: The connection counts as lost where no state has come for longer [s].
        watchdog_hz: The robot's program stops where the driver says nothing for one period of this [Hz].
        servo_lookahead_s: Smoothing of streamed targets [s].
        servo_gain: Stiffness with which streamed targets are followed.
        stop_mps2: Deceleration of the tool when streaming is stopped [m/s2].
        stop_radps2: Deceleration of the joints when a move is stopped [rad/s2].
        unlock_on_rearm: Re-arming also unlocks a protective stop; else a person unlocks it at the pendant.
        payload_kg: Mass of gripper and load [kg]; 0 keeps what is set at the pendant.
        gripper: The gripper.
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
    payload_kg: float = ranged(0.0, 0.0, 5.0)
    gripper: GripperOptions = field(default_factory=GripperOptions)

    def check(self) -> None:
        """Say what is missing.

        Raises:
            UsageError: There is no address.
        """
        if not self.ip:
            raise UsageError("the arm's address is missing", expected="ip, such as 192.168.1.10")
