"""Emulated Robotiq 2F gripper: its variables and the socket server of the URCap."""

from __future__ import annotations

from embodied_iqa.arm.emulator.plant import Plant
from embodied_iqa.arm.emulator.safety import Safety

_RESET, _ACTIVATING, _ACTIVE = 0, 1, 3
_MOVING, _STOPPED_OPENING, _STOPPED_CLOSING, _ARRIVED = range(4)
_FULL = 255
_ACTIVATION_S = 0.5
_SLOWEST_PER_S, _FASTEST_PER_S = 30.0 / 140.0, 250.0 / 140.0
"""The 2F-140's fingers close at 30 to 250 mm/s over 140 mm."""
_TOLERANCE = 4
_WRITABLE = ("ACT", "GTO", "ATR", "ARD", "POS", "SPE", "FOR")


class RobotiqModel:
    """Variables and their effect: activation, moving to a position, object detection.

    Args:
        plant: The arm and gripper.
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
        """Set the reported fault, 0 for none."""
        self._values["FLT"] = number

    def restart(self) -> None:
        """Restart from the present position of the fingers; an activated gripper stays active."""
        self._requested = self._started_at = self._position()
        self._values |= {"PRE": self._requested, "GTO": 0, "OBJ": _ARRIVED if self.is_active else _MOVING}

    def read(self, name: str) -> int | None:
        """Return a variable, or None for an unknown name."""
        return self._position() if name == "POS" else self._values.get(name)

    def write(self, changes: dict[str, int]) -> bool:
        """Write variables, all or none; return whether they are valid."""
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
        """Update the variables after the plant has moved for ``tick_s``."""
        if self._values["ACT"] and not self.is_active:
            self._values["STA"] = _ACTIVATING
            self._activating_s += tick_s
            if self._activating_s >= _ACTIVATION_S:
                self._values["STA"] = _ACTIVE
                self._values["PRE"] = self._requested = self._position()
                self._values["OBJ"] = _ARRIVED
        elif self.is_active and self._values["GTO"]:
            self._values["PRE"] = self._requested
            self._values["OBJ"] = self._object_status()

    def _go(self) -> None:
        if not self._values["GTO"]:
            self._plant.stop_gripper()
            return
        speed = _SLOWEST_PER_S + (_FASTEST_PER_S - _SLOWEST_PER_S) * self._values["SPE"] / _FULL
        self._started_at = self._position()
        self._values["OBJ"] = _MOVING
        self._plant.set_gripper_target(self._requested / _FULL, speed)

    def _object_status(self) -> int:
        position = self._position()
        if self._plant.gripper_moving:
            return _MOVING
        if abs(position - self._requested) <= _TOLERANCE:
            return _ARRIVED
        return _STOPPED_CLOSING if self._requested > self._started_at else _STOPPED_OPENING

    def _position(self) -> int:
        return round(min(max(self._plant.gripper, 0.0), 1.0) * _FULL)


class GripperServer:
    """The URCap's socket server: ``SET VAR n ...`` and ``GET VAR``.

    Args:
        model: The gripper.
        safety: Safety system of the robot; an emergency stop silences the gripper.
    """

    def __init__(self, model: RobotiqModel, safety: Safety) -> None:
        self._model = model
        self._safety = safety

    def answer(self, line: str) -> bytes:
        """Answer a line; as in the original, ``ack`` has no line end."""
        words = line.split()
        if self._safety.emergency or not words:
            return b"?"
        if words[0] == "SET":
            changes = _changes(words[1:])
            return b"ack" if changes and self._model.write(changes) else b"?"
        value = self._model.read(words[1]) if words[0] == "GET" and len(words) == 2 else None
        return b"?" if value is None else f"{words[1]} {value}\n".encode()


def _changes(words: list[str]) -> dict[str, int] | None:
    try:
        return {name: int(float(text)) for name, text in zip(words[::2], words[1::2], strict=True)}
    except (ValueError, OverflowError):
        return None
