"""A program of a test leaves nothing to the next test, however the test ends."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from live_process import Program, completed, running_program

PARENT = """
import subprocess, sys, time
subprocess.Popen([sys.executable, "-S", "-c", sys.argv[1]], start_new_session=True)
print("out of cheese", file=sys.stderr, flush=True)
if sys.argv[2] == "stay":
    time.sleep(600)
"""
CHILD = """
import signal, time
for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
    signal.signal(number, signal.SIG_IGN)
print("ready", flush=True)
time.sleep(600)
"""


def words(what: str) -> list[str]:
    return [sys.executable, "-S", "-c", PARENT, CHILD, what]


def wait_for_child(program: Program) -> None:
    program.wait_until(lambda: "ready" in program.stdout, "the child is ready", 60.0)


def fail(started: list[Program], folder: Path, kind: type[BaseException]) -> None:
    """A test that fails while its program and the child run."""
    with running_program(words("stay"), folder) as program:
        started.append(program)
        wait_for_child(program)
        assert len(program.running()) == 2
        raise kind


def run_out_of_time(started: list[Program], folder: Path) -> None:
    """A test whose program does not end."""
    with running_program(words("stay"), folder) as program:
        started.append(program)
        wait_for_child(program)
        program.wait(0)


@pytest.mark.parametrize("kind", [AssertionError, KeyboardInterrupt])
def test_a_failure_ends_the_program_and_a_child_that_ignores_signals(
    kind: type[BaseException], tmp_path: Path
) -> None:
    started: list[Program] = []
    with pytest.raises(kind) as caught:
        fail(started, tmp_path, kind)
    assert started[0].running() == {}
    assert started[0].process.returncode is not None
    assert any("out of cheese" in note for note in caught.value.__notes__), "the end of its log"


def test_a_timeout_ends_both_and_says_what_took_too_long(tmp_path: Path) -> None:
    started: list[Program] = []
    with pytest.raises(AssertionError, match=r"has not ended within 0 s"):
        run_out_of_time(started, tmp_path)
    assert started[0].running() == {}


def test_what_outlives_its_program_is_ended(tmp_path: Path) -> None:
    with running_program(words("leave"), tmp_path) as program:
        assert program.wait(60.0) == 0
        (left,) = program.running().values()
        assert CHILD in left
    assert program.running() == {}
    assert (tmp_path / "stderr.log").read_text(encoding="utf-8") == "out of cheese\n"


def test_an_end_while_waiting_and_another_exit_code_are_failures(tmp_path: Path) -> None:
    command = [sys.executable, "-S", "-c", "import sys; print('no cheese'); sys.exit(3)"]
    with running_program(command, tmp_path) as program, pytest.raises(AssertionError, match="ended with 3"):
        program.wait_until(lambda: False, "cheese", 60.0)
    with pytest.raises(AssertionError, match="exit code 3") as caught:
        completed(command, tmp_path, 60.0)
    assert "no cheese" in "".join(caught.value.__notes__)
