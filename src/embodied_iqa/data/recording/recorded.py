"""Content of a recording: topics, messages, images."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

from mcap.records import Attachment, Metadata

from embodied_iqa.imaging.images.image_cdr import StampedImage

NO_DEFINITION = "# not known"
"""In place of the definition of a type that neither the recording nor this package has."""


@dataclass(frozen=True, slots=True)
class TopicInfo:
    """A topic of a recording.

    Attributes:
        topic: Its name.
        type_name: Such as ``sensor_msgs/msg/Image``.
        messages: Their number.
        qos_text: YAML of the publishers' QoS profiles; may be empty.
        definition: The type's concatenated definition, or `NO_DEFINITION`.
    """

    topic: str
    type_name: str
    messages: int
    qos_text: str
    definition: str


@dataclass(frozen=True, slots=True)
class RecordedMessage:
    """A serialised message.

    Attributes:
        topic: Its topic.
        type_name: Its type.
        log_time_ns: When it was received.
        publish_time_ns: When it was published.
        sequence: The publisher's counter; 0 for none.
        cdr: The serialised message.
    """

    topic: str
    type_name: str
    log_time_ns: int
    publish_time_ns: int
    sequence: int
    cdr: bytes


@dataclass(frozen=True, slots=True, eq=False)
class RecordedImage:
    """An image of a topic.

    Attributes:
        topic: Its topic.
        log_time_ns: When it was received.
        image: Stamp, frame and pixels.
    """

    topic: str
    log_time_ns: int
    image: StampedImage


class RecordingPart(Protocol):
    """One file of a recording, in MCAP or SQLite."""

    @property
    def path(self) -> Path:
        """The file."""
        ...

    @property
    def topics(self) -> Mapping[str, TopicInfo]:
        """Topics by name, those that are serialised as CDR."""
        ...

    @property
    def foreign(self) -> Mapping[str, str]:
        """Encoding of each other topic."""
        ...

    @property
    def start_ns(self) -> int:
        """First log time; 0 without messages."""
        ...

    @property
    def end_ns(self) -> int:
        """Last log time; 0 without messages."""
        ...

    @property
    def is_compressed(self) -> bool:
        """Whether ``ros2 bag`` compressed the file."""
        ...

    @property
    def has_messages(self) -> bool:
        """Whether it has any."""
        ...

    def messages(
        self, topics: Collection[str] | None, start_ns: int | None, end_ns: int | None
    ) -> Iterator[RecordedMessage]:
        """Iterate over messages in the order of their log times, see `TrialReader.messages`."""
        ...

    def has_compressed_messages(self) -> bool:
        """Return whether ``ros2 bag`` compressed the messages one by one; the first one decides."""
        ...

    def metadata(self) -> Iterator[Metadata]:
        """Iterate over the metadata records."""
        ...

    def attachments(self) -> Iterator[Attachment]:
        """Iterate over the attached files."""
        ...

    def close(self) -> None:
        """Close the file; may be called twice."""
        ...


def merged_topics(infos: Iterable[TopicInfo]) -> dict[str, TopicInfo]:
    """Return topics by name, with their messages added up; of several infos of one, the last applies."""
    found: dict[str, TopicInfo] = {}
    for info in infos:
        known = found.get(info.topic)
        found[info.topic] = replace(info, messages=info.messages + (known.messages if known else 0))
    return found
