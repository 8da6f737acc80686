"""Reader of recordings: MCAP files with profile ``ros2``, of this package or of ``ros2 bag``."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

from mcap.reader import SeekingReader
from mcap.records import Attachment, Channel, Schema

from embodied_iqa.base.errors import InputError
from embodied_iqa.data.recording.decoding import RecordedTypes
from embodied_iqa.data.recording.errors import RecordingReadError
from embodied_iqa.data.recording.opening import (
    checked_summary,
    open_recording,
    recording_file,
    reporting_damage,
)
from embodied_iqa.data.recording.recorded import RecordedImage, RecordedMessage, TopicInfo
from embodied_iqa.imaging.images.image_cdr import IMAGE_TYPE, image_from_cdr


class TrialReader:
    """An indexed MCAP file, read chunk by chunk while it is iterated.

    Args:
        path: The file, or a folder of ``ros2 bag`` with one.

    Raises:
        RecordingReadError: The file is missing, empty, cut short, not MCAP, of another profile, or damaged.
    """

    def __init__(self, path: Path) -> None:
        self.path = recording_file(path)
        self._file = open_recording(self.path)
        try:
            self._reader = SeekingReader(self._file, validate_crcs=True)
            self._summary = checked_summary(self.path, self._file, self._reader)
            self.topics = self._topics()
        except BaseException:
            self._file.close()
            raise
        self._types = RecordedTypes(self.path)

    @property
    def start_ns(self) -> int:
        """Log time of the first message; 0 without messages."""
        return min((index.message_start_time for index in self._summary.chunk_indexes), default=0)

    @property
    def end_ns(self) -> int:
        """Log time of the last message; 0 without messages."""
        return max((index.message_end_time for index in self._summary.chunk_indexes), default=0)

    def image_topics(self) -> list[str]:
        """Return the topics with raw images, sorted.

        Raises:
            RecordingReadError: There are none.
        """
        found = sorted(info.topic for info in self.topics.values() if info.type_name == IMAGE_TYPE)
        if not found:
            raise RecordingReadError(self.path, "holds no images", available=sorted(self.topics))
        return found

    def messages(
        self,
        topics: Collection[str] | None = None,
        start_ns: int | None = None,
        end_ns: int | None = None,
    ) -> Iterator[RecordedMessage]:
        """Iterate over messages in the order of their log times.

        Args:
            topics: Only these; None for all.
            start_ns: First log time; None for the first.
            end_ns: First log time that is left out; None for none.

        Raises:
            RecordingReadError: A topic is not in the recording, or the file is damaged.
        """
        unknown = [topic for topic in topics or () if topic not in self.topics]
        if unknown:
            available = sorted(self.topics)
            raise RecordingReadError(self.path, "no such topic", got=unknown[0], available=available)
        if start_ns is not None and end_ns is not None and start_ns >= end_ns:
            return
        found = self._reader.iter_messages(topics, starting_at=start_ns, ending_before=end_ns)
        with reporting_damage(self.path):
            for schema, channel, message in found:
                yield RecordedMessage(
                    topic=channel.topic,
                    type_name=schema.name if schema is not None else "",
                    log_time_ns=message.log_time,
                    publish_time_ns=message.publish_time,
                    sequence=message.sequence,
                    cdr=message.data,
                )

    def decode(self, message: RecordedMessage) -> Any:
        """Return a message's fields as attributes, by the definition in the file (see `TypeStore`).

        Raises:
            RecordingReadError: The definition or the bytes are damaged.
        """
        return self._types.decode(message, self.topics[message.topic].definition)

    def images(
        self,
        topics: Collection[str] | None = None,
        start_ns: int | None = None,
        end_ns: int | None = None,
    ) -> Iterator[RecordedImage]:
        """Iterate over raw images in the order of their log times, without copying ``rgb8`` pixels.

        Args:
            topics: Only these; None for all image topics.
            start_ns: First log time; None for the first.
            end_ns: First log time that is left out; None for none.

        Raises:
            RecordingReadError: A topic holds no images, or an image is damaged.
        """
        available = self.image_topics()
        wanted = available if topics is None else topics
        unknown = [topic for topic in wanted if topic not in available]
        if unknown:
            raise RecordingReadError(self.path, "no such image topic", got=unknown[0], available=available)
        for message in self.messages(wanted, start_ns, end_ns):
            try:
                image = image_from_cdr(message.cdr)
            except InputError as error:
                raise RecordingReadError(self.path, f"topic {message.topic}: {error}") from error
            yield RecordedImage(message.topic, message.log_time_ns, image)

    def metadata(self) -> dict[str, dict[str, str]]:
        """Return the metadata records by name; of several with one name, the last values apply.

        Raises:
            RecordingReadError: The file is damaged.
        """
        merged: dict[str, dict[str, str]] = {}
        with reporting_damage(self.path):
            for record in self._reader.iter_metadata():
                merged.setdefault(record.name, {}).update(record.metadata)
        return merged

    def attachments(self) -> Iterator[Attachment]:
        """Iterate over the attached files.

        Raises:
            RecordingReadError: The file is damaged.
        """
        with reporting_damage(self.path):
            yield from self._reader.iter_attachments()

    def close(self) -> None:
        """Close the file; may be called twice."""
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _topics(self) -> dict[str, TopicInfo]:
        statistics = self._summary.statistics
        counts = statistics.channel_message_counts if statistics is not None else {}
        found: dict[str, TopicInfo] = {}
        for channel in self._summary.channels.values():
            info = self._topic_info(channel, counts.get(channel.id, 0))
            known = found.get(channel.topic)
            found[channel.topic] = replace(info, messages=info.messages + (known.messages if known else 0))
        return found

    def _topic_info(self, channel: Channel, messages: int) -> TopicInfo:
        schema = self._summary.schemas.get(channel.schema_id) or Schema(0, b"", "", "")
        encoding = channel.message_encoding
        if encoding != "cdr":
            message = f"topic {channel.topic} has another encoding"
            raise RecordingReadError(self.path, message, expected="cdr", got=encoding)
        qos = channel.metadata.get("offered_qos_profiles", "")
        return TopicInfo(channel.topic, schema.name, messages, qos, schema.data.decode("utf-8", "replace"))
