"""Worker process that holds the client library of the UR controller; `UrArm` starts, watches and kills it.

``ur_rtde`` can wait for minutes for a controller that is gone, and holds the interpreter lock while it
connects. The driver has its own deadlines and ends this process when one passes.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import math
import os
import signal
import socket
import sys
import threading
from dataclasses import replace

from embodied_iqa.arm.robot.ur.dashboard_model import check_model_number, read_model_number
from embodied_iqa.arm.robot.ur.messages import (
    ANSWER,
    FAREWELL,
    LONGEST_MESSAGE,
    NOTE,
    REQUEST,
    Answer,
    Reply,
    Request,
)
from embodied_iqa.arm.robot.ur.model_check import RefusedArmError, check_model
from embodied_iqa.arm.robot.ur.options import SessionOptions
from embodied_iqa.arm.robot.ur.rtde_snapshot import await_snapshot, read_snapshot
from embodied_iqa.arm.robot.ur.session import UrSession
from embodied_iqa.arm.robot.ur.set_values import check_set_values
from embodied_iqa.base.config import build
from embodied_iqa.base.errors import UserError

_HEARTBEAT_S = 0.05
_SEND_S = 1.0
_DASHBOARD_S = 1.0
_PART = 0.8
"""Of the time for connecting: the driver ends a worker that takes longer before it can say why."""


class UrWorker:
    """Answers the driver's messages and sends it the arm's states.

    Args:
        driver: The socket to the driver.
        session: The library's connections.
    """

    def __init__(self, driver: socket.socket, session: UrSession) -> None:
        self._driver = driver
        self._states = driver.dup()  # each thread needs its own timeout, which belongs to the socket object
        self._states.setblocking(False)
        self._session = session
        self._moving: int | None = None
        self._executing = threading.Event()

    def watch_state(self) -> None:
        """Send every new state until the connection is lost, then exit.

        While a request is executed, the driver's answers wait in the other thread, and a simulated world for
        them: most requests need its next steps. So this thread acknowledges states meanwhile.
        """
        sent_s = acknowledged_s = math.nan
        poll_s = min(0.25 / self._session.options.rate_hz, 0.001)
        tick = threading.Event()
        while self._session.is_connected:
            now_s = self._session.controller_s
            if self._executing.is_set() and acknowledged_s != sent_s:
                acknowledged_s = sent_s
                self._session.acknowledge(sent_s)
            if now_s == sent_s:
                tick.wait(poll_s)
                continue
            sent_s = now_s
            try:
                self._states.send(self._session.state().pack())
            except BlockingIOError:
                continue  # the driver does not read; it gets a newer state later
            except OSError:
                return  # the driver is gone: `serve` notices it too, and the arm is stopped
        _send_text(self._driver, FAREWELL, "the robot's controller closed the connection")
        os._exit(1)  # the library's destructors would wait

    def serve(self) -> None:
        """Handle the driver's messages until it closes its end."""
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
        if kind == ANSWER:
            answer = Answer.unpack(message)
            if answer.q_rad is None:
                self._session.kick()
            else:
                self._session.servo(list(answer.q_rad))
            self._session.acknowledge(answer.answered_s)
        elif kind == REQUEST:
            self._execute(Request.unpack(message))

    def _execute(self, request: Request) -> None:
        self._executing.set()
        try:
            continues = self._session.execute(request)
        except (RuntimeError, ValueError, OSError) as error:
            self._reply(Reply(request.number, str(error) or type(error).__name__))
            return
        finally:
            self._executing.clear()
        if continues:
            self._moving = request.number
        else:
            self._reply(Reply(request.number))

    def _watch_move(self) -> None:
        """Reply to a move request when the move has ended."""
        if self._moving is None or self._session.is_moving:
            return
        number, self._moving = self._moving, None
        self._reply(Reply(number, self._session.why_move_ended()))

    def _reply(self, reply: Reply) -> None:
        self._driver.settimeout(_SEND_S)
        self._driver.send(reply.pack())


def main(words: list[str] | None = None) -> int:
    """Run the worker on an inherited socket."""
    parser = argparse.ArgumentParser(description="worker process of the UR driver")
    parser.add_argument("--fd", type=int, required=True)
    parser.add_argument("--options", required=True)
    arguments = parser.parse_args(words)
    driver = socket.socket(fileno=arguments.fd)
    try:
        session = _connect(driver, build(SessionOptions, json.loads(arguments.options), "worker options"))
    except RefusedArmError as error:
        _send_text(driver, error.refusal.value, str(error))
        os._exit(1)
    except (RuntimeError, ValueError, OSError, ImportError, UserError) as error:
        _send_text(driver, FAREWELL, str(error))
        os._exit(1)
    worker = UrWorker(driver, session)
    threading.Thread(target=worker.watch_state, daemon=True).start()
    try:
        with contextlib.suppress(OSError):  # the driver is gone
            worker.serve()
    except (RuntimeError, ValueError) as error:
        _send_text(driver, FAREWELL, f"the client library failed: {error}")
    _leave_after(_SEND_S)
    with contextlib.suppress(RuntimeError):  # the driver is gone
        session.stop()
    sys.stdout.flush()
    os._exit(0)


def _connect(driver: socket.socket, options: SessionOptions) -> UrSession:
    """Check which arm it is, and only then open the connections through which it can be armed.

    The kernel ends a worker that is not connected in time. Its driver would, unless it was killed: such a
    worker would go on to connect, and keep the next one from the inputs of the controller meanwhile.
    """
    arm = options.arm
    signal.setitimer(signal.ITIMER_REAL, arm.connect_s)
    limit_s = _PART * arm.connect_s
    seen = await_snapshot(arm.ip, limit_s) if options.lockstep else read_snapshot(arm.ip, arm.connect_s)
    notes = [check_model(seen, options.tool_pose, options.model)]
    unset = check_set_values(seen, options)
    if not options.lockstep:  # the simulated cell has the arm that its parameters name
        limit_s = min(_DASHBOARD_S, arm.connect_s / 4.0)
        notes[0] += f"; {check_model_number(read_model_number(seen.address, limit_s), options.model)}"
        notes += [unset] if unset else []
    for note in notes:
        _send_text(driver, NOTE, note)
    # the client library looks a name up again, which may lead to another controller than the checked one
    session = UrSession(replace(options, arm=replace(arm, ip=seen.address)))
    signal.setitimer(signal.ITIMER_REAL, 0.0)
    return session


def _leave_after(seconds: float) -> None:
    """Exit even if the library waits for a controller that is gone."""
    timer = threading.Timer(seconds, os._exit, (1,))
    timer.daemon = True
    timer.start()


def _send_text(driver: socket.socket, kind: bytes, text: str) -> None:
    with contextlib.suppress(OSError):  # the driver is gone
        driver.settimeout(_SEND_S)
        driver.send(kind + text.encode())


if __name__ == "__main__":
    main()
