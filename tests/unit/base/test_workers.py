"""Workers end with their parent and at once where it fails, and each has one thread."""

import os
import select
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from embodied_iqa.base.workers import Workers
from live_process import COMPLETION_S, running_program

PARENT = """
import os, signal
from embodied_iqa.base.workers import Workers
with Workers(1) as pool:
    print(pool.submit(os.getpid).result(), flush=True)
    pool.submit(signal.pause)
    signal.pause()
"""


def ends(process_fd: int, within_s: float) -> bool:
    return bool(select.select([process_fd], [], [], within_s)[0])


@pytest.mark.parametrize("cause", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_a_worker_ends_with_its_parent_whatever_it_does(cause: signal.Signals, tmp_path: Path) -> None:
    command = [sys.executable, "-c", PARENT]
    with running_program(command, tmp_path, stdout=subprocess.PIPE, text=True) as parent:
        worker = os.pidfd_open(int(parent.process.stdout.readline()))
        try:
            assert not ends(worker, within_s=0.0)
            parent.process.send_signal(cause)
            assert ends(worker, COMPLETION_S)
        finally:
            os.close(worker)
        parent.wait(COMPLETION_S)


def test_an_error_ends_the_workers_at_once_and_is_passed_on() -> None:
    pool = Workers(1)
    worker = pool.submit(os.getpid).result()
    pool.submit(signal.pause)
    with pytest.raises(KeyboardInterrupt), pool:
        raise KeyboardInterrupt
    with pytest.raises(ProcessLookupError):
        os.kill(worker, 0)


def test_ctrl_c_in_the_terminal_is_left_to_the_parent() -> None:
    with Workers(1) as pool:
        os.kill(pool.submit(os.getpid).result(), signal.SIGINT)
        assert pool.submit(abs, -3).result() == 3


def test_jobs_under_way_are_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    os.mkfifo(tmp_path / "fifo")
    with Workers(1) as pool:
        job = pool.submit(Path.read_text, tmp_path / "fifo")
        writer = (tmp_path / "fifo").open("w")  # returns when the worker reads
        manager = pool._pool._executor_manager_thread
        join = manager.join
        monkeypatch.setattr(manager, "join", lambda: (writer.close(), join()))
    assert job.done()
    assert not job.cancelled()


def test_all_workers_start_with_the_first_job() -> None:
    """One that starts while the pool ends, as another worker has died, would never be told to end."""
    with Workers(3) as pool:
        assert pool.submit(abs, -3).result() == 3
        started = set(pool._pool._processes)
        for number in range(6):
            assert pool.submit(abs, -number).result() == number
        assert len(started) == 3
        assert set(pool._pool._processes) == started


def test_each_worker_has_one_thread() -> None:
    with Workers(1) as pool:
        job = pool.submit(subprocess.getoutput, "echo $LP_NUM_THREADS $OPJ_NUM_THREADS")
        assert job.result() == "1 1"
