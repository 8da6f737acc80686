"""Content of a recording: topics, messages, images."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

from embodied_iqa.imaging.images.image_cdr import StampedImage


@dataclass(frozen=True, slots=True)
class TopicInfo:
    """A topic of a recording.

    Attributes:
        topic: Its name.
        type_name: Such as ``sensor_msgs/msg/Image``.
        messages: Their number.
        qos_text: YAML of the publishers' QoS profiles; may be empty.
        definition: The type's concatenated definition.
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

    @property
    def picture(self) -> StampedImage:
        """The image, by its former name, deprecated."""
        warnings.warn("RecordedImage.picture is called image", DeprecationWarning, stacklevel=2)
        return self.image
