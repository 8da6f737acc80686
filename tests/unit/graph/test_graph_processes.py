"""Processes of the graph: crashes are named, and nothing is left behind."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from embodied_iqa.errors import InputError
from embodied_iqa.graph.processes import ProcessesFailedError, ProcessGroup, ProcessSpec

SLEEP = "import time; time.sleep(60)"
SAY_READY = "print('ready', flush=True)"
STUBBORN = f"""
import signal, time
signal.signal(signal.SIGINT, signal.SIG_IGN)
signal.signal(signal.SIGTERM, signal.SIG_IGN)
{SAY_READY}
time.sleep(60)
"""
POLITE = f"""
import signal, sys, time
signal.signal(signal.SIGINT, lambda *_: (print('closed the file', flush=True), sys.exit(0)))
{SAY_READY}
time.sleep(60)
"""


def python(name: str, code: str) -> ProcessSpec:
    return ProcessSpec(name, (sys.executable, "-S", "-c", code))


def group(folder: Path, *specs: ProcessSpec, deadline_s: float = 5.0) -> ProcessGroup:
    return ProcessGroup(specs, folder, dict(os.environ), deadline_s)


def wait_until(true: Callable[[], bool], deadline_s: float = 10.0) -> None:
    until = time.monotonic() + deadline_s
    while not true():
        assert time.monotonic() < until, "deadline"
        time.sleep(0.005)


def ready(running: ProcessGroup, name: str) -> bool:
    return "ready" in running.log(name).read_text()


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_while_all_run_there_is_nothing_to_say(tmp_path: Path) -> None:
    with group(tmp_path, python("one", SLEEP), python("two", SLEEP)) as running:
        running.check()
        assert is_alive(running.pid("one"))


def test_a_crash_is_named_with_the_end_of_its_log(tmp_path: Path) -> None:
    code = "[print(f'line {n}') for n in range(40)]; raise ValueError('out of cheese')"
    with group(tmp_path, python("fine", SLEEP), python("cheese_node", code)) as running:
        wait_until(lambda: running.exit_code("cheese_node") is not None)
        with pytest.raises(ProcessesFailedError) as caught:
            running.check()
    message = str(caught.value)
    assert message.startswith("cheese_node ended (exit code 1)")
    assert message.endswith("ValueError: out of cheese")
    assert "line 39" in message
    assert "line 3\n" not in message


def test_a_kill_is_told_as_its_signal(tmp_path: Path) -> None:
    with group(tmp_path, python("victim", SLEEP)) as running:
        os.kill(running.pid("victim"), signal.SIGKILL)
        wait_until(lambda: running.exit_code("victim") is not None)
        with pytest.raises(ProcessesFailedError, match=r"signal SIGKILL.*\n.*empty"):
            running.check()


def test_they_may_finish_what_they_do(tmp_path: Path) -> None:
    with group(tmp_path, python("polite", POLITE)) as running:
        wait_until(lambda: ready(running, "polite"))
    assert "closed the file" in running.log("polite").read_text()


def test_the_stubborn_are_ended_in_time(tmp_path: Path) -> None:
    with group(tmp_path, python("stubborn", STUBBORN), python("polite", POLITE), deadline_s=0.2) as running:
        wait_until(lambda: ready(running, "stubborn") and ready(running, "polite"))
        pids = [running.pid("stubborn"), running.pid("polite")]
        began = time.monotonic()
    assert time.monotonic() - began < 2.0
    assert not any(map(is_alive, pids))


def test_a_frozen_process_is_ended_too(tmp_path: Path) -> None:
    with group(tmp_path, python("frozen", POLITE), deadline_s=0.2) as running:
        wait_until(lambda: ready(running, "frozen"))
        pid = running.pid("frozen")
        os.kill(pid, signal.SIGSTOP)
    assert not is_alive(pid)


def test_an_error_inside_ends_them_all(tmp_path: Path) -> None:
    pids: list[int] = []

    def fail() -> None:
        with group(tmp_path, python("one", SLEEP)) as running:
            pids.append(running.pid("one"))
            raise RuntimeError("inside")

    with pytest.raises(RuntimeError, match="inside"):
        fail()
    assert not is_alive(pids[0])


def test_a_second_ctrl_c_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    running = group(tmp_path, python("stubborn", STUBBORN), deadline_s=30.0).__enter__()
    wait_until(lambda: ready(running, "stubborn"))
    pid = running.pid("stubborn")

    def impatient() -> bool:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(running, "_all_ended", impatient)
        with pytest.raises(KeyboardInterrupt):
            running.stop()
    running.stop()
    assert not is_alive(pid)


def test_a_program_that_does_not_exist_ends_the_others(tmp_path: Path) -> None:
    specs = (python("one", SAY_READY + ";" + SLEEP), ProcessSpec("ghost", ("/no/such/program",)))
    broken = group(tmp_path, *specs)
    with pytest.raises(InputError, match="cannot start the graph"):
        broken.__enter__()
    assert broken._running == {}


def test_a_log_folder_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    (tmp_path / "log").write_text("")
    with pytest.raises(InputError, match="cannot start the graph"):
        group(tmp_path / "log", python("one", SLEEP)).__enter__()


def test_ending_twice_is_fine(tmp_path: Path) -> None:
    with group(tmp_path, python("one", SLEEP)) as running:
        running.stop()
