"""Reader of recordings: MCAP with profile ``ros2`` or SQLite, of this package or of ``ros2 bag``."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any, Final, Self

from mcap.records import Attachment

from embodied_iqa.base.errors import InputError
from embodied_iqa.data.recording.decoding import RecordedTypes
from embodied_iqa.data.recording.errors import RecordingReadError
from embodied_iqa.data.recording.opening import recording_files
from embodied_iqa.data.recording.part import close_parts, in_order, open_parts
from embodied_iqa.data.recording.recorded import RecordedImage, RecordedMessage, merged_topics
from embodied_iqa.imaging.images.image_cdr import (
    COMPRESSED_TYPE,
    IMAGE_TYPE,
    compressed_from_cdr,
    image_from_cdr,
    is_depth,
)

_COMPRESSED: Final = "/compressed"
"""What image_transport appends to the topic of the raw images."""


class TrialReader:
    """Indexed MCAP or SQLite files, read while they are iterated.

    Args:
        path: The file, or a folder of ``ros2 bag`` with one or, where it was split, several.

    Attributes:
        path: The file, or the folder of several.
        topics: By name, those that are serialised as CDR.
        foreign: Encoding of each other topic, such as ``json``; they are not read.

    Raises:
        RecordingReadError: A file is missing, empty, cut short, of another format or profile, or damaged.
    """

    def __init__(self, path: Path) -> None:
        files = recording_files(path)
        self.path = files[0] if len(files) == 1 else path
        self._parts = open_parts(files)
        self.topics = merged_topics(info for part in self._parts for info in part.topics.values())
        self.foreign = {topic: kind for part in self._parts for topic, kind in part.foreign.items()}
        self._types = RecordedTypes(self.path)
        self._depth_topics: list[str] | None = None

    @property
    def start_ns(self) -> int:
        """Log time of the first message; 0 without messages."""
        return min((part.start_ns for part in self._parts if part.has_messages), default=0)

    @property
    def end_ns(self) -> int:
        """Log time of the last message; 0 without messages."""
        return max((part.end_ns for part in self._parts), default=0)

    def image_topics(self) -> list[str]:
        """Return the topics with images of colour, sorted: raw and compressed ones.

        The compressed copy of a raw topic of the recording is none; depth is none.

        Raises:
            RecordingReadError: There are none.
        """
        depth = self.depth_topics()
        found = [
            topic
            for topic in self._of_images()
            if topic not in depth and not self._has_messages(topic.removesuffix(_COMPRESSED), topic)
        ]
        if not found:
            fault = "holds depth and no images of colour" if depth else "holds no images"
            raise RecordingReadError(self.path, fault, available=sorted(self.topics))
        return found

    def depth_topics(self) -> list[str]:
        """Return the topics whose first image is one of depth, sorted."""
        if self._depth_topics is None:
            self._depth_topics = [topic for topic in self._of_images() if self._begins_with_depth(topic)]
        return self._depth_topics

    def camera_topic(self, topic: str) -> str:
        """Return a topic of raw images, or where only its compressed copy has any that."""
        copy = topic + _COMPRESSED
        return copy if copy in self.topics and not self._has_messages(topic, copy) else topic

    def compression(self) -> str:
        """Return what ``ros2 bag`` compressed, "files" or "messages"; empty for neither."""
        if any(part.is_compressed for part in self._parts):
            return "files"
        return "messages" if any(part.has_compressed_messages() for part in self._parts) else ""

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
        found = [part.messages(topics, start_ns, end_ns) for part in self._parts]
        yield from in_order(self._parts, found)

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
        """Iterate over images in the order of their log times, without copying raw ``rgb8`` pixels.

        Args:
            topics: Only these; None for those of `image_topics`.
            start_ns: First log time; None for the first.
            end_ns: First log time that is left out; None for none.

        Raises:
            RecordingReadError: A topic holds no images, or an image is damaged.
        """
        wanted = self.image_topics() if topics is None else topics
        for message in self.image_messages(wanted, start_ns, end_ns):
            yield self.image_of(message)

    def image_messages(
        self, topics: Collection[str], start_ns: int | None = None, end_ns: int | None = None
    ) -> Iterator[RecordedMessage]:
        """Iterate over the messages of image topics, see `images`; none is decoded.

        Raises:
            RecordingReadError: A topic holds no images, or the file is damaged.
        """
        available = self._of_images()
        unknown = [topic for topic in topics if topic not in available]
        if unknown:
            raise RecordingReadError(self.path, "no such image topic", got=unknown[0], available=available)
        yield from self.messages(topics, start_ns, end_ns)

    def image_of(self, message: RecordedMessage) -> RecordedImage:
        """Return the image of a message of an image topic.

        Raises:
            RecordingReadError: It is damaged, or one of depth.
        """
        decoded = compressed_from_cdr if message.type_name == COMPRESSED_TYPE else image_from_cdr
        try:
            image = decoded(message.cdr)
        except InputError as error:
            raise RecordingReadError(self.path, f"topic {message.topic}: {error}") from error
        return RecordedImage(message.topic, message.log_time_ns, image)

    def metadata(self) -> dict[str, dict[str, str]]:
        """Return the metadata records by name; of several with one name, the last values apply.

        Raises:
            RecordingReadError: The file is damaged.
        """
        merged: dict[str, dict[str, str]] = {}
        for record in (record for part in self._parts for record in part.metadata()):
            merged.setdefault(record.name, {}).update(record.metadata)
        return merged

    def attachments(self) -> Iterator[Attachment]:
        """Iterate over the attached files.

        Raises:
            RecordingReadError: The file is damaged.
        """
        for part in self._parts:
            yield from part.attachments()

    def close(self) -> None:
        """Close the files; may be called twice."""
        close_parts(self._parts)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _of_images(self) -> list[str]:
        kinds = (IMAGE_TYPE, COMPRESSED_TYPE)
        return sorted(info.topic for info in self.topics.values() if info.type_name in kinds)

    def _has_messages(self, topic: str, besides: str) -> bool:
        return topic != besides and topic in self.topics and self.topics[topic].messages > 0

    def _begins_with_depth(self, topic: str) -> bool:
        try:
            first = next(self.messages([topic]), None)
        except RecordingReadError:  # damage is reported where the topic is read
            return False
        return first is not None and is_depth(first.cdr, first.type_name)
