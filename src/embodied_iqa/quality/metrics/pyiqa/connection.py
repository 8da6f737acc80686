"""Connection to a worker process: requests and answers with deadlines."""

from __future__ import annotations

import json
import math
import socket
import subprocess
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from embodied_iqa.base.errors import InputError

_LONGEST_ANSWER: Final = 100_000
_END_S: Final = 5.0


class WorkerProcess:
    """A process that reads requests from a socket and answers each with one line of JSON.

    Args:
        command: Program and arguments; ``{socket}`` becomes the descriptor of its end of the socket.
        environment: Its variables.
        name: In error messages.
        start_s: Deadline of its first line, which describes it.
        answer_s: Deadline of each answer.

    Raises:
        InputError: It fails to start.
    """

    def __init__(
        self,
        command: Sequence[str],
        environment: Mapping[str, str],
        name: str,
        *,
        start_s: float = 300.0,
        answer_s: float = 300.0,
    ) -> None:
        self._name = name
        self._log = tempfile.TemporaryFile()  # noqa: SIM115 - open as long as the process
        ours, theirs = socket.socketpair()
        with theirs:
            filled = [word.format(socket=theirs.fileno()) for word in command]
            self._process = subprocess.Popen(  # noqa: S603 - the user names the environment
                filled,
                env=dict(environment),
                pass_fds=(theirs.fileno(),),
                stdin=subprocess.DEVNULL,
                stdout=self._log,
                stderr=self._log,
            )
        self._socket = ours
        self._stream = ours.makefile("rwb")
        self._socket.settimeout(start_s)
        self.about = self._answer(start_s)
        self._socket.settimeout(answer_s)
        self._answer_s = answer_s

    def ask(self, request: Mapping[str, Any], data: Iterable[bytes]) -> dict[str, Any]:
        """Send a request with its data and return the answer.

        Raises:
            InputError: The worker reports an error, is gone, or does not answer in time.
        """
        if self._process.poll() is not None or self._stream.closed:
            raise InputError(f"the worker of {self._name} has ended", expected="the metric loaded again")
        try:
            self._stream.write(json.dumps(request).encode() + b"\n")
            for part in data:
                self._stream.write(part)
            self._stream.flush()
        except TimeoutError:
            raise self._late(self._answer_s) from None
        except OSError:
            raise self._gone() from None
        return self._answer(self._answer_s)

    def _answer(self, deadline_s: float) -> dict[str, Any]:
        try:
            line = self._stream.readline(_LONGEST_ANSWER)
        except TimeoutError:
            raise self._late(deadline_s) from None
        except OSError:
            line = b""
        if not line.endswith(b"\n"):
            raise self._gone()
        answer: dict[str, Any] = json.loads(line)
        if "error" in answer:
            raise InputError(f"{self._name}: {answer['error']}")
        return answer

    def _late(self, deadline_s: float) -> InputError:
        self.close(at_once=True)
        return InputError(f"the worker of {self._name} did not answer within {deadline_s:g} s")

    def _gone(self) -> InputError:
        self._log.seek(0)
        lines = self._log.read().decode(errors="replace").strip().splitlines() or ["no reason given"]
        self.close(at_once=True)
        return InputError(f"the worker of {self._name} ended: {lines[-1]}")

    def close(self, *, at_once: bool = False) -> None:
        """End the worker."""
        if at_once:
            self._process.kill()
        for part in (self._stream, self._socket):
            try:
                part.close()
            except OSError:  # what was still to be written has no reader
                continue
        try:
            self._process.wait(_END_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._log.close()


def finite(answer: Mapping[str, Any], name: str) -> float:
    """Return the value of an answer.

    Raises:
        InputError: It is not a number.
    """
    value = answer.get("value")
    if not isinstance(value, float | int) or math.isnan(value):
        raise InputError(f"{name} has no value for this image", got=value)
    return float(value)
