"""A program with a fail point is killed at its rename, also where processes come to theirs together."""

from __future__ import annotations

import fcntl
import signal
import sys
from pathlib import Path

import pytest

from fail_points import fail_point
from live_process import COMPLETION_S, running_program

PROGRAM = """
import pathlib, sys
folder = pathlib.Path(sys.argv[1])
print("ready", flush=True)
for number in range(int(sys.argv[2])):
    (folder / f".{number}").write_text("0123456789")
    (folder / f".{number}").rename(folder / f"{number}.txt")
"""


def _words(folder: Path, renames: int) -> list[str]:
    return [sys.executable, "-c", PROGRAM, str(folder), str(renames)]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "made"
    made.mkdir()
    return made


@pytest.mark.parametrize(("number", "left"), [(1, 0), (3, 2)])
def test_the_kill_is_just_before_the_rename(folder: Path, tmp_path: Path, number: int, left: int) -> None:
    variables = fail_point(number, folder, tmp_path / "notes")
    with running_program(_words(folder, 5), tmp_path / "logs", variables) as program:
        assert program.wait(COMPLETION_S) == -signal.SIGKILL
    assert len(list(folder.glob("*.txt"))) == left
    assert (folder / f".{left}").read_text() == "01234", "the unfinished file is cut"


def test_who_comes_after_the_number_was_reached_is_killed_too(folder: Path, tmp_path: Path) -> None:
    variables = fail_point(2, folder, tmp_path / "notes")
    (tmp_path / "notes" / "renames").write_bytes(b"..")
    with running_program(_words(folder, 1), tmp_path / "logs", variables) as program:
        assert program.wait(COMPLETION_S) == -signal.SIGKILL
    assert not list(folder.glob("*.txt"))


def test_a_process_counts_its_rename_once_the_other_has_counted_its_own(folder: Path, tmp_path: Path) -> None:
    """This process holds the count while it counts, as another of the program would."""
    variables = fail_point(2, folder, tmp_path / "notes")
    with (tmp_path / "notes" / "renames").open("ab") as counted:
        fcntl.flock(counted, fcntl.LOCK_EX)  # before the program starts, which would count first
        with running_program(_words(folder, 1), tmp_path / "logs", variables) as program:
            program.wait_until(lambda: "ready" in program.stdout, "it is ready", COMPLETION_S)
            counted.write(b".")
            counted.flush()
            fcntl.flock(counted, fcntl.LOCK_UN)
            assert program.wait(COMPLETION_S) == -signal.SIGKILL
    assert not list(folder.glob("*.txt"))
