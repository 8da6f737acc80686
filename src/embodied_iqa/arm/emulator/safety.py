"""Safety system of the emulated robot: protective stop, emergency stop, power."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

from embodied_iqa.base.units import SECOND_NS


class RobotMode(IntEnum):
    """Power state of the robot, with RTDE's numbers."""

    POWER_OFF = 3
    IDLE = 5
    RUNNING = 7


class SafetyMode(IntEnum):
    """State of the safety system, with RTDE's numbers."""

    NORMAL = 1
    PROTECTIVE_STOP = 3
    ROBOT_EMERGENCY_STOP = 7


_NORMAL, _PROTECTIVE, _ROBOT_EMERGENCY, _EMERGENCY, _STOPPED = (1 << bit for bit in (0, 2, 6, 7, 10))


@dataclass(slots=True)
class Safety:
    """The safety system.

    Attributes:
        unlock_after_s: Earliest unlocking of a protective stop.
        mode: Power state of the robot.
        protective_since_ns: Controller time of the protective stop; None without one.
        emergency: Whether the emergency stop is pressed.
        reason: Reason of the last stop.
    """

    unlock_after_s: float = 5.0
    mode: RobotMode = RobotMode.RUNNING
    protective_since_ns: int | None = None
    emergency: bool = False
    reason: str = ""

    @property
    def may_move(self) -> bool:
        """Whether programs may run."""
        return self.protective_since_ns is None and not self.emergency and self.mode is RobotMode.RUNNING

    @property
    def status_bits(self) -> int:
        """RTDE's safety_status_bits."""
        if self.emergency:
            return _ROBOT_EMERGENCY | _EMERGENCY | _STOPPED
        return _PROTECTIVE | _STOPPED if self.protective_since_ns is not None else _NORMAL

    @property
    def safety_mode(self) -> SafetyMode:
        """The state of the safety system."""
        if self.emergency:
            return SafetyMode.ROBOT_EMERGENCY_STOP
        return SafetyMode.NORMAL if self.protective_since_ns is None else SafetyMode.PROTECTIVE_STOP

    def stop_protectively(self, reason: str, now_ns: int) -> None:
        """Make a protective stop; an active one keeps its time and reason."""
        if self.protective_since_ns is None:
            self.protective_since_ns, self.reason = now_ns, reason

    def press_emergency(self) -> None:
        """Press the emergency stop: the power goes off."""
        self.emergency, self.mode, self.reason = True, RobotMode.POWER_OFF, "emergency stop"

    def release_emergency(self) -> None:
        """Release the emergency stop; the power stays off until it is switched on."""
        self.emergency = False

    def unlock(self, now_ns: int) -> bool:
        """Unlock a protective stop; return whether none is active."""
        since_ns = self.protective_since_ns
        if since_ns is not None and now_ns - since_ns < self.unlock_after_s * SECOND_NS:
            return False
        self.protective_since_ns = None
        return True

    def restore(self) -> None:
        """Reset to the state after a clean start."""
        self.protective_since_ns, self.emergency, self.mode = None, False, RobotMode.RUNNING
        self.reason = ""
