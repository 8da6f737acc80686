"""Fault switches and the pendant of the emulated robot, for tests; each line is answered with one line.

``docs/reference/emulator.md`` lists the switches.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable

from embodied_iqa.arm.emulator.controller import Controller
from embodied_iqa.arm.emulator.link import Link
from embodied_iqa.arm.emulator.plant import KinematicPlant
from embodied_iqa.base.kinematics import pose_to_transform
from embodied_iqa.base.units import SECOND_NS

_MOST_STEPS = 10_000.0
_HEAVIEST_KG, _LONGEST_M, _POSE = 16.0, 2.0, 6
"""Largest payload of a UR arm; longest tool; numbers of a pose."""
_HIGHEST_FAULT = 15.0
"""The gripper reports its fault in four bits."""


class FaultSwitches:
    """Sets and clears faults of one emulated robot.

    Args:
        controller: The robot.
        link: Its network.
        step: Does one tick and publishes the state.

    Attributes:
        frozen: Whether the controller stands still.
        held: Whether time passes only by the switch ``step``.
    """

    def __init__(self, controller: Controller, link: Link, step: Callable[[], None]) -> None:
        self.frozen = self.held = False
        self._step = step
        self._cut = False
        self._controller = controller
        self._link = link
        self._switches: dict[str, Callable[[str], None]] = {
            "protective-stop": lambda words: controller.stop_protectively(words or "asked for"),
            "emergency-stop": lambda _: controller.press_emergency(),
            "release": lambda _: controller.safety.release_emergency(),
            "freeze": lambda _: self._set(frozen=True),
            "resume": lambda _: self._set(frozen=False),
            "cut": lambda _: self._set(cut=True),
            "mend": lambda _: self._set(cut=False),
            "hold": lambda _: self._hold(),
            "step": self._steps,
            "drop": lambda _: link.drop_all(),
            "delay": self._delay,
            "refuse-script": self._refuse_scripts,
            "stop-program": lambda _: controller.stop_program("stopped from the teach pendant"),
            "object": self._put_object,
            "gripper-fault": lambda words: controller.gripper.set_fault(
                int(_number(words, "a fault", 0.0, _HIGHEST_FAULT))
            ),
            "slider": self._set_slider,
            "payload": self._set_payload,
            "tcp": self._set_tool,
            "restore": lambda _: self._restore(),
        }

    def answer(self, line: str) -> bytes:
        """Throw one switch; return ``ok`` or an error."""
        word, _, rest = line.partition(" ")
        if word == "state":
            return json.dumps(self.state()).encode() + b"\n"
        switch = self._switches.get(word)
        if switch is None:
            return f"error: unknown switch {word!r}; available: {', '.join(self._switches)}, state\n".encode()
        try:
            switch(rest.strip())
        except ValueError as error:
            return f"error: {error}\n".encode()
        return b"ok\n"

    def state(self) -> dict[str, object]:
        """Return the state of the robot."""
        controller = self._controller
        return {
            "time_s": controller.time_ns / SECOND_NS,
            "playing": controller.is_playing,
            "safety": controller.safety.safety_mode.name,
            "reason": controller.safety.reason,
            "q_rad": controller.plant.q_rad.tolist(),
            "qd_radps": controller.plant.qd_radps.tolist(),
            "gripper": controller.plant.gripper,
            "frozen": self.frozen,
            "cut": self._cut,
            "held": self.held,
            "silence_s": controller.silence_s,
            "messages": list(controller.messages),
        }

    def _restore(self) -> None:
        controller = self._controller
        self.held = False
        self._set(frozen=False, cut=False)
        self._link.delay_s = 0.0
        controller.refuse_scripts = False
        controller.gripper.set_fault(0)
        controller.stop_program("")
        controller.plant.reset()
        controller.restart()

    def _set(self, *, frozen: bool | None = None, cut: bool | None = None) -> None:
        self.frozen = self.frozen if frozen is None else frozen
        self._cut = self._cut if cut is None else cut
        self._link.silence(silent=self.frozen or self._cut)

    def _hold(self) -> None:
        self.held = True

    def _steps(self, words: str) -> None:
        count = _number(words, "a number of ticks", 1.0, _MOST_STEPS)
        if not self.held:
            raise ValueError("time passes by itself: hold it first")
        for _ in range(0 if self.frozen else int(count)):
            self._step()

    def _delay(self, words: str) -> None:
        self._link.delay_s = _number(words, "a delay in ms", 0.0, 60_000.0) / 1e3

    def _refuse_scripts(self, words: str) -> None:
        if words not in {"on", "off"}:
            raise ValueError(f"expected on or off, got {words!r}")
        self._controller.refuse_scripts = words == "on"

    def _put_object(self, words: str) -> None:
        plant = self._controller.plant
        if not isinstance(plant, KinematicPlant):
            raise ValueError("objects of the MuJoCo world come from its scene")  # noqa: TRY004 - reported as a wrong value
        plant.object_at = None if words == "none" else _number(words, "none or a position", 0.0, 1.0)

    def _set_slider(self, words: str) -> None:
        self._controller.machine.speed_fraction = _number(words, "a fraction of the speed", 0.0, 1.0)

    def _set_payload(self, words: str) -> None:
        self._controller.machine.payload_kg = _number(words, "a mass in kg", 0.0, _HEAVIEST_KG)

    def _set_tool(self, words: str) -> None:
        numbers = words.split()
        if len(numbers) != _POSE:
            raise ValueError(f"expected X Y Z in m and a rotation vector RX RY RZ in rad, got {words!r}")
        place = [_number(number, "a place in m", -_LONGEST_M, _LONGEST_M) for number in numbers[:3]]
        turn = [_number(number, "a rotation in rad", -2.0 * math.pi, 2.0 * math.pi) for number in numbers[3:]]
        self._controller.machine.set_tool(pose_to_transform([*place, *turn]))


def _number(words: str, what: str, low: float, high: float) -> float:
    """Return a number of a switch.

    Raises:
        ValueError: It is not a number, or out of its range.
    """
    try:
        number = float(words)
    except ValueError:
        number = math.nan
    if not low <= number <= high:
        raise ValueError(f"expected {what} from {low:g} to {high:g}, got {words!r}")
    return number
