"""The queue between callbacks and disk: bounded, counted, never blocking for long."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from recording_samples import EVENT_TOPIC, EVENT_TYPE, read_with_mcap, samples, type_store

from embodied_iqa.base.clock import MONOTONIC, Clock
from embodied_iqa.base.errors import InputError, InternalError, UsageError
from embodied_iqa.base.files import Buffer
from embodied_iqa.data.recording.errors import RecordingWriteError
from embodied_iqa.data.recording.recording_queue import RecordingQueue
from embodied_iqa.data.recording.writer import TrialWriter
from manual_clock import PATIENCE_S, ManualClock

EVENT = samples(1)[1].cdr


class SlowWriter(TrialWriter):
    """A writer whose disk blocks until it is released, or fails."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, types=type_store())
        self.may_go_on = threading.Event()
        self.has_begun = threading.Event()
        self.fails = False

    def write(
        self,
        topic: str,
        cdr: Buffer,
        log_time_ns: int,
        publish_time_ns: int | None = None,
        sequence: int = 0,
    ) -> None:
        self.has_begun.set()
        assert self.may_go_on.wait(PATIENCE_S)
        if self.fails:
            raise RecordingWriteError(self.path, "cannot write the recording: No space left on device")
        super().write(topic, cdr, log_time_ns, publish_time_ns, sequence)


def slow_queue(path: Path, capacity: int, clock: Clock = MONOTONIC) -> tuple[SlowWriter, RecordingQueue]:
    writer = SlowWriter(path)
    writer.add_channel(EVENT_TOPIC, EVENT_TYPE)
    return writer, RecordingQueue(writer, capacity_bytes=capacity, clock=clock)


def test_writes_everything_in_order(tmp_path: Path) -> None:
    writer = TrialWriter(tmp_path / "trial.mcap", types=type_store())
    queue = RecordingQueue(writer)
    queue.add_channel(EVENT_TOPIC, EVENT_TYPE)
    queue.add_metadata("config", {"a": "b"})
    assert all(queue.put(EVENT_TOPIC, EVENT, index, sequence=index) for index in range(500))
    status = queue.close()
    assert (status.accepted, status.written, status.queued, status.total_lost) == (500, 500, 0, 0)
    assert queue.close() == status
    assert [m.sequence for m in read_with_mcap(tmp_path / "trial.mcap")] == list(range(500))


def test_full_queue_refuses_and_counts_by_topic(tmp_path: Path) -> None:
    writer, queue = slow_queue(tmp_path / "trial.mcap", capacity=3 * len(EVENT))
    taken = [queue.put(EVENT_TOPIC, EVENT, index, sequence=index) for index in range(10)]
    assert taken == [True] * 3 + [False] * 7
    assert queue.status.dropped == {EVENT_TOPIC: 7}
    assert queue.status.queued_bytes == 3 * len(EVENT)
    writer.may_go_on.set()
    status = queue.close()
    assert (status.written, status.total_lost) == (3, 7)
    assert [m.sequence for m in read_with_mcap(tmp_path / "trial.mcap")] == [0, 1, 2]


def test_waits_for_space_until_the_deadline(tmp_path: Path) -> None:
    clock = ManualClock()
    writer, queue = slow_queue(tmp_path / "trial.mcap", len(EVENT), clock=clock)
    assert queue.put(EVENT_TOPIC, EVENT, 0)
    assert writer.has_begun.wait(PATIENCE_S)
    with ThreadPoolExecutor(1) as pool:
        refused = pool.submit(queue.put, EVENT_TOPIC, EVENT, 1, deadline_s=0.02)
        clock.outlast(refused, 0.02)
        assert not refused.result()
        taken = pool.submit(queue.put, EVENT_TOPIC, EVENT, 2, deadline_s=0.02)
        clock.await_waiting()
        writer.may_go_on.set()
        assert taken.result(PATIENCE_S)
    assert queue.close().written == 2


def test_failing_disk_is_reported_and_does_not_end_the_recording(tmp_path: Path) -> None:
    writer, queue = slow_queue(tmp_path / "trial.mcap", capacity=len(EVENT))
    writer.fails = True
    writer.may_go_on.set()
    assert queue.put(EVENT_TOPIC, EVENT, 0)
    assert queue.put(EVENT_TOPIC, EVENT, 1, deadline_s=PATIENCE_S)
    assert "No space left" in queue.status.error
    assert not queue.put(EVENT_TOPIC, EVENT + bytes(1), 2), "larger than the queue"
    writer.fails = False
    assert queue.put(EVENT_TOPIC, EVENT, 7, deadline_s=PATIENCE_S)
    queue.close()
    assert read_with_mcap(tmp_path / "trial.mcap")[-1].log_time_ns == 7


def test_stuck_disk_ends_close_at_its_deadline(tmp_path: Path) -> None:
    clock = ManualClock()
    writer, queue = slow_queue(tmp_path / "trial.mcap", 1 << 20, clock=clock)
    queue.put(EVENT_TOPIC, EVENT, 0)
    assert writer.has_begun.wait(PATIENCE_S)
    with ThreadPoolExecutor(1) as pool:
        closing = pool.submit(queue.close, deadline_s=0.01)
        clock.outlast(closing, 0.01)
        with pytest.raises(RecordingWriteError, match="not written within"):
            closing.result()
    assert not queue.put(EVENT_TOPIC, EVENT, 1)
    writer.may_go_on.set()
    status = queue.close()
    assert (status.written, status.dropped) == (1, {EVENT_TOPIC: 1})


def test_close_waits_on_where_a_wait_ends_early(tmp_path: Path) -> None:
    class Restless(ManualClock):
        """Every wait for an event ends early at first, as the protocol allows."""

        def __init__(self) -> None:
            super().__init__()
            self.looks = 0

        def wait_event(self, event: threading.Event, seconds: float | None = None) -> bool:
            self.looks += 1
            if self.looks == 3:
                writer.may_go_on.set()
            return self.looks >= 3 and super().wait_event(event, seconds)

    clock = Restless()
    writer, queue = slow_queue(tmp_path / "trial.mcap", 1 << 20, clock=clock)
    queue.put(EVENT_TOPIC, EVENT, 0)
    assert queue.close(deadline_s=0.01).written == 1


def test_bug_in_the_writer_is_not_silent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    writer, queue = slow_queue(tmp_path / "trial.mcap", capacity=1 << 20)
    reported: list[object] = []
    monkeypatch.setattr(threading, "excepthook", reported.append)
    monkeypatch.setattr(writer, "step", lambda now_ns: 1 // 0)
    writer.may_go_on.set()
    queue.put(EVENT_TOPIC, EVENT, 0)
    queue._thread.join(PATIENCE_S)
    assert reported
    assert not queue.status.alive
    assert not queue.put(EVENT_TOPIC, EVENT, 1)
    writer.close()


def test_wrong_use(tmp_path: Path) -> None:
    with TrialWriter(tmp_path / "small.mcap", types=type_store()) as small:
        RecordingQueue(small, capacity_bytes=1).close()
    writer = TrialWriter(tmp_path / "trial.mcap", types=type_store())
    with pytest.raises(UsageError):
        RecordingQueue(writer, capacity_bytes=0)
    queue = RecordingQueue(writer)
    with pytest.raises(InternalError):
        queue.put("/unknown", b"", 0)
    with pytest.raises(InputError):
        queue.add_channel("/x", "no_such_msgs/msg/Thing")
    queue.close()
