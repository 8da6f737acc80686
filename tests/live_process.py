"""Programs that tests start: gone with all they started whatever the test does, and their logs are kept.

The nodes of a trial run in sessions of their own, so that the process group of the command does not hold
them. Every program therefore gets a mark in its environment, which what it starts inherits.
"""

from __future__ import annotations

import os
import select
import signal
import subprocess
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

COMPLETION_S = 120.0
"""Limit of whatever takes up to ten seconds on an idle machine: only a test that has failed reaches it."""
TRIAL_S = 600.0
"""Limit of a trial, a build or another command that takes up to a minute on an idle machine."""

_MARK = "EMBODIED_IQA_TEST_PROGRAM"
_GRACE_S = 60.0
"""For a program that did not end by itself, so that it may close its files and end its nodes in order."""
_GONE_S = COMPLETION_S
_LOOK_S = 0.02
_TAIL_LINES = 30


class Program:
    """A running program of a test.

    Args:
        command: Program and arguments.
        folder: For its logs, `stdout.log` and `stderr.log`.
        variables: What its environment has beyond that of the tests.
        streams: Of `subprocess.Popen`, instead of a log or of an empty input.
    """

    def __init__(
        self, command: Sequence[str], folder: Path, variables: Mapping[str, str], streams: Mapping[str, Any]
    ) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._mark = uuid.uuid4().hex
        self._logs = {name: folder / f"{name}.log" for name in ("stdout", "stderr") if name not in streams}
        with ExitStack() as files:
            logs = {name: files.enter_context(path.open("wb")) for name, path in self._logs.items()}
            self.process = subprocess.Popen(
                command,
                env=os.environ | variables | {_MARK: self._mark},
                start_new_session=True,
                **({"stdin": subprocess.DEVNULL} | logs | dict(streams)),
            )
        self._handle = os.pidfd_open(self.process.pid)

    @property
    def stdout(self) -> str:
        """What it has printed so far."""
        return self._logs["stdout"].read_text(encoding="utf-8", errors="replace")

    @property
    def stderr(self) -> str:
        """What it has said so far."""
        return self._logs["stderr"].read_text(encoding="utf-8", errors="replace")

    def ends(self) -> str:
        """The last lines of each log, for a test that fails."""
        parts = []
        for name, path in self._logs.items():
            lines = path.read_text(encoding="utf-8", errors="replace").splitlines()[-_TAIL_LINES:]
            parts.append("\n".join([f"{name} of {self.process.pid} ends ({path}):", *lines]))
        return "\n".join(parts)

    # --- waiting --------------------------------------------------------------------------------------------

    def wait(self, deadline_s: float) -> int:
        """Return the exit code.

        Raises:
            AssertionError: It has not ended in time.
        """
        try:
            return self.process.wait(deadline_s)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"{self.process.args} has not ended within {deadline_s} s") from None

    def wait_until(self, true: Callable[[], bool], what: str, deadline_s: float) -> None:
        """Wait until something is true while the program runs.

        Raises:
            AssertionError: It has ended, or it is not true in time.
        """
        looks = int(deadline_s / _LOOK_S)
        while not true():
            has_ended = select.select([self._handle], [], [], _LOOK_S)[0]
            assert not has_ended, f"ended with {self.process.wait()} before {what}"
            looks -= 1
            assert looks > 0, f"not within {deadline_s} s: {what}"

    def wait_until_gone(self, seen: Mapping[int, Sequence[str]], deadline_s: float) -> None:
        """Wait until nothing runs of what it has started.

        Args:
            seen: What has to be gone, as `running` returned it; what it has started since has to be too.
            deadline_s: For each process.

        Raises:
            AssertionError: Something still runs.
        """
        for pid, words in {**seen, **self.running()}.items():
            with suppress(ProcessLookupError):
                handle = os.pidfd_open(pid)
                try:
                    assert select.select([handle], [], [], deadline_s)[0], f"{pid} still runs: {words}"
                finally:
                    os.close(handle)

    # --- the end --------------------------------------------------------------------------------------------

    def running(self) -> dict[int, list[str]]:
        """Ids and words of the processes that it started and that run, itself included."""
        mark, found = f"{_MARK}={self._mark}".encode(), {}
        for folder in Path("/proc").iterdir():
            if folder.name.isdigit():
                with suppress(OSError):  # ended while we looked, or somebody else's
                    if mark in (folder / "environ").read_bytes().split(b"\0"):
                        words = (folder / "cmdline").read_bytes().decode(errors="replace").split("\0")
                        found[int(folder.name)] = words[:-1]
        return found

    def end(self) -> None:
        """Ask it to end as Ctrl-C does, where it still runs; then end all that is left."""
        try:
            if self.process.poll() is None:
                os.killpg(self.process.pid, signal.SIGINT)
                with suppress(subprocess.TimeoutExpired):
                    self.process.wait(_GRACE_S)
        finally:  # also after a second Ctrl-C
            while left := self.running():
                for pid in left:
                    _kill(pid)
            self.process.wait(_GONE_S)
            os.close(self._handle)
            for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
                if stream is not None:
                    with suppress(BrokenPipeError):  # what nobody has read
                        stream.close()


def _kill(pid: int) -> None:
    """Kill a process and wait until it runs no more."""
    with suppress(ProcessLookupError):
        handle = os.pidfd_open(pid)
        try:
            signal.pidfd_send_signal(handle, signal.SIGKILL)
            assert select.select([handle], [], [], _GONE_S)[0], f"process {pid} does not end"
        finally:
            os.close(handle)


@contextmanager
def running_program(
    command: Sequence[str], folder: Path, variables: Mapping[str, str] | None = None, **streams: Any
) -> Iterator[Program]:
    """Start a program; nothing of it runs after the block, and a failure shows the ends of its logs."""
    program = Program(command, folder, variables or {}, streams)
    try:
        yield program
    except BaseException as error:
        error.add_note(program.ends())
        raise
    finally:
        program.end()


def completed(
    command: Sequence[str], folder: Path, deadline_s: float, variables: Mapping[str, str] | None = None
) -> Program:
    """Run a program to its end, which has to be exit code 0 within the deadline."""
    with running_program(command, folder, variables) as program:
        code = program.wait(deadline_s)
        assert code == 0, f"exit code {code}"
    return program
