"""The dashboard server, which answers line by line."""

from __future__ import annotations

from collections.abc import Callable

from embodied_iqa.arm.emulator.controller import Controller
from embodied_iqa.arm.emulator.safety import RobotMode

DASHBOARD_GREETING = b"Connected: Universal Robots Dashboard Server\n"
_PROGRAM = "rtde_control.urp"


class Dashboard:
    """Answers as a controller's dashboard does.

    Args:
        controller: The controller to query and control.
        serial: The robot's serial number.
    """

    def __init__(self, controller: Controller, serial: str = "20260500001") -> None:
        self._controller = controller
        version = f"URSoftware {controller.firmware.version_text} (Jan 01 2026)"
        self._answers: dict[str, Callable[[], str]] = {
            "polyscopeversion": lambda: version,
            "version": lambda: version,
            "get serial number": lambda: serial,
            "get robot model": lambda: controller.machine.flange.geometry.name.removesuffix("e"),
            "is in remote control": lambda: "true",
            "get operational mode": lambda: "NONE",
            "robotmode": lambda: f"Robotmode: {controller.safety.mode.name}",
            "safetymode": lambda: f"Safetymode: {controller.safety.safety_mode.name}",
            "safetystatus": lambda: f"Safetystatus: {controller.safety.safety_mode.name}",
            "running": lambda: f"Program running: {str(controller.is_playing).lower()}",
            "programstate": lambda: f"{'PLAYING' if controller.is_playing else 'STOPPED'} {_PROGRAM}",
            "get loaded program": lambda: f"Loaded program: /programs/{_PROGRAM}",
            "isprogramsaved": lambda: f"true {_PROGRAM}",
            "stop": self._stop,
            "play": lambda: "Failed to execute: play",
            "pause": lambda: "Failed to execute: pause",
            "unlock protective stop": self._unlock,
            "close popup": lambda: "closing popup",
            "close safety popup": lambda: "closing safety popup",
            "restart safety": self._restart_safety,
            "power on": lambda: self._power(RobotMode.IDLE, "Powering on"),
            "power off": lambda: self._power(RobotMode.POWER_OFF, "Powering off"),
            "brake release": lambda: self._power(RobotMode.RUNNING, "Brake releasing"),
            "quit": lambda: "Disconnected",
        }

    def answer(self, line: str) -> bytes:
        """Answer one line."""
        word = line.lower()
        if word.startswith("popup "):
            return b"showing popup\n"
        if word.startswith("addtolog "):
            self._controller.messages.append(line[9:])
            return b"Added log message\n"
        if word.startswith("load "):
            return f"File not found: {line[5:]}\n".encode()
        reply = self._answers.get(word)
        return f"{reply() if reply else f'could not understand: {line!r}'}\n".encode()

    def _stop(self) -> str:
        self._controller.stop_program("stopped from the dashboard")
        return "Stopped"

    def _unlock(self) -> str:
        if self._controller.unlock():
            return "Protective stop releasing"
        return (
            f"Cannot unlock protective stop until {self._controller.safety.unlock_after_s:g}s after "
            "occurrence. Always inspect cause of protective stop before unlocking"
        )

    def _restart_safety(self) -> str:
        self._controller.power(RobotMode.POWER_OFF)
        return "Restarting safety"

    def _power(self, mode: RobotMode, done: str) -> str:
        return done if self._controller.power(mode) else f"Failed to execute: {done}"
