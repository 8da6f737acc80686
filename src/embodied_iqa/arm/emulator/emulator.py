"""The emulated robot on its ports, in real time or step by step, with its dashboard server."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import ipaddress
import time
from collections.abc import Callable
from typing import Final

from embodied_iqa.arm.emulator.controller import Controller
from embodied_iqa.arm.emulator.faults import FaultSwitches
from embodied_iqa.arm.emulator.gripper import GripperServer
from embodied_iqa.arm.emulator.link import LinePeer, Link
from embodied_iqa.arm.emulator.registers import ACKNOWLEDGE_REGISTER
from embodied_iqa.arm.emulator.rtde_server import RtdeHub
from embodied_iqa.arm.emulator.rtde_types import RTDE_PORT
from embodied_iqa.arm.emulator.safety import RobotMode
from embodied_iqa.arm.emulator.uploaded_script import ScriptPeer
from embodied_iqa.base.errors import InputError, UsageError
from embodied_iqa.base.units import SECOND_NS

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


DASHBOARD_PORT, GRIPPER_PORT = 29999, 63352
SCRIPT_PORTS = (30001, 30002, 30003)
FAULT_PORT = 29990
"""Port of the fault switches; real controllers do not use it."""
PORTS: Final = {
    "rtde": (RTDE_PORT,),
    "dashboard": (DASHBOARD_PORT,),
    "script": SCRIPT_PORTS,
    "gripper": (GRIPPER_PORT,),
    "faults": (FAULT_PORT,),
}
"""The ports of each protocol."""

_FURTHEST_BEHIND_S = 0.1
_HEARTBEAT_S = 0.2


class Emulator:
    """The ports of a controller on one loopback address.

    Args:
        controller: The robot.
        host: Loopback address; several robots need several, such as 127.0.0.2 and 127.0.0.3.

    Attributes:
        faults: Fault switches for tests.
        late_ticks: How often the clock was set back because this machine was too slow.
    """

    def __init__(self, controller: Controller, host: str) -> None:
        self.controller = controller
        self.host = check_host(host)
        self.late_ticks = 0
        self._tick = 0
        self._published_s = 0.0
        self._link = Link()
        self._hub = RtdeHub(controller, self._link)
        self.faults = FaultSwitches(controller, self._link, self.step)
        self._servers: list[asyncio.Server] = []

    async def start(self) -> None:
        """Open every port.

        Raises:
            InputError: One is in use, for example by another emulator.
        """
        link, controller = self._link, self.controller
        dashboard = Dashboard(controller)
        gripper = GripperServer(controller.gripper, controller.safety)
        outside = Link()
        controller.machine.warm_up()
        await self._serve(RTDE_PORT, self._hub.new_peer)
        await self._serve(DASHBOARD_PORT, lambda: LinePeer(link, dashboard.answer, DASHBOARD_GREETING))
        for port in SCRIPT_PORTS:
            await self._serve(port, lambda: ScriptPeer(link, controller.load))
        await self._serve(GRIPPER_PORT, lambda: LinePeer(link, gripper.answer))
        await self._serve(FAULT_PORT, lambda: LinePeer(outside, self.faults.answer))

    async def stop(self) -> None:
        """Close every port and connection."""
        for server in self._servers:
            server.close()
        self._link.drop_all()
        self._servers.clear()

    def step(self, *, passing: bool = True) -> None:
        """Do one tick and publish the state.

        Args:
            passing: Whether time passes for the arm.
        """
        self._tick += 1
        self.controller.step(passing=passing)
        self._hub.publish(self._tick)
        self._published_s = time.monotonic()

    @property
    def acknowledged_s(self) -> float:
        """Time stamp of the newest state that a driver has answered; -1 for none."""
        answered_s = self.controller.inputs.get(f"input_double_register_{ACKNOWLEDGE_REGISTER}")
        return answered_s if isinstance(answered_s, float) else -1.0

    @property
    def is_acknowledged(self) -> bool:
        """Whether a driver has answered the newest state."""
        return self.acknowledged_s >= self.controller.time_ns / SECOND_NS

    async def listen(self, seconds: float) -> None:
        """Serve clients until the newest state is acknowledged, at most so long."""
        deadline = time.monotonic() + seconds
        await asyncio.sleep(0)
        self._repeat_state()
        while not self.is_acknowledged and (left_s := deadline - time.monotonic()) > 0:
            self._hub.written.clear()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._hub.written.wait(), min(left_s, _HEARTBEAT_S))
            self._repeat_state()

    def _repeat_state(self) -> None:
        """Publish the newest state again while time stands still: clients leave a silent controller."""
        if time.monotonic() - self._published_s > _HEARTBEAT_S:
            self._published_s = time.monotonic()
            self._hub.publish(0)

    async def run(self) -> None:
        """Tick at the controller's rate until cancelled."""
        gc.freeze()  # a garbage collection would take as long as a tick
        loop = asyncio.get_running_loop()
        tick_s = self.controller.firmware.tick_ns / SECOND_NS
        due_s = loop.time()
        while True:
            if self.faults.held:
                self._repeat_state()
            elif not self.faults.frozen:
                self.step()
            due_s += tick_s
            left_s = due_s - loop.time()
            if left_s < -_FURTHEST_BEHIND_S:
                self.late_ticks += 1
                due_s = loop.time()
            await asyncio.sleep(max(left_s, 0.0))

    async def _serve(self, port: int, make: Callable[[], asyncio.BaseProtocol]) -> None:
        loop = asyncio.get_running_loop()
        try:
            self._servers.append(await loop.create_server(make, self.host, port))
        except OSError as error:
            await self.stop()
            raise InputError(
                f"cannot listen on {self.host}:{port}: {error.strerror}; is another emulator running there?"
            ) from None


def check_host(host: str) -> str:
    """Return a loopback address.

    Raises:
        UsageError: Another address. The protocols have no authentication and must not be reachable.
    """
    try:
        address = ipaddress.ip_address("127.0.0.1" if host == "localhost" else host)
    except ValueError:
        address = None
    if not isinstance(address, ipaddress.IPv4Address) or not address.is_loopback:
        raise UsageError("the emulator listens on loopback only", expected="127.x.y.z", got=host)
    return str(address)
