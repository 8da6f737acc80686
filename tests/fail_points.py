"""Fail points: a program that a test starts is killed just before the Nth file that it would finish.

Finished files and folders get their name, which begins with no dot, by a rename. The program and the
workers that it starts count renames together; who reaches the number cuts the unfinished file in half, as a
kill in the middle of writing leaves it, and kills. Where a kill falls depends on no clock.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import signal
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

_FOLDER = "EMBODIED_IQA_TEST_FAIL_FOLDER"
_NUMBER = "EMBODIED_IQA_TEST_FAIL_NUMBER"
_COUNTED = "EMBODIED_IQA_TEST_FAIL_COUNTED"
_TESTS = Path(__file__).resolve().parent


def fail_point(number: int, folder: Path, notes: Path) -> dict[str, str]:
    """Return the environment of a program that is killed, with its process group, at a rename.

    Args:
        number: Which rename of the folder or below it, from 1.
        folder: What the program writes.
        notes: A folder of the test for this program alone.
    """
    hooks = notes / "hooks"
    hooks.mkdir(parents=True)
    (hooks / "sitecustomize.py").write_text("import fail_points\nfail_points.arm()\n", encoding="utf-8")
    path = os.pathsep.join([str(hooks), str(_TESTS), os.environ.get("PYTHONPATH", "")])
    variables = {_FOLDER: str(folder), _NUMBER: str(number), _COUNTED: str(notes / "renames")}
    return {"PYTHONPATH": path} | variables


def arm(variables: Mapping[str, str] = os.environ) -> None:
    """Count the renames of this process from now on."""
    kill_before(int(variables[_NUMBER]), Path(variables[_FOLDER]), Path(variables[_COUNTED]), os.getpgrp())


def kill_before(number: int, folder: Path, counted: Path, group: int | None = None) -> None:
    """Kill this process just before a rename of a folder or below it; it stays armed for its life.

    Args:
        number: Which rename, from 1.
        folder: Renames elsewhere do not count.
        counted: A file with a byte for each rename so far, of all processes that name it, each through a
            description of its own: a lock keeps out others only where they opened the file themselves.
        group: A process group that is killed too.
    """

    def passed() -> int:
        handle = os.open(counted, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            os.write(handle, b".")
            return os.lseek(handle, 0, os.SEEK_END)
        finally:
            os.close(handle)

    def heard(event: str, arguments: tuple[Any, ...]) -> None:
        if event != "os.rename":
            return
        unfinished, name = (Path(os.fsdecode(path)) for path in arguments[:2])
        if name.name.startswith(".") or folder not in (name, *name.parents):
            return
        if passed() >= number:
            _cut(unfinished)
            if group is not None:
                os.killpg(group, signal.SIGKILL)
            os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(heard)


def _cut(unfinished: Path) -> None:
    """Leave half of a file, or the first half of the files of a folder."""
    if unfinished.is_dir():
        entries = sorted(unfinished.iterdir())
        for entry in entries[len(entries) // 2 :]:
            shutil.rmtree(entry) if entry.is_dir() else entry.unlink()
    else:
        os.truncate(unfinished, unfinished.stat().st_size // 2)
