"""Running set-up's commands, one set-up at a time: output goes to the log, its end to the user on failure."""

from __future__ import annotations

import fcntl
import shlex
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from workspace.layout import SetupError

__all__ = ["alone", "run_logged", "say"]

_LINES_SHOWN = 25


def say(line: str) -> None:
    """Print a line for the user, at once."""
    print(f"set-up: {line}", flush=True)


@contextmanager
def alone(file: Path, waiting: str) -> Iterator[None]:
    """Hold a lock between processes; `waiting` is printed while another process holds it."""
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say(waiting)
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def run_logged(
    command: Sequence[str | Path], *, log: Path, environment: Mapping[str, str], cwd: Path, what: str
) -> None:
    """Run a command and append what it prints to the log.

    Args:
        command: Program and arguments.
        log: The log file.
        environment: The command's whole environment.
        cwd: Where it runs.
        what: The step in the user's words, for the error.

    Raises:
        SetupError: The command failed or does not exist.
    """
    words = [str(word) for word in command]
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("ab") as output:
        output.write(f"\n$ {shlex.join(words)}\n".encode())
        output.flush()
        start = output.tell()
        try:
            code = subprocess.run(
                words,
                env=dict(environment),
                cwd=cwd,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                check=False,
            ).returncode
        except OSError as error:
            raise SetupError(f"{what}: cannot start {words[0]}: {error.strerror}") from error
    if code != 0:
        with log.open("rb") as output:
            output.seek(start)
            said = output.read().decode(errors="replace").strip().splitlines()
        tail = "\n".join(said[-_LINES_SHOWN:])
        raise SetupError(f"{what} failed (exit code {code}); all of it is in {log}\n{tail}")
