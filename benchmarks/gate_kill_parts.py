"""What `bench_gate_kills.py` runs: processes that are killed, camera and policy, a client with a robot."""

from __future__ import annotations

import json
import socket
import struct
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from time import monotonic, time_ns
from typing import Any, Self

import numpy as np
from bench_gate_proxy import KEYS, calibrated, textured
from bench_serving import SERVER
from geometry_msgs.msg import TwistStamped
from openpi_client.websocket_client_policy import WebsocketClientPolicy
from rclpy.context import Context
from rclpy.node import Node
from rclpy.qos import QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import Image

from embodied_iqa.live.ros.conversion import header_of

SIDE_PX = 224
WATCHDOG_S = 0.2
"""The robot moves so long after an action."""
ANSWER_S = 0.1
"""An action that is on its way at the kill arrives within this time; it may be read later."""
_LAST_RECEIVED_AT = 52
"""Where Linux's `tcp_info` has `tcpi_last_data_recv`: ms since data came in."""
_PERIOD_S = 0.05
_FOREIGN = QoSProfile(depth=5, reliability=ReliabilityPolicy.BEST_EFFORT)


class Started:
    """A process; used as a context manager.

    Args:
        words: The command.
        is_told: Whether it is ready when it has printed a line of JSON, which is `first` then.
        environment: Of the process; None for that of this one.
    """

    def __init__(
        self, words: list[str], *, is_told: bool = True, environment: Mapping[str, str] | None = None
    ) -> None:
        self.words, self._is_told = words, is_told
        self._environment = None if environment is None else dict(environment)
        self.first: Any = None
        self.restart()

    @property
    def has_ended(self) -> bool:
        """Whether it has."""
        return self._process.poll() is not None

    def restart(self) -> None:
        """Start it, and wait until it is ready."""
        output = subprocess.PIPE if self._is_told else subprocess.DEVNULL
        self._process = subprocess.Popen(
            self.words, stdout=output, stderr=subprocess.DEVNULL, text=True, env=self._environment
        )
        if self._process.stdout is not None:
            self.first = json.loads(self._process.stdout.readline())

    def kill(self) -> float:
        """Kill it, and return when [s]."""
        self._process.kill()
        killed_s = monotonic()
        self._process.wait()
        return killed_s

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if not self.has_ended:
            self.kill()


class Policy(Started):
    """A policy server of openpi, always at the same port."""

    def __init__(self) -> None:
        super().__init__([sys.executable, "-c", SERVER.replace("WIDTH", "8")])
        program = self.words[-1].replace('"127.0.0.1", 0', f'"127.0.0.1", {self.port}')
        self.words = [*self.words[:-1], program]

    @property
    def port(self) -> int:
        """Of the server."""
        return int(self.first)


class Asking(threading.Thread):
    """openpi's client and a robot with a watchdog: each action moves it for a time, an error stops it."""

    def __init__(self, port: int) -> None:
        super().__init__(daemon=True)
        self._port, self._until_s, self._is_left = port, 0.0, threading.Event()
        self.answered_s, self.arrived_s, self.wrong = 0.0, 0.0, ""

    def moves(self) -> bool:
        """Return whether the robot moves."""
        return monotonic() < self._until_s

    def stands(self) -> bool:
        """Return whether it does not."""
        return not self.moves()

    def has_answer(self) -> bool:
        """Return whether there was an action."""
        return self.answered_s > 0.0

    def run(self) -> None:
        """Ask until there is an error."""
        images = {key: textured(60 + number, SIDE_PX) for number, key in enumerate(KEYS)}
        seen = {**images, "observation/joint_position": np.zeros(7), "prompt": "pick the red cube"}
        try:
            client = WebsocketClientPolicy("127.0.0.1", self._port)
            # a copy: the client closes its socket as soon as the server has died
            with client._ws.socket.dup() as connection:  # noqa: SLF001 - openpi gives it no public name
                while not self._is_left.wait(_PERIOD_S):
                    self._note(client.infer(seen), connection)
        except Exception:  # noqa: BLE001 - whatever it is, a client that gets no action stops
            self._until_s = 0.0

    def _note(self, answer: dict[str, Any], connection: socket.socket) -> None:
        if answer["gate"]["verdict"] != "PASS" or answer["actions"].shape != (50, 8):
            self.wrong = f"an action without a pass: {answer['gate']}"
        self.answered_s = monotonic()
        self.arrived_s = self.answered_s - _since_received_s(connection)
        self._until_s = self.answered_s + WATCHDOG_S

    def leave(self) -> None:
        """Ask no more."""
        self._is_left.set()


def _since_received_s(connection: socket.socket) -> float:
    """Return how long ago the kernel received the last data of a connection [s].

    On a busy machine this process may read an answer long after it has come, also from a killed process.
    """
    state = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 104)
    return 1e-3 * float(struct.unpack_from("I", state, _LAST_RECEIVED_AT)[0])


def gate_words(folder: Path) -> list[str]:
    """Calibrate; return the command of the gate beside the camera of `Stack`."""
    return command_of_gate(calibrated(folder, SIDE_PX))


def command_of_gate(file: Path) -> list[str]:
    """Return the command of a gate that judges ``/eye`` as the top camera of a calibration."""
    words = ("gate", "run", "--image", "/eye", "--views", "top", "--calibration", str(file))
    return [sys.executable, "-m", "embodied_iqa.cli.main", *words]


class Stack(Node):
    """A camera at 30 Hz and a policy that commands at 50 Hz; notes what comes through."""

    def __init__(self, context: Context) -> None:
        super().__init__("bench_stack", context=context)
        self.moved_s, self.stopped_s = 0.0, 0.0
        self._images = self.create_publisher(Image, "/eye", _FOREIGN)
        self._commands = self.create_publisher(TwistStamped, "/policy/twist", 10)
        data = textured(60, SIDE_PX).tobytes()
        image = Image(width=SIDE_PX, height=SIDE_PX, encoding="rgb8", step=3 * SIDE_PX, data=data)
        self.create_subscription(TwistStamped, "servo_twist", self._take, 50)
        self.create_timer(1 / 30, partial(self._shoot, image))
        self.create_timer(1 / 50, self._command)

    @property
    def moves(self) -> bool:
        """Whether what came last was no stop."""
        return self.moved_s > self.stopped_s

    def since(self, time_s: float) -> str:
        """Return when the last command and the last stop came, in words."""
        moved_ms, stopped_ms = (1e3 * (one - time_s) for one in (self.moved_s, self.stopped_s))
        return f"the last command {moved_ms:+.0f} ms, the last stop {stopped_ms:+.0f} ms after the kill"

    def moved_after(self, time_s: float) -> Callable[[], bool]:
        """Return whether a command has passed since."""
        return lambda: self.moved_s > time_s

    def stopped_after(self, time_s: float) -> Callable[[], bool]:
        """Return whether a stop has come since."""
        return lambda: self.stopped_s > time_s

    def _shoot(self, image: Image) -> None:
        image.header = header_of(time_ns(), "lens")
        self._images.publish(image)

    def _command(self) -> None:
        command = TwistStamped(header=header_of(time_ns(), "tool0"))
        command.twist.linear.x = 0.1
        self._commands.publish(command)

    def _take(self, twist: TwistStamped) -> None:
        if twist.twist.linear.x:
            self.moved_s = monotonic()
        else:
            self.stopped_s = monotonic()
