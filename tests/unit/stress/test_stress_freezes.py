"""Freezes: every process of a run stands still at once and goes on afterwards; no other process does."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from live_process import running_program
from stress.freezes import MARK, Freezes, frozen_at_times
from stress.main import run_file

ECHO = """
import sys

open("/proc/self/comm", "wb").write(b") \\xfc T")  # a name may hold any bytes
for line in sys.stdin:
    print(line, end="", flush=True)
"""


@contextmanager
def echo(run: str, folder: Path) -> Iterator[subprocess.Popen[str]]:
    """A process of a run, in a session of its own: it repeats what it is told."""
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True, "bufsize": 1}
    with running_program([sys.executable, "-c", ECHO], folder, {MARK: run}, **pipes) as program:
        process = program.process
        assert answer(process, "started") == "started"
        yield process
        process.stdin.close()


def answer(process: subprocess.Popen[str], word: str) -> str:
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(word + "\n")
    return process.stdout.readline().strip()


def test_all_of_a_run_stands_still_and_goes_on_and_nothing_else_does(tmp_path: Path) -> None:
    run = str(tmp_path)  # no other test of this machine has it
    with ExitStack() as held:
        names = ("first", "second", "stopped")
        first, second, stopped = (held.enter_context(echo(run, tmp_path / name)) for name in names)
        other = held.enter_context(echo(f"{run}/another", tmp_path / "other"))
        stopped.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, stopped.pid, os.WSTOPPED)
        with frozen_at_times(run, Freezes(length_s=30.0, every_s=0.01), "seed"):
            for process in (first, second):
                os.waitid(os.P_PID, process.pid, os.WSTOPPED)
            assert answer(other, "not frozen") == "not frozen"
        for process in (first, second):
            assert answer(process, "again") == "again"
        assert os.waitid(os.P_PID, stopped.pid, os.WCONTINUED | os.WNOHANG) is None
        stopped.send_signal(signal.SIGCONT)


def test_without_a_length_nothing_is_frozen(tmp_path: Path) -> None:
    run = str(tmp_path)
    with echo(run, tmp_path) as process, frozen_at_times(run, Freezes(every_s=1e-6), "seed"):
        assert answer(process, "not frozen") == "not frozen"
        assert os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WNOHANG) is None


def test_the_tests_of_a_frozen_run_pass_and_their_results_say_so(tmp_path: Path) -> None:
    file = "tests/unit/base/test_pins.py"
    freezes = Freezes(length_s=0.1, every_s=0.1)
    results = run_file(file, [file], version="v", repeat=1, busy=0, freezes=freezes, logs=tmp_path)
    assert {result.outcome for result in results} == {"passed"}
    assert {result.freeze_s for result in results} == {0.1}
