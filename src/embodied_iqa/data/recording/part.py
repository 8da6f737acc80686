"""The files of a recording: one in MCAP, and several together."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from heapq import merge
from itertools import chain, pairwise
from pathlib import Path
from typing import Final

from mcap.reader import SeekingReader
from mcap.records import Attachment, Channel, Metadata, Schema

from embodied_iqa.base.files import is_pipe
from embodied_iqa.data.recording.compression import is_compressed_file, is_compressed_message, plain_message
from embodied_iqa.data.recording.errors import RecordingReadError
from embodied_iqa.data.recording.opening import checked_summary, is_sqlite, open_recording, reporting_damage
from embodied_iqa.data.recording.recorded import RecordedMessage, RecordingPart, TopicInfo, merged_topics
from embodied_iqa.data.recording.sqlite_part import SqlitePart

_CDR: Final = "cdr"


class McapPart:
    """An indexed MCAP file, read chunk by chunk while it is iterated.

    Args:
        path: The file; ``ros2 bag`` may have compressed it.

    Attributes:
        path: As given.
        is_compressed: Whether ``ros2 bag`` compressed the file.
        topics: By name, those that are serialised as CDR.
        foreign: Encoding of each other topic.
        start_ns: First log time; 0 without messages.
        end_ns: Last log time; likewise.

    Raises:
        RecordingReadError: The file is missing, empty, cut short, not MCAP, of another profile, or damaged.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file = open_recording(path)
        try:
            self.is_compressed = is_compressed_file(path)
            self._reader = SeekingReader(self._file, validate_crcs=True)
            self._summary = checked_summary(path, self._file, self._reader)
            self.foreign = self._foreign()
            self.topics = self._topics()
        except BaseException:
            self._file.close()
            raise
        chunks = self._summary.chunk_indexes
        self.start_ns = min((index.message_start_time for index in chunks), default=0)
        self.end_ns = max((index.message_end_time for index in chunks), default=0)

    @property
    def has_messages(self) -> bool:
        """Whether it has any."""
        return bool(self._summary.chunk_indexes)

    def messages(
        self, topics: Collection[str] | None, start_ns: int | None, end_ns: int | None
    ) -> Iterator[RecordedMessage]:
        """Iterate over messages in the order of their log times, see `TrialReader.messages`."""
        wanted = None if topics is None else [topic for topic in topics if topic in self.topics]
        if wanted is not None and topics and not wanted:
            return
        found = self._reader.iter_messages(wanted, starting_at=start_ns, ending_before=end_ns)
        with reporting_damage(self.path):
            for schema, channel, message in found:
                if channel.message_encoding != _CDR:
                    continue
                yield RecordedMessage(
                    topic=channel.topic,
                    type_name=schema.name if schema is not None else "",
                    log_time_ns=message.log_time,
                    publish_time_ns=message.publish_time,
                    sequence=message.sequence,
                    cdr=plain_message(message.data),
                )

    def has_compressed_messages(self) -> bool:
        """Return whether ``ros2 bag`` compressed the messages one by one; the first one decides."""
        with reporting_damage(self.path):
            first = next(iter(self._reader.iter_messages()), None)
        return first is not None and is_compressed_message(first[2].data)

    def metadata(self) -> Iterator[Metadata]:
        """Iterate over the metadata records."""
        with reporting_damage(self.path):
            yield from self._reader.iter_metadata()

    def attachments(self) -> Iterator[Attachment]:
        """Iterate over the attached files."""
        with reporting_damage(self.path):
            yield from self._reader.iter_attachments()

    def close(self) -> None:
        """Close the file; may be called twice."""
        self._file.close()

    def _topics(self) -> dict[str, TopicInfo]:
        statistics = self._summary.statistics
        counts = statistics.channel_message_counts if statistics is not None else {}
        return merged_topics(
            self._topic_info(channel, counts.get(channel.id, 0))
            for channel in self._summary.channels.values()
            if channel.message_encoding == _CDR
        )

    def _foreign(self) -> dict[str, str]:
        channels = self._summary.channels.values()
        return {one.topic: one.message_encoding for one in channels if one.message_encoding != _CDR}

    def _topic_info(self, channel: Channel, messages: int) -> TopicInfo:
        schema = self._summary.schemas.get(channel.schema_id) or Schema(0, b"", "", "")
        qos = channel.metadata.get("offered_qos_profiles", "")
        return TopicInfo(channel.topic, schema.name, messages, qos, schema.data.decode("utf-8", "replace"))


def open_parts(files: Iterable[Path]) -> tuple[RecordingPart, ...]:
    """Open the files of a recording, in the order of their first messages.

    Raises:
        RecordingReadError: As for `McapPart` and `SqlitePart`, of the first file that cannot be read.
    """
    parts: list[RecordingPart] = []
    try:
        parts.extend(map(_part, files))
    except BaseException:
        close_parts(parts)
        raise
    return tuple(sorted(parts, key=lambda part: part.start_ns))


def _part(path: Path) -> RecordingPart:
    if is_pipe(path):
        raise RecordingReadError(path, "is no file, but a pipe or a device")
    return SqlitePart(path) if is_sqlite(path) else McapPart(path)


def close_parts(parts: Iterable[RecordingPart]) -> None:
    """Close all of them."""
    for part in parts:
        part.close()


def in_order(
    parts: Sequence[RecordingPart], streams: Iterable[Iterator[RecordedMessage]]
) -> Iterator[RecordedMessage]:
    """Return the messages of all parts in the order of their log times.

    Parts that follow each other, as ``ros2 bag`` splits them, are opened one after the other; only where they
    overlap are all read at once.
    """
    filled = [part for part in parts if part.has_messages]
    if all(before.end_ns <= after.start_ns for before, after in pairwise(filled)):
        return chain.from_iterable(streams)
    return merge(*streams, key=lambda message: message.log_time_ns)
