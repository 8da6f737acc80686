"""The emulated robot on its sockets, in real time or step by step."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import ipaddress
import time
from collections.abc import Callable

from embodied_iqa.emulator.controller import ACKNOWLEDGE_REGISTER, Controller
from embodied_iqa.emulator.dashboard import DASHBOARD_GREETING, Dashboard
from embodied_iqa.emulator.faults import FaultSwitches
from embodied_iqa.emulator.gripper_port import gripper_answers
from embodied_iqa.emulator.line_peer import LinePeer
from embodied_iqa.emulator.link import Link
from embodied_iqa.emulator.rtde_server import RtdeHub
from embodied_iqa.emulator.script_port import ScriptPeer
from embodied_iqa.errors import InputError, UsageError

__all__ = ["FAULT_PORT", "Emulator", "check_host"]

RTDE_PORT, DASHBOARD_PORT, GRIPPER_PORT = 30004, 29999, 63352
SCRIPT_PORTS = (30001, 30002, 30003)
FAULT_PORT = 29990
"""Where the fault switches listen; no port of a real controller."""

_FURTHEST_BEHIND_S = 0.1
_HEARTBEAT_S = 0.2


class Emulator:
    """A controller's ports on one loopback address.

    Args:
        controller: The robot.
        host: Loopback address; several robots take several, such as 127.0.0.2 and 127.0.0.3.

    Attributes:
        faults: The switches that tests throw.
        late_ticks: How often the clock had to be set back, as this machine was too slow.
    """

    def __init__(self, controller: Controller, host: str) -> None:
        self.controller = controller
        self.host = check_host(host)
        self.late_ticks = 0
        self._tick = 0
        self._told_s = 0.0
        self._link = Link()
        self._hub = RtdeHub(controller, self._link)
        self.faults = FaultSwitches(controller, self._link)
        self._servers: list[asyncio.Server] = []

    async def start(self) -> None:
        """Open every port.

        Raises:
            InputError: One is taken, as by another emulator.
        """
        link, controller = self._link, self.controller
        dashboard, gripper = Dashboard(controller), gripper_answers(controller)
        outside = Link()
        controller.machine.warm_up()
        await self._serve(RTDE_PORT, self._hub.new_peer)
        await self._serve(DASHBOARD_PORT, lambda: LinePeer(link, dashboard.answer, DASHBOARD_GREETING))
        for port in SCRIPT_PORTS:
            await self._serve(port, lambda: ScriptPeer(link, controller))
        await self._serve(GRIPPER_PORT, lambda: LinePeer(link, gripper))
        await self._serve(FAULT_PORT, lambda: LinePeer(outside, self.faults.answer))

    async def stop(self) -> None:
        """Close every port and connection."""
        for server in self._servers:
            server.close()
        self._link.drop_all()
        self._servers.clear()

    def step(self, *, passing: bool = True) -> None:
        """Do one tick and tell the clients.

        Args:
            passing: Whether time passes for the arm.
        """
        self._tick += 1
        self.controller.step(passing=passing)
        self._hub.publish(self._tick)
        self._told_s = time.monotonic()

    @property
    def acknowledged_s(self) -> float:
        """Time stamp of the newest state that a driver has answered (its register); -1 for none."""
        answered_s = self.controller.inputs.get(f"input_double_register_{ACKNOWLEDGE_REGISTER}")
        return answered_s if isinstance(answered_s, float) else -1.0

    @property
    def is_acknowledged(self) -> bool:
        """Whether a driver has answered the newest state."""
        return self.acknowledged_s >= self.controller.time_ns / 1e9

    async def listen(self, seconds: float) -> None:
        """Handle what clients send, at most so long, or until the newest state is acknowledged."""
        deadline = time.monotonic() + seconds
        await asyncio.sleep(0)
        self._repeat_state()
        while not self.is_acknowledged and (left_s := deadline - time.monotonic()) > 0:
            self._hub.written.clear()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._hub.written.wait(), min(left_s, _HEARTBEAT_S))
            self._repeat_state()

    def _repeat_state(self) -> None:
        """Tell the newest state again where a world waits: clients give a silent controller up."""
        if time.monotonic() - self._told_s > _HEARTBEAT_S:
            self._told_s = time.monotonic()
            self._hub.publish(0)  # of every rate

    async def run(self) -> None:
        """Tick at the controller's rate until cancelled."""
        gc.freeze()  # a collection in the midst of a tick would cost as much as the tick
        loop = asyncio.get_running_loop()
        tick_s = self.controller.firmware.tick_ns / 1e9
        due_s = loop.time()
        while True:
            if not self.faults.frozen:
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
                f"cannot listen on {self.host}:{port}: {error.strerror}; does another emulator run there?"
            ) from None


def check_host(host: str) -> str:
    """Return a loopback address.

    Raises:
        UsageError: Another address: the protocols know no password, so nobody else may reach them.
    """
    try:
        address = ipaddress.ip_address("127.0.0.1" if host == "localhost" else host)
    except ValueError:
        address = None
    if not isinstance(address, ipaddress.IPv4Address) or not address.is_loopback:
        raise UsageError("the emulator listens on loopback only", expected="127.x.y.z", got=host)
    return str(address)
