"""A program that is spoken to in lines, for what needs ROS in programs that do not import rclpy."""

from __future__ import annotations

import os
import subprocess
import threading
import time
from contextlib import suppress
from typing import Final

_AGAIN_S: Final = 5.0
_END_S: Final = 3.0


class LineProcess:
    """Starts a program when it is needed, again where it has ended, and ends it by its input.

    Args:
        command: Program and arguments.
    """

    def __init__(self, command: tuple[str, ...]) -> None:
        self._command = command
        self._lock = threading.Lock()
        self._process: subprocess.Popen[str] | None = None
        self._started_s = -_AGAIN_S

    def took(self, line: str) -> None:
        """Take a line of the program, in a thread of its own."""
        raise NotImplementedError

    def failed(self, problem: str) -> None:
        """Take the reason why the program cannot be started, or has ended."""
        raise NotImplementedError

    def write(self, line: str) -> bool:
        """Send a line; return False where the program does not run. With the lock held.

        Raises:
            OSError: It has just ended.
        """
        self.ensure()
        if self._process is None or self._process.stdin is None:
            return False
        self._process.stdin.write(line)
        self._process.stdin.flush()
        return True

    def ensure(self) -> None:
        """Start the program unless it runs, at most every five seconds. With the lock held."""
        if self._process is not None and self._process.poll() is None:
            return
        if time.monotonic() - self._started_s < _AGAIN_S:
            return
        self._started_s = time.monotonic()
        if self._process is not None:
            _close_input(self._process)
        try:
            self._process = subprocess.Popen(  # noqa: S603 - this Python, or as the test gives it
                self._command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
                env=dict(os.environ),
            )
        except OSError as error:
            self._process = None
            self.failed(f"cannot start the connection to ROS: {error.strerror}")
            return
        threading.Thread(target=self._listen, args=(self._process,), daemon=True).start()

    def close(self) -> None:
        """End the program."""
        with self._lock:
            process, self._process = self._process, None
        if process is None:
            return
        _close_input(process)
        try:
            process.wait(_END_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def _listen(self, process: subprocess.Popen[str]) -> None:
        if process.stdout is not None:
            with process.stdout as lines:
                for line in lines:
                    self.took(line)
        code = process.wait()
        if process is self._process:
            self.failed(f"the connection to ROS has ended with {code}; is the ROS part installed?")


def _close_input(process: subprocess.Popen[str]) -> None:
    with suppress(BrokenPipeError):  # it has ended already
        if process.stdin is not None:
            process.stdin.close()
