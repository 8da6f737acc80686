"""Writer of recordings: serialised messages to an MCAP file with profile ``ros2``."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self

from mcap.records import Attachment, Channel, Schema

from embodied_iqa import __version__
from embodied_iqa.base.errors import InputError, InternalError, UsageError
from embodied_iqa.base.files import Buffer
from embodied_iqa.base.units import SECOND_NS
from embodied_iqa.base.user_files.yaml_files import dump_yaml
from embodied_iqa.data.recording.compression import DEFAULT_ZSTD_LEVEL, Compression
from embodied_iqa.data.recording.errors import RecordingWriteError
from embodied_iqa.data.recording.framing import message_prefix
from embodied_iqa.data.recording.mcap_output import McapOutput
from embodied_iqa.data.recording.mcap_summary import ChunkContent
from embodied_iqa.data.recording.messages import TypeStore

LIBRARY: Final = f"embodied-iqa {__version__}"
_INFINITE: Final = {"sec": 9223372036, "nsec": 854775807}
"""The longest duration, in a QoS profile."""


@dataclass(frozen=True, slots=True)
class WriterOptions:
    """Options of a writer.

    Attributes:
        compression: Of chunks.
        zstd_level: Level of zstd, -50 (fast) to 22 (small).
        chunk_bytes: Messages are gathered up to this size; a larger message is a chunk of its own.
        flush_period_ns: Gathered messages are written at least this often: the most that a kill loses.
    """

    compression: Compression = Compression.ZSTD
    zstd_level: int = DEFAULT_ZSTD_LEVEL
    chunk_bytes: int = 64 * 1024
    flush_period_ns: int = SECOND_NS

    def __post_init__(self) -> None:
        if self.chunk_bytes < 1:
            raise UsageError("wrong chunk size", expected="at least 1 byte", got=self.chunk_bytes)
        if self.flush_period_ns < 1:
            raise UsageError("wrong flush period", expected="at least 1 ns", got=self.flush_period_ns)


@dataclass(frozen=True, slots=True)
class WriterStatus:
    """Messages of a writer.

    Attributes:
        messages: Messages in the file.
        pending: Messages gathered for the next chunk.
        lost: Messages that could not be written (disk full).
    """

    messages: int
    pending: int
    lost: int


class TrialWriter:
    """An MCAP file with profile ``ros2`` that survives a kill. Not thread-safe (see `RecordingQueue`).

    Foxglove and ``ros2 bag`` open the file. It has no index until `close`; `recover` adds a missing one.

    Args:
        path: The file; it must not exist.
        types: Where message definitions come from; None for the installed ones.
        options: Compression, chunks, flushes.

    Raises:
        RecordingWriteError: The file exists or cannot be created.
    """

    def __init__(
        self, path: Path, *, types: TypeStore | None = None, options: WriterOptions | None = None
    ) -> None:
        self.path = path
        self._types = types or TypeStore()
        self._options = options or WriterOptions()
        self._output = McapOutput(path, LIBRARY)
        self._schema_ids: dict[str, int] = {}
        self._channels: dict[str, Channel] = {}
        self._pending = bytearray()
        self._index: dict[int, list[tuple[int, int]]] = {}
        self._last_flush_ns: int | None = None
        self._lost = 0

    @property
    def status(self) -> WriterStatus:
        """Messages so far."""
        pending = sum(len(entries) for entries in self._index.values())
        return WriterStatus(self._output.messages, pending, self._lost)

    @property
    def topics(self) -> tuple[str, ...]:
        """Topics that have a channel."""
        return tuple(self._channels)

    def add_channel(self, topic: str, type_name: str, qos_text: str = "") -> None:
        """Add a topic; adding it again with the same type has no effect.

        Args:
            topic: Such as ``/camera/wrist/image_raw``.
            type_name: Such as ``sensor_msgs/msg/Image``.
            qos_text: YAML list of the publishers' QoS profiles, as ``ros2 bag`` writes it (see `qos_text`).

        Raises:
            InputError: The type has no definition.
            RecordingWriteError: The topic has another type already, or the file cannot be written.
        """
        known = self._channels.get(topic)
        if known is not None:
            self._check_type(known, type_name)
            return
        if type_name not in self._schema_ids:
            self._add_schema(type_name)
        metadata = {"offered_qos_profiles": qos_text}
        with suppress(InputError):  # the hash is optional
            metadata["topic_type_hash"] = self._types.type_hash(type_name)
        channel = Channel(
            id=len(self._channels) + 1,
            topic=topic,
            message_encoding="cdr",
            metadata=metadata,
            schema_id=self._schema_ids[type_name],
        )
        self._output.add_channel(channel)
        self._channels[topic] = channel

    def write(
        self,
        topic: str,
        cdr: Buffer,
        log_time_ns: int,
        publish_time_ns: int | None = None,
        sequence: int = 0,
    ) -> None:
        """Add a message.

        Args:
            topic: A topic that has a channel.
            cdr: The serialised message.
            log_time_ns: When it was received.
            publish_time_ns: When it was published; None for the log time.
            sequence: The publisher's counter; 0 for none.

        Raises:
            RecordingWriteError: Messages could not be written: they count as lost, the file stays whole.
        """
        channel = self._channels.get(topic)
        if channel is None:
            raise InternalError(f"no channel for topic {topic!r}")
        publish_ns = log_time_ns if publish_time_ns is None else publish_time_ns
        prefix = message_prefix(channel.id, sequence, log_time_ns, publish_ns, len(cdr))
        if len(prefix) + len(cdr) >= self._options.chunk_bytes:
            self._write_large(channel.id, log_time_ns, prefix, cdr)
            return
        self._index.setdefault(channel.id, []).append((log_time_ns, len(self._pending)))
        self._pending += prefix
        self._pending += cdr
        if len(self._pending) >= self._options.chunk_bytes:
            self._write_pending()

    def step(self, now_ns: int) -> bool:
        """Flush if the flush period has passed.

        Args:
            now_ns: Current time of a monotonic clock.

        Returns:
            Whether it was flushed.

        Raises:
            RecordingWriteError: As for `write`.
        """
        if self._last_flush_ns is None:
            self._last_flush_ns = now_ns
        if now_ns - self._last_flush_ns < self._options.flush_period_ns:
            return False
        self._last_flush_ns = now_ns
        self.flush()
        return True

    def flush(self) -> None:
        """Write everything gathered so far.

        Raises:
            RecordingWriteError: As for `write`.
        """
        self._write_pending()

    def add_metadata(self, name: str, values: Mapping[str, str]) -> None:
        """Add named key-value pairs, such as configuration or versions.

        Raises:
            RecordingWriteError: The file cannot be written.
        """
        self._output.add_metadata(name, values)

    def add_attachment(self, name: str, media_type: str, data: bytes, time_ns: int) -> None:
        """Add a file, such as ``config.yaml``.

        Raises:
            RecordingWriteError: The file cannot be written.
        """
        self._output.add_attachment(
            Attachment(create_time=time_ns, log_time=time_ns, name=name, media_type=media_type, data=data)
        )

    def close(self) -> None:
        """Write pending messages and the index; may be called twice.

        Raises:
            RecordingWriteError: The disk is full: the file is closed, and `recover` can repair it.
        """
        if not self._output.is_open:
            return
        try:
            self._write_pending()
        finally:
            self._output.finish()

    def rest(self) -> None:
        """Write pending messages, and close the file until the next one.

        Raises:
            RecordingWriteError: As for `write`.
        """
        self._write_pending()
        self._output.rest()

    def discard(self) -> None:
        """Close and remove the file: nothing was recorded."""
        self._output.abandon()
        self.path.unlink(missing_ok=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _check_type(self, channel: Channel, type_name: str) -> None:
        known = next(name for name, key in self._schema_ids.items() if key == channel.schema_id)
        if known != type_name:
            raise RecordingWriteError(
                self.path, f"topic {channel.topic} has two types", expected=known, got=type_name
            )

    def _add_schema(self, type_name: str) -> None:
        text = self._types.definitions.full_text(type_name)
        schema = Schema(id=len(self._schema_ids) + 1, data=text.encode(), encoding="ros2msg", name=type_name)
        self._output.add_schema(schema)
        self._schema_ids[type_name] = schema.id

    def _write_large(self, channel_id: int, log_time_ns: int, prefix: bytes, cdr: Buffer) -> None:
        """Write a chunk with one message: it is not copied, and readers of small messages skip it."""
        try:
            self._write_pending()
        finally:
            self._write_chunk([prefix, cdr], {channel_id: [(log_time_ns, 0)]})

    def _write_pending(self) -> None:
        if not self._index:
            return
        pending, index = self._pending, self._index
        self._pending, self._index = bytearray(), {}
        self._write_chunk([pending], index)

    def _write_chunk(self, parts: list[Buffer], index: dict[int, list[tuple[int, int]]]) -> None:
        content = ChunkContent.pack(parts, index, self._options.compression, self._options.zstd_level)
        try:
            self._output.add_chunk(content)
        except RecordingWriteError:
            self._lost += sum(len(entries) for entries in index.values())
            raise


def qos_text(*, reliable: bool = True, transient_local: bool = False, depth: int = 10) -> str:
    """Return one keep-last profile as rosbag2 writes it since Jazzy (metadata version 9).

    ``ros2 bag play`` publishes a topic with its recorded profile.

    Args:
        reliable: Reliable, otherwise best effort.
        transient_local: Late subscribers get the last messages, otherwise volatile.
        depth: Messages kept.

    Raises:
        UsageError: The depth is below 1.
    """
    if depth < 1:
        raise UsageError("wrong history depth", expected="at least 1", got=depth)
    profile = {
        "history": "keep_last",
        "depth": depth,
        "reliability": "reliable" if reliable else "best_effort",
        "durability": "transient_local" if transient_local else "volatile",
        "deadline": _INFINITE,
        "lifespan": _INFINITE,
        "liveliness": "automatic",
        "liveliness_lease_duration": _INFINITE,
        "avoid_ros_namespace_conventions": False,
    }
    return dump_yaml([profile])
