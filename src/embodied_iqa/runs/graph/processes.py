"""The nodes of the graph as a group of local processes."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from embodied_iqa.base.clock import MONOTONIC, Clock
from embodied_iqa.base.errors import EmbodiedIqaError, InputError

_TAIL_LINES = 12
_POLL_S = 0.02


class ProcessesFailedError(EmbodiedIqaError):
    """A process ended unexpectedly; the message shows the end of its log."""


@dataclass(frozen=True, slots=True)
class ProcessSpec:
    """One process.

    Attributes:
        name: For messages and the log's name.
        command: Program and arguments.
    """

    name: str
    command: tuple[str, ...]


def _state_of(pid: int) -> str:
    """Return the state of a process by the kernel, such as ``D (disk sleep)``."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text(encoding="utf-8").splitlines()
    except OSError:
        return "gone"
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("State:")), "unknown")


class ProcessGroup:
    """Starts processes, each with its own log, and stops them: SIGINT, then SIGTERM, then SIGKILL.

    Args:
        specs: The processes.
        log_folder: Folder of the logs, `<name>.log`.
        environment: Environment of the processes.
        stop_deadline_s: Time to end after SIGINT, and again after SIGTERM.
    """

    def __init__(
        self,
        specs: tuple[ProcessSpec, ...],
        log_folder: Path,
        environment: Mapping[str, str],
        stop_deadline_s: float = 10.0,
        *,
        clock: Clock = MONOTONIC,
    ) -> None:
        self._specs = specs
        self._log_folder = log_folder
        self._environment = dict(environment)
        self._stop_deadline_s = stop_deadline_s
        self._clock = clock
        self._running: dict[str, subprocess.Popen[bytes]] = {}

    def __enter__(self) -> Self:
        try:
            self._log_folder.mkdir(parents=True, exist_ok=True)
            for spec in self._specs:
                self._start(spec)
        except OSError as error:
            self.stop()
            raise InputError(f"cannot start the graph: {error}") from error
        except BaseException:  # such as Ctrl-C
            self.stop()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    @property
    def left(self) -> dict[str, str]:
        """The processes that were started and are not known to have ended, each with its state in words."""
        return {name: _state_of(one.pid) for name, one in self._running.items() if one.returncode is None}

    def log(self, name: str) -> Path:
        """Return the path of a process's log."""
        return self._log_folder / f"{name}.log"

    def pid(self, name: str) -> int:
        """Return a process's id."""
        return self._running[name].pid

    def exit_code(self, name: str) -> int | None:
        """Return a process's exit code, or None while it runs."""
        return self._running[name].poll()

    def restart(self, name: str) -> None:
        """Start a process that has ended, or was killed, again; its log begins anew."""
        self._running[name].wait(self._stop_deadline_s)
        self._start(next(spec for spec in self._specs if spec.name == name))

    def check(self) -> None:
        """Check that every process runs.

        Raises:
            ProcessesFailedError: A process has ended; the message ends with the last lines of its log.
        """
        for name, process in self._running.items():
            code = process.poll()
            if code is not None:
                how = f"exit code {code}" if code >= 0 else f"signal {signal.Signals(-code).name}"
                raise ProcessesFailedError(f"{name} ended ({how}); its log ends:\n{self.tail(name)}")

    def tail(self, name: str) -> str:
        """Return the last lines of a process's log."""
        lines = self.log(name).read_text(encoding="utf-8", errors="replace").splitlines()
        return "\n".join(f"  {line}" for line in lines[-_TAIL_LINES:]) or "  (empty)"

    def stop(self) -> None:
        """Stop every process; may be called again, as for one that is not gone some time after SIGKILL."""
        try:
            for request in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL):
                self._signal_all(request)
                if self._all_ended():
                    break
        except BaseException:  # such as a second Ctrl-C: no process is left behind
            self._signal_all(signal.SIGKILL)
            raise
        self._running = {name: process for name, process in self._running.items() if process.poll() is None}

    def _signal_all(self, request: signal.Signals) -> None:
        for process in self._running.values():
            if process.poll() is None:
                process.send_signal(request)

    def _start(self, spec: ProcessSpec) -> None:
        with self.log(spec.name).open("wb") as log:
            self._running[spec.name] = subprocess.Popen(  # noqa: S603 - our own executables
                spec.command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                env=self._environment,
                start_new_session=True,  # Ctrl-C reaches only this process, which stops the others in order
            )

    def _all_ended(self) -> bool:
        deadline_s = self._clock.now_s() + self._stop_deadline_s
        while any(process.poll() is None for process in self._running.values()):
            if self._clock.now_s() > deadline_s:
                return False
            self._clock.sleep(_POLL_S)
        return True
