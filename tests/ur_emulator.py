"""The emulator as a process of its own, on a loopback address that no other test session takes."""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from embodied_iqa.arm.emulator.controller import Controller
from embodied_iqa.arm.emulator.emulator import Emulator

_FAULT_PORT = 29990
HOSTS = (f"127.{64 + os.getpid() % 128}.{os.getpid() // 128 % 250}.{n}" for n in itertools.count(2))


class EmulatorProcess:
    """`embodied-iqa emulator`, with its fault switches."""

    def __init__(self, *words: str) -> None:
        self.host = next(HOSTS)
        command = [sys.executable, "-m", "embodied_iqa.cli.main", "emulator", "--host", self.host, *words]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        try:
            line = self.process.stdout.readline()
            assert line.startswith("emulator ready"), line
            self._switches = socket.create_connection((self.host, _FAULT_PORT), timeout=60.0)
        except BaseException:  # nobody has it yet who could close it
            self._end()
            raise
        self._one_at_a_time = threading.Lock()

    def throw(self, line: str) -> str:
        """Throw a switch; return once the emulator has done so."""
        with self._one_at_a_time:
            self._switches.sendall(line.encode() + b"\n")
            reply = b""
            while not reply.endswith(b"\n"):
                part = self._switches.recv(65536)
                if not part:
                    raise ConnectionResetError("the emulator has ended")
                reply += part
        assert not reply.startswith(b"error"), reply
        return reply.decode().strip()

    def step(self, ticks: int = 1) -> None:
        """Let time pass for a controller whose time is held."""
        self.throw(f"step {ticks}")

    def state(self) -> dict[str, Any]:
        state: dict[str, Any] = json.loads(self.throw("state"))
        return state

    def close(self) -> None:
        self._switches.close()
        self._end()

    def _end(self) -> None:
        self.process.kill()
        self.process.wait(timeout=60.0)
        if self.process.stdout is not None:
            self.process.stdout.close()


class SharedEmulator:
    """One emulator for many tests: restored before each, restarted after a test has killed it."""

    def __init__(self, *words: str) -> None:
        self._words = words
        self._running: EmulatorProcess | None = None

    def restored(self) -> EmulatorProcess:
        if self._running is not None and not self._is_alive(self._running):
            self.close()
        if self._running is None:
            self._running = EmulatorProcess(*self._words)
        self._running.throw("restore")
        self._running.throw("drop")
        return self._running

    @staticmethod
    def _is_alive(running: EmulatorProcess) -> bool:
        """Ask it: one that was killed this moment may not have ended yet."""
        try:
            running.throw("state")
        except OSError:
            return False
        return running.process.poll() is None

    def close(self) -> None:
        if self._running is not None:
            self._running.close()
            self._running = None


@contextmanager
def emulator(*words: str) -> Iterator[EmulatorProcess]:
    """An emulator for one `with` block."""
    running = EmulatorProcess(*words)
    try:
        yield running
    finally:
        running.close()


@contextmanager
def served(controller: Controller) -> Iterator[str]:
    """A controller on its ports for one `with` block, in a thread of its own; gives its address."""
    host = next(HOSTS)
    loop = asyncio.new_event_loop()
    ready = threading.Event()

    async def serve() -> None:
        running = Emulator(controller, host)
        await running.start()
        ready.set()
        try:
            await running.run()
        finally:
            await running.stop()

    task = loop.create_task(serve())

    def main() -> None:
        with suppress(asyncio.CancelledError):
            loop.run_until_complete(task)

    thread = threading.Thread(target=main, name="emulator", daemon=True)
    thread.start()
    try:
        assert ready.wait(60.0), "the emulator does not start"
        yield host
    finally:
        loop.call_soon_threadsafe(task.cancel)
        thread.join(10.0)
        loop.close()
