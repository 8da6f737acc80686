"""The process that holds the client library of the UR controller; `UrArm` starts, watches and kills it.

``ur_rtde`` can wait for minutes for a controller that is gone, and holds the interpreter lock while it
connects. Here that harms nobody: the driver has its own deadlines and ends this process where they pass.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import math
import os
import socket
import sys
import threading

from embodied_iqa.robot.ur_messages import (
    FAREWELL,
    IDLE,
    LONGEST_MESSAGE,
    REQUEST,
    STREAM,
    WELCOME,
    Reply,
    Request,
    UrFlags,
    unpack_idle,
    unpack_stream,
)
from embodied_iqa.robot.ur_session import UrSession

__all__ = ["main"]

_HEARTBEAT_S = 0.05
_SEND_S = 1.0


class UrWorker:
    """Answers the driver's messages and tells the arm's states.

    Args:
        driver: The socket to the driver.
        session: The library's connections.
    """

    def __init__(self, driver: socket.socket, session: UrSession) -> None:
        self._driver = driver
        self._states = (
            driver.dup()
        )  # a socket's timeout belongs to the Python object, and each thread needs its own
        self._states.setblocking(False)
        self._session = session
        self._moving: int | None = None

    def watch_state(self) -> None:
        """Tell every new state until the connection is lost; then the process ends."""
        told_s = math.nan
        poll_s = min(0.25 / self._session.rate_hz, 0.001)
        tick = threading.Event()
        while self._session.is_connected:
            now_s = self._session.controller_s
            if now_s == told_s:
                tick.wait(poll_s)
                continue
            told_s = now_s
            state = self._session.state(self._flags())
            try:
                self._states.send(state.pack())
            except BlockingIOError:
                continue  # the driver does not read: the newest state replaces this one later
            except OSError:
                break
        self._leave("the robot's controller closed the connection")

    def serve(self) -> None:
        """Do what the driver asks for until it closes its end."""
        while True:
            self._driver.settimeout(_HEARTBEAT_S if self._moving is None else 0.002)
            try:
                message = self._driver.recv(LONGEST_MESSAGE)
            except TimeoutError:
                message = b" "
            if not message:
                return
            self._handle(message)
            self._watch_move()

    def _handle(self, message: bytes) -> None:
        kind = message[:1]
        if kind == STREAM:
            answers_s, q_rad = unpack_stream(message)
            self._session.servo(list(q_rad))
            self._session.acknowledge(answers_s)
        elif kind == IDLE:
            self._session.kick()
            self._session.acknowledge(unpack_idle(message))
        elif kind == REQUEST:
            request = Request.unpack(message)
            self._request(request)

    def _request(self, request: Request) -> None:
        try:
            goes_on = self._session.do(request)
        except (RuntimeError, ValueError, OSError) as error:
            self._reply(Reply(request.number, str(error) or type(error).__name__))
            return
        if goes_on:
            self._moving = request.number
        else:
            self._reply(Reply(request.number))

    def _watch_move(self) -> None:
        """Answer the request for a move when the move is over."""
        if self._moving is None or self._session.is_moving:
            return
        number, self._moving = self._moving, None
        self._reply(Reply(number, self._session.why_move_ended()))

    def _reply(self, reply: Reply) -> None:
        self._driver.settimeout(_SEND_S)
        self._driver.send(reply.pack())

    def _flags(self) -> UrFlags:
        flags = UrFlags(0)
        if self._session.armed:
            flags |= UrFlags.ARMED
        if self._moving is not None:
            flags |= UrFlags.MOVING
        if self._session.halted:
            flags |= UrFlags.HALTED
        return flags

    def _leave(self, reason: str) -> None:
        """Say why and end at once: the library's destructors would wait."""
        _say_farewell(self._driver, reason)
        os._exit(1)


def main(words: list[str] | None = None) -> int:
    """Run the worker on an inherited socket."""
    parser = argparse.ArgumentParser(description="holds the UR client library for the driver")
    parser.add_argument("--fd", type=int, required=True)
    parser.add_argument("--options", required=True)
    arguments = parser.parse_args(words)
    driver = socket.socket(fileno=arguments.fd)
    try:
        session = UrSession(**json.loads(arguments.options))
    except (RuntimeError, ValueError, OSError, ImportError) as error:
        _say_farewell(driver, str(error))
        os._exit(1)
    driver.settimeout(_SEND_S)
    driver.send(WELCOME + session.version.encode())
    worker = UrWorker(driver, session)
    threading.Thread(target=worker.watch_state, daemon=True).start()
    try:
        with contextlib.suppress(OSError):  # the driver is gone
            worker.serve()
    except (RuntimeError, ValueError) as error:
        _say_farewell(driver, f"the client library failed: {error}")
    _leave_after(_SEND_S)
    with contextlib.suppress(RuntimeError):  # nobody is left to tell
        session.stop()
    sys.stdout.flush()
    os._exit(0)


def _leave_after(seconds: float) -> None:
    """End the process even if the library then waits for a controller that is gone."""
    timer = threading.Timer(seconds, os._exit, (1,))
    timer.daemon = True
    timer.start()


def _say_farewell(driver: socket.socket, reason: str) -> None:
    with contextlib.suppress(OSError):  # the driver is gone and does not want to know
        driver.settimeout(_SEND_S)
        driver.send(FAREWELL + reason.encode())


if __name__ == "__main__":
    main()
