"""Bounded queue between ROS callbacks and the disk, and the thread that empties it."""

from __future__ import annotations

import threading
from collections import Counter, deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from embodied_iqa.base.clock import MONOTONIC, Clock
from embodied_iqa.base.errors import InternalError, UsageError
from embodied_iqa.base.files import Buffer
from embodied_iqa.data.recording.errors import RecordingWriteError
from embodied_iqa.data.recording.writer import TrialWriter

_POLL_S: Final = 0.25  # the thread checks at least this often whether a flush is due


@dataclass(frozen=True, slots=True)
class QueueStatus:
    """State of a recording.

    Attributes:
        accepted: Messages accepted by the queue.
        written: Messages in the file.
        queued: Messages in the queue.
        queued_bytes: Their size.
        pending: Messages that the writer gathers for its next chunk.
        dropped: Messages refused because the queue was full or closed, by topic.
        lost: Messages that were accepted and could not be written.
        error: The last write error; empty for none.
        alive: Whether the thread is running.
    """

    accepted: int
    written: int
    queued: int
    queued_bytes: int
    pending: int
    dropped: Mapping[str, int]
    lost: int
    error: str
    alive: bool

    @property
    def total_lost(self) -> int:
        """Messages that are not in the recording."""
        return self.lost + sum(self.dropped.values())


@dataclass(frozen=True, slots=True)
class _Entry:
    topic: str
    make: Callable[[], Buffer]
    size_bytes: int
    log_time_ns: int
    publish_time_ns: int
    sequence: int


class RecordingQueue:
    """Queue that accepts messages without blocking and writes them in a thread of its own.

    It is bounded by bytes: when the disk is too slow, messages are refused and counted. A write error does
    not stop the thread; `status` reports what was lost and why.

    Args:
        writer: Writer of the messages; afterwards only this queue may use it.
        capacity_bytes: Size of the queue.
        clock: Of deadlines and of the writer's flush period.
    """

    def __init__(
        self,
        writer: TrialWriter,
        *,
        capacity_bytes: int = 256 * 1024 * 1024,
        clock: Clock = MONOTONIC,
    ) -> None:
        if capacity_bytes < 1:
            raise UsageError("wrong queue capacity", expected="at least 1 byte", got=capacity_bytes)
        self._writer = writer
        self._writer_lock = threading.Lock()
        self._capacity_bytes = capacity_bytes
        self._clock = clock
        self._entries: deque[_Entry] = deque()
        self._queued_bytes = 0
        self._accepted = 0
        self._topics = set(writer.topics)
        self._writer_status = writer.status
        self._dropped: Counter[str] = Counter()
        self._error = ""
        self._closing = False
        self._changed = threading.Condition()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._work, name="recording", daemon=True)
        self._thread.start()

    def add_channel(self, topic: str, type_name: str, qos_text: str = "") -> None:
        """Add a topic (see `TrialWriter.add_channel`).

        Raises:
            InputError: The type has no definition.
            RecordingWriteError: The topic has another type already, or the file cannot be written.
        """
        with self._writer_lock:
            self._writer.add_channel(topic, type_name, qos_text)
            self._topics.add(topic)

    def add_metadata(self, name: str, values: Mapping[str, str]) -> None:
        """Add named key-value pairs.

        Raises:
            RecordingWriteError: The file cannot be written.
        """
        with self._writer_lock:
            self._writer.add_metadata(name, values)

    def put(
        self,
        topic: str,
        cdr: Buffer,
        log_time_ns: int,
        publish_time_ns: int | None = None,
        *,
        sequence: int = 0,
        deadline_s: float = 0.0,
    ) -> bool:
        """Queue a message for a topic that has a channel.

        Args:
            topic: The topic.
            cdr: The serialised message; not to be changed afterwards.
            log_time_ns: When it was received.
            publish_time_ns: When it was published; None for the log time.
            sequence: The publisher's counter; 0 for none.
            deadline_s: Longest wait for space.

        Returns:
            Whether it was accepted; otherwise it counts as dropped.
        """
        publish_ns = log_time_ns if publish_time_ns is None else publish_time_ns
        entry = _Entry(topic, lambda: cdr, len(cdr), log_time_ns, publish_ns, sequence)
        return self._accept(entry, deadline_s)

    def put_later(self, topic: str, make: Callable[[], Buffer], size_bytes: int, log_time_ns: int) -> bool:
        """Queue a message that the thread of the queue serialises; see `put`, it never waits.

        Args:
            topic: The topic.
            make: Returns the serialised message.
            size_bytes: About its size; what it is made of is not to be changed afterwards.
            log_time_ns: When it was received and published.
        """
        return self._accept(_Entry(topic, make, size_bytes, log_time_ns, log_time_ns, 0), 0.0)

    def _accept(self, entry: _Entry, deadline_s: float) -> bool:
        if entry.topic not in self._topics:
            raise InternalError(f"no channel for topic {entry.topic!r}")
        size = entry.size_bytes
        with self._changed:
            if deadline_s > 0.0:
                self._wait_for(lambda: self._has_space(size) or self._is_over(), deadline_s)
            accepted = self._has_space(size) and not self._is_over()
            if accepted:
                self._append(entry)
            else:
                self._dropped[entry.topic] += 1
            return accepted

    @property
    def error(self) -> str:
        """The last write error; empty for none. Does not wait for the thread."""
        return self._error

    @property
    def status(self) -> QueueStatus:
        """State of the recording."""
        with self._changed:
            return QueueStatus(
                accepted=self._accepted,
                written=self._writer_status.messages,
                queued=len(self._entries),
                queued_bytes=self._queued_bytes,
                pending=self._writer_status.pending,
                dropped=dict(self._dropped),
                lost=self._writer_status.lost,
                error=self._error,
                alive=self._thread.is_alive(),
            )

    def close(self, deadline_s: float = 10.0) -> QueueStatus:
        """Refuse further messages, write the queued ones, finish the file; may be called twice.

        Args:
            deadline_s: Longest wait for the disk.

        Returns:
            The last status.

        Raises:
            RecordingWriteError: The file could not be finished in time; it can be recovered.
        """
        with self._changed:
            self._closing = True
            self._changed.notify_all()
        until_s = self._clock.now_s() + deadline_s
        while not self._clock.wait_event(self._ended, until_s - self._clock.now_s()):
            if self._clock.now_s() >= until_s:
                raise RecordingWriteError(
                    self._writer.path, f"not written within {deadline_s} s; the file has no index yet"
                )
        try:
            with self._writer_lock:
                self._writer.close()
        finally:
            self._writer_status = self._writer.status
        return self.status

    def _append(self, entry: _Entry) -> None:
        self._entries.append(entry)
        self._queued_bytes += entry.size_bytes
        self._accepted += 1
        self._changed.notify_all()

    def _has_space(self, size: int) -> bool:
        return self._queued_bytes + size <= self._capacity_bytes

    def _is_over(self) -> bool:
        return self._closing or self._ended.is_set()

    def _wait_for(self, wanted: Callable[[], bool], seconds: float) -> None:
        """Wait, with the lock held, until something is true, at most so long."""
        until_s = self._clock.now_s() + seconds
        while not wanted() and (left_s := until_s - self._clock.now_s()) > 0.0:
            self._clock.wait(self._changed, left_s)

    def _work(self) -> None:
        try:
            self._empty()
        finally:
            self._ended.set()
            with self._changed:
                self._changed.notify_all()

    def _empty(self) -> None:
        """Write what comes until the queue is closed and empty."""
        while True:
            with self._changed:
                self._wait_for(lambda: bool(self._entries) or self._closing, _POLL_S)
                entry = self._entries[0] if self._entries else None
                if entry is None and self._closing:
                    return
            self._write(entry)
            if entry is not None:
                self._remove(entry)

    def _write(self, entry: _Entry | None) -> None:
        """Write a message, if any, and flush if due."""
        try:
            with self._writer_lock:
                if entry is not None:
                    self._writer.write(
                        entry.topic, entry.make(), entry.log_time_ns, entry.publish_time_ns, entry.sequence
                    )
                self._writer.step(self._clock.now_ns())
        except RecordingWriteError as error:
            with self._changed:
                self._error = str(error)
        self._writer_status = self._writer.status

    def _remove(self, entry: _Entry) -> None:
        with self._changed:
            self._entries.popleft()
            self._queued_bytes -= entry.size_bytes
            self._changed.notify_all()
