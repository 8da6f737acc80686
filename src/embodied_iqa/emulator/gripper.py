"""A Robotiq 2F gripper behind its URCap: the variables that the socket server reads and writes."""

from __future__ import annotations

from embodied_iqa.emulator.plant import Plant

__all__ = ["RobotiqModel"]

_RESET, _ACTIVATING, _ACTIVE = 0, 1, 3
_MOVING, _STOPPED_OPENING, _STOPPED_CLOSING, _ARRIVED = range(4)
_FULL = 255
_ACTIVATION_S = 0.5
_SLOWEST_PER_S, _FASTEST_PER_S = 30.0 / 140.0, 250.0 / 140.0
"""The 2F-140's fingers close at 30 to 250 mm/s over 140 mm."""
_TOLERANCE = 4
_WRITABLE = ("ACT", "GTO", "ATR", "ARD", "POS", "SPE", "FOR")


class RobotiqModel:
    """Variables and their meaning: activation, going to a position, object detection.

    Args:
        plant: Whose fingers move.
    """

    def __init__(self, plant: Plant) -> None:
        self._plant = plant
        self._values = dict.fromkeys((*_WRITABLE, "PRE", "STA", "OBJ", "FLT", "MSC"), 0) | {
            "SID": 9,
            "MOD": 1,
        }
        self._requested = 0
        self._activating_s = 0.0
        self._started_at = 0

    @property
    def is_active(self) -> bool:
        """Whether the gripper is activated."""
        return self._values["STA"] == _ACTIVE

    def set_fault(self, number: int) -> None:
        """Report a fault, 0 for none."""
        self._values["FLT"] = number

    def restart(self) -> None:
        """Begin anew from where the fingers are; an activated gripper stays so."""
        self._requested = self._started_at = self._position()
        self._values |= {"PRE": self._requested, "GTO": 0, "OBJ": _ARRIVED if self.is_active else _MOVING}

    def read(self, name: str) -> int | None:
        """Return a variable, or None where there is none of that name."""
        return self._position() if name == "POS" else self._values.get(name)

    def write(self, changes: dict[str, int]) -> bool:
        """Write variables, all or none; return whether they could be written."""
        if any(name not in _WRITABLE or not 0 <= value <= _FULL for name, value in changes.items()):
            return False
        if "POS" in changes:
            self._requested = changes["POS"]
        self._values |= {name: value for name, value in changes.items() if name != "POS"}
        if not self._values["ACT"]:
            self._values |= {"STA": _RESET, "OBJ": _MOVING, "GTO": 0}
            self._activating_s = 0.0
            self._plant.stop_gripper()
        elif self.is_active and changes.keys() & {"POS", "SPE", "GTO"}:
            self._go()
        return True

    def tick(self, tick_s: float) -> None:
        """Let time pass; the plant has moved already."""
        if self._values["ACT"] and not self.is_active:
            self._values["STA"] = _ACTIVATING
            self._activating_s += tick_s
            if self._activating_s >= _ACTIVATION_S:
                self._values["STA"] = _ACTIVE
                self._values["PRE"] = self._requested = self._position()
                self._values["OBJ"] = _ARRIVED
        elif self.is_active and self._values["GTO"]:
            self._values["PRE"] = self._requested
            self._values["OBJ"] = self._seen()

    def _go(self) -> None:
        if not self._values["GTO"]:
            self._plant.stop_gripper()
            return
        speed = _SLOWEST_PER_S + (_FASTEST_PER_S - _SLOWEST_PER_S) * self._values["SPE"] / _FULL
        self._started_at = self._position()
        self._values["OBJ"] = _MOVING
        self._plant.command_gripper(self._requested / _FULL, speed)

    def _seen(self) -> int:
        position = self._position()
        if self._plant.gripper_moving:
            return _MOVING
        if abs(position - self._requested) <= _TOLERANCE:
            return _ARRIVED
        return _STOPPED_CLOSING if self._requested > self._started_at else _STOPPED_OPENING

    def _position(self) -> int:
        return round(min(max(self._plant.gripper, 0.0), 1.0) * _FULL)
