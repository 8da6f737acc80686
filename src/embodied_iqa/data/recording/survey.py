"""What a recording holds, topic by topic: messages, rates, and what is wrong with times and stamps."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final

from embodied_iqa.base.errors import InputError
from embodied_iqa.base.units import SECOND_NS
from embodied_iqa.data.recording.reader import TrialReader
from embodied_iqa.data.recording.recorded import RecordedMessage, TopicInfo
from embodied_iqa.imaging.images.image_cdr import (
    COMPRESSED_TYPE,
    IMAGE_TYPE,
    compressed_from_cdr,
    depth_from_cdr,
    encoding_from_cdr,
    frame_from_cdr,
    image_from_cdr,
    is_depth,
    stamp_from_cdr,
)

_IMAGES: Final = (IMAGE_TYPE, COMPRESSED_TYPE)
_HEADERS: Final = ("std_msgs/Header", "std_msgs/msg/Header", "Header")
_MOST_SOURCES: Final = 1000
_MOST_DECODED: Final = 10
"""Of damaged images at the beginning of a topic."""


@dataclass(slots=True)
class Times:
    """Times of a topic's messages, in the order of the recording.

    Attributes:
        count: Their number, without zeros.
        zero: Times that are 0 or before: nobody has set them.
        first_ns: The first; None without any.
        last_ns: The last; None without any.
        gap_ns: The longest step forwards.
        equal: Times that are the one before of their source again.
        backwards: Times before the one before of their source.
    """

    count: int = 0
    zero: int = 0
    first_ns: int | None = None
    last_ns: int | None = None
    gap_ns: int = 0
    equal: int = 0
    backwards: int = 0
    _of_source_ns: dict[str, int] = field(default_factory=dict)

    def add(self, time_ns: int, source: str = "") -> None:
        """Note the next time; of several sources, such as two cameras, each has its own order."""
        if time_ns <= 0:
            self.zero += 1
            return
        self.count += 1
        if self.last_ns is None:
            self.first_ns = time_ns
        else:
            self.gap_ns = max(self.gap_ns, time_ns - self.last_ns)
        self.last_ns = time_ns
        if len(self._of_source_ns) == _MOST_SOURCES and source not in self._of_source_ns:
            return
        before_ns = self._of_source_ns.get(source)
        if before_ns is not None:
            self.equal += time_ns == before_ns
            self.backwards += time_ns < before_ns
        self._of_source_ns[source] = time_ns

    @property
    def rate_hz(self) -> float | None:
        """Mean rate; None for fewer than two times, or where they do not rise."""
        if self.first_ns is None or self.last_ns is None or self.last_ns <= self.first_ns:
            return None
        return (self.count - 1) * SECOND_NS / (self.last_ns - self.first_ns)


@dataclass(slots=True)
class TopicSurvey:
    """A topic of a recording.

    Attributes:
        info: Its name, type and number of messages by the index of the file.
        received: Log times.
        stamps: Stamps of the headers, each frame in an order of its own; None for a type that does not
            begin with one.
        damaged: Messages whose header cannot be read.
        encoding: Of the first whole image, or its format; empty for what holds no images.
        size_px: Its width and height; None where its message does not say.
        unread: Why its first images have no pixels; empty where one of them has.
        decoded: How many were tried for that.
    """

    info: TopicInfo
    received: Times = field(default_factory=Times)
    stamps: Times | None = None
    damaged: int = 0
    encoding: str = ""
    size_px: tuple[int, int] | None = None
    unread: str = ""
    decoded: int = 0

    def add(self, message: RecordedMessage) -> None:
        """Note the next message."""
        self.received.add(message.log_time_ns)
        if self.stamps is None:
            return
        try:
            self.stamps.add(stamp_from_cdr(message.cdr), frame_from_cdr(message.cdr))
        except InputError:
            self.damaged += 1
        is_asked = not self.encoding or (self.unread and self.decoded < _MOST_DECODED)
        if is_asked and message.type_name in _IMAGES:
            with suppress(InputError):  # the next one says it
                self.encoding, self.size_px = encoding_from_cdr(message.cdr, message.type_name)
                self.unread = _why_unread(message)
                self.decoded += 1


def survey(reader: TrialReader, progress: Callable[[int, int], None]) -> list[TopicSurvey]:
    """Read a recording once; return its topics, sorted by name.

    Args:
        reader: The recording.
        progress: Called with the number of messages that were read, and of all.

    Raises:
        RecordingReadError: The recording is damaged.
    """
    found = {
        name: TopicSurvey(info, stamps=Times() if has_header(info.definition) else None)
        for name, info in sorted(reader.topics.items())
    }
    total = sum(info.messages for info in reader.topics.values())
    for count, message in enumerate(reader.messages(), start=1):
        found[message.topic].add(message)
        progress(count, total)
    return list(found.values())


def _why_unread(message: RecordedMessage) -> str:
    """Return why an image or its depth cannot be decoded; empty where it can."""
    try:
        if is_depth(message.cdr, message.type_name):
            depth_from_cdr(message.cdr, message.type_name)
        elif message.type_name == COMPRESSED_TYPE:
            compressed_from_cdr(message.cdr)
        else:
            image_from_cdr(message.cdr)
    except InputError as error:
        return str(error)
    return ""


def has_header(definition: str) -> bool:
    """Return whether a message of this definition begins with a ``std_msgs/msg/Header``."""
    for line in definition.splitlines():
        words = line.partition("#")[0].split()
        if words and not any("=" in word for word in words):  # constants take no bytes
            return len(words) > 1 and words[0] in _HEADERS
    return False
