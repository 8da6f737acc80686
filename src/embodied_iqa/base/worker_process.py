"""A worker process in an environment of its own: its Python, requests and answers, deadlines, its end.

Libraries whose licence or pins keep them out of our environment run there: pyiqa, LIBERO.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from embodied_iqa.base.errors import InputError, MissingDependencyError
from embodied_iqa.base.resources import source_checkout

_LONGEST_ANSWER: Final = 1_000_000
_END_S: Final = 5.0


@dataclass(frozen=True, slots=True)
class OtherEnvironment:
    """An environment that ``make NAME`` creates beside ours as ``.venv-NAME``.

    Attributes:
        name: Of the make target and of what is installed there.
        variable: Environment variable that names the Python of another environment that has it.
    """

    name: str
    variable: str

    def python(self) -> Path:
        """Return its Python interpreter.

        Raises:
            MissingDependencyError: There is none.
        """
        named, folder = (
            os.environ.get(self.variable, ""),
            (source_checkout() or Path()) / f".venv-{self.name}",
        )
        python = Path(named) if named else folder / "bin" / "python"
        # set-up writes the note last: without it the environment is not whole
        made = "" if source_checkout() is None else f"`make {self.name}`, or "
        if not python.is_file() or not (named or (folder / "installed.txt").is_file()):
            raise MissingDependencyError(
                f"no environment with {self.name}: {python} does not exist, or is not whole",
                expected=f"{made}{self.variable} with the Python of an environment that has it",
            )
        return python

    def variables(self, **added: str) -> dict[str, str]:
        """Return the variables of a process that runs there: none of our packages, and some more."""
        ours = {"PYTHONPATH", "PYTHONHOME"}
        return {name: value for name, value in os.environ.items() if name not in ours} | added


class WorkerProcess:
    """A process that reads requests from a socket and answers each with one line of JSON.

    An answer whose ``bytes`` is a number is followed by so many bytes.

    Args:
        command: Program and arguments; the word ``{socket}`` becomes the descriptor of its end of the socket.
        environment: Its variables.
        name: In error messages.
        start_s: Deadline of its first line, which describes it.
        answer_s: Deadline of each answer.
        again: What the user can do once it has ended.

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
        again: str = "it loaded again",
    ) -> None:
        self._name = name
        self._again = again
        self._log = tempfile.TemporaryFile()  # noqa: SIM115 - open as long as the process
        ours, theirs = socket.socketpair()
        with theirs:
            filled = [str(theirs.fileno()) if word == "{socket}" else word for word in command]
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
        try:
            self.about = self._answer(start_s)
        except BaseException:  # Ctrl-C too: nobody else can end it
            self.close(at_once=True)
            raise
        self._socket.settimeout(answer_s)
        self._answer_s = answer_s

    def ask(self, request: Mapping[str, Any], data: Iterable[bytes] = ()) -> dict[str, Any]:
        """Send a request with its data and return the answer; bytes behind it are its ``data``.

        Raises:
            InputError: The worker reports an error, is gone, or does not answer in time.
        """
        if self._process.poll() is not None or self._stream.closed:
            raise InputError(f"the worker of {self._name} has ended", expected=self._again)
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
        line, data = b"", b""
        answer: dict[str, Any] = {}
        try:
            line = self._stream.readline(_LONGEST_ANSWER)
            answer = json.loads(line) if line.endswith(b"\n") else {}
            data = self._stream.read(answer.get("bytes", 0))
        except TimeoutError:
            raise self._late(deadline_s) from None
        except OSError:
            line = b""
        if not line.endswith(b"\n") or len(data) < answer.get("bytes", 0):
            raise self._gone()
        if "error" in answer:
            raise InputError(f"{self._name}: {answer['error']}")
        return answer | ({"data": data} if data else {})

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
