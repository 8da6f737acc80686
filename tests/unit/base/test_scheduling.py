"""Scheduling of threads, kept from libraries that change it."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import av
import pytest

from embodied_iqa.base.scheduling import kept_scheduling


def policies() -> set[int]:
    return {os.sched_getscheduler(int(entry.name)) for entry in Path("/proc/self/task").iterdir()}


def may_be_real_time() -> bool:
    """True for root, and where the limits allow it."""
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
    except PermissionError:
        return False
    os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
    return True


def test_an_encoder_that_asks_for_real_time_leaves_every_thread_as_it_was(tmp_path: Path) -> None:
    before = policies()
    with av.open(str(tmp_path / "video.mp4"), "w") as container:
        stream = container.add_stream("libsvtav1", 10)
        stream.width, stream.height, stream.pix_fmt = 64, 48, "yuv420p"
        with kept_scheduling():
            stream.codec_context.open()
        assert policies() == before


def test_what_a_block_does_to_its_thread_and_to_new_threads_is_undone_and_no_other_thread_is_touched() -> (
    None
):
    if not may_be_real_time():
        pytest.skip("runs as a user without real-time priority")
    own = os.sched_param(3)
    ready, done = threading.Barrier(2), threading.Event()
    seen: dict[str, int] = {}

    def run(name: str) -> None:
        os.sched_setscheduler(0, os.SCHED_FIFO, own)  # as a driver may ask for
        ready.wait()
        done.wait()
        seen[name] = os.sched_getscheduler(0)

    threads = [threading.Thread(target=run, args=(name,)) for name in ("earlier", "later")]
    threads[0].start()
    ready.wait()
    with kept_scheduling():
        os.sched_setscheduler(0, os.SCHED_FIFO, own)
        threads[1].start()
        ready.wait()
    assert os.sched_getscheduler(0) == os.SCHED_OTHER
    done.set()
    for thread in threads:
        thread.join()
    assert seen == {"earlier": os.SCHED_FIFO, "later": os.SCHED_OTHER}
