"""The worker process of a UR arm and its socket; no call waits without a deadline."""

from __future__ import annotations

import contextlib
import json
import socket
import subprocess
import sys

from embodied_iqa.arm.robot.ur.messages import FAREWELL, LONGEST_MESSAGE, Refusal
from embodied_iqa.arm.robot.ur.options import SessionOptions
from embodied_iqa.base.clock import MONOTONIC, Clock
from embodied_iqa.base.config import values_of
from embodied_iqa.base.errors import InputError

_BUFFER_BYTES = 1 << 18
_REFUSALS = {refusal.value: refusal for refusal in Refusal}


class UrProcess:
    """The worker process, as the driver sees it.

    Args:
        options: Options of the worker.
        clock: Of the waits.

    Attributes:
        reason: Why the worker is gone; empty while it is not.
        refusal: Why the worker has refused the arm; None where it has not.

    Raises:
        InputError: The process cannot be started.
    """

    def __init__(self, options: SessionOptions, clock: Clock = MONOTONIC) -> None:
        self._clock = clock
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._socket = ours
        ours.setblocking(False)
        for end in (ours, theirs):
            end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _BUFFER_BYTES)
        command = [sys.executable, "-m", "embodied_iqa.arm.robot.ur.worker", "--fd", str(theirs.fileno())]
        command += ["--options", json.dumps(values_of(options))]
        try:
            self._process = subprocess.Popen(  # noqa: S603 - our own module
                command,
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=sys.stderr,
                start_new_session=True,  # Ctrl-C reaches only the driver, which ends the worker in order
            )
        except OSError as error:
            ours.close()
            raise InputError(f"cannot start the arm's worker process: {error}") from error
        finally:
            theirs.close()
        self.reason = ""
        self.refusal: Refusal | None = None

    @property
    def pid(self) -> int:
        """Process id of the worker."""
        return self._process.pid

    @property
    def is_gone(self) -> bool:
        """Whether the worker has ended or sent its farewell; `reason` says why."""
        return bool(self.reason)

    def fileno(self) -> int:
        """Return the descriptor that becomes readable when a message arrives; -1 once the worker is gone."""
        return self._socket.fileno()

    def send(self, message: bytes) -> None:
        """Send without waiting; a worker that accepts no more messages is ended."""
        if self.is_gone:
            return
        try:
            self._socket.send(message)
        except BlockingIOError:
            self.end("the arm's worker process accepts no more messages")
        except OSError as error:
            self.receive()  # it may have said why
            self.end(f"the arm's worker process ended: {error.strerror}")

    def receive(self) -> list[bytes]:
        """Return all messages that have arrived, without waiting."""
        messages: list[bytes] = []
        was_reset = False
        while not self.is_gone:
            try:
                message = self._socket.recv(LONGEST_MESSAGE)
            except BlockingIOError:
                break
            except OSError as error:
                # A worker that ends with our messages unread resets the socket. The kernel reports that once,
                # and only then returns what the worker sent before: its reason.
                if isinstance(error, ConnectionResetError) and not was_reset:
                    was_reset = True
                    continue
                self.end(f"the arm's worker process ended: {error.strerror}")
                break
            if not message:
                self.end(f"the arm's worker process ended with code {self._process.poll()}")
            elif message[:1] in {FAREWELL, *_REFUSALS}:
                self.refusal = _REFUSALS.get(message[:1])
                self.end(message[1:].decode("utf-8", "replace"))
            else:
                messages.append(message)
        return messages

    def wait(self, seconds: float) -> None:
        """Wait until a message arrives, at most so long."""
        if not self.is_gone:
            self._clock.wait_readable(self._socket, max(seconds, 0.0))

    def end(self, reason: str, grace_s: float = 0.0) -> None:
        """End the worker: kill it if it does not exit by itself within ``grace_s``."""
        self.reason = self.reason or reason
        self._socket.close()
        deadline = self._clock.now_s() + grace_s
        while self._process.poll() is None and self._clock.now_s() < deadline:
            self._clock.sleep(0.005)
        if self._process.poll() is None:
            self._process.kill()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(timeout=0.5)
