"""Processes of the graph: crashes are named, and nothing is left behind."""

from __future__ import annotations

import os
import select
import signal
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from embodied_iqa.base.errors import InputError
from embodied_iqa.runs.graph.processes import ProcessesFailedError, ProcessGroup, ProcessSpec
from manual_clock import PATIENCE_S, ManualClock

DEADLINE_S = 5.0
LOOK_S = 0.02

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


def group(folder: Path, *specs: ProcessSpec) -> ProcessGroup:
    return ProcessGroup(specs, folder, dict(os.environ), PATIENCE_S)


def impatient(folder: Path, *specs: ProcessSpec) -> tuple[ManualClock, ProcessGroup]:
    """A group whose deadlines pass as soon as it waits."""
    clock = ManualClock(pauses_pass=True)
    return clock, ProcessGroup(specs, folder, dict(os.environ), DEADLINE_S, clock=clock)


def wait_until_ready(running: ProcessGroup, *names: str) -> None:
    for name in names:
        with pid_handle(running.pid(name)) as handle:
            looks = round(PATIENCE_S / LOOK_S)
            while "ready" not in running.log(name).read_text():
                assert not select.select([handle], [], [], LOOK_S)[0], f"{name} has ended"
                looks -= 1
                assert looks > 0, f"{name} is not ready"


def wait_until_ended(running: ProcessGroup, name: str) -> None:
    with pid_handle(running.pid(name)) as handle:
        assert select.select([handle], [], [], PATIENCE_S)[0], f"{name} runs"


@contextmanager
def pid_handle(pid: int) -> Iterator[int]:
    handle = os.pidfd_open(pid)
    try:
        yield handle
    finally:
        os.close(handle)


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
        wait_until_ended(running, "cheese_node")
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
        wait_until_ended(running, "victim")
        with pytest.raises(ProcessesFailedError, match=r"signal SIGKILL.*\n.*empty"):
            running.check()


def test_they_may_finish_what_they_do(tmp_path: Path) -> None:
    with group(tmp_path, python("polite", POLITE)) as running:
        wait_until_ready(running, "polite")
    assert "closed the file" in running.log("polite").read_text()


def test_the_stubborn_are_ended_in_time(tmp_path: Path) -> None:
    clock, stubborn = impatient(tmp_path, python("stubborn", STUBBORN), python("polite", POLITE))
    with ExitStack() as handles:
        with stubborn as running:
            wait_until_ready(running, "stubborn", "polite")
            ends = [handles.enter_context(pid_handle(running.pid(name))) for name in ("stubborn", "polite")]
            began_s = clock.now_s()
        assert clock.now_s() - began_s < 3 * DEADLINE_S + 1.0
        assert all(select.select([handle], [], [], PATIENCE_S)[0] for handle in ends)
    stubborn.stop()
    assert stubborn._running == {}, "what ended later is waited for"


def test_a_frozen_process_is_ended_too(tmp_path: Path) -> None:
    _, frozen = impatient(tmp_path, python("frozen", POLITE))
    with ExitStack() as handles:
        with frozen as running:
            wait_until_ready(running, "frozen")
            handle = handles.enter_context(pid_handle(running.pid("frozen")))
            os.kill(running.pid("frozen"), signal.SIGSTOP)
        assert select.select([handle], [], [], PATIENCE_S)[0]
    frozen.stop()


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
    running = group(tmp_path, python("stubborn", STUBBORN)).__enter__()
    wait_until_ready(running, "stubborn")
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
