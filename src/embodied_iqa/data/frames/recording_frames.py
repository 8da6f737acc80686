"""Images of a recording: of this package, or of anybody's `ros2 bag`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from embodied_iqa.base.errors import UsageError
from embodied_iqa.data.frames.cameras import depth_topic_beside
from embodied_iqa.data.recording.camera_models import camera_info_beside
from embodied_iqa.data.recording.errors import RecordingReadError
from embodied_iqa.data.recording.reader import TrialReader
from embodied_iqa.data.recording.recorded import RecordedMessage
from embodied_iqa.data.recording.robot_states import check_type
from embodied_iqa.data.recording.trial_reading import METADATA, was_simulated
from embodied_iqa.imaging.images.frame import View, topic_of_view, view_of_topic
from embodied_iqa.imaging.images.stored_images import Coding, StoredImage, UnreadableImage, chosen_topics
from embodied_iqa.world.tasks.sentence import check_sentence

_COMPRESSED: Final = "/compressed"
_EVENTS: Final = "/trial/events"
_TASK_TYPE: Final = "std_msgs/msg/String"


class RecordingFrames:
    """Images of a recording, raw or compressed, in the order of their arrival.

    Args:
        path: An MCAP or SQLite file, or a folder of ``ros2 bag``.
        task_topic: Topic of ``std_msgs/msg/String`` with the instruction: an image has the one that was
            received last before it; empty for none.

    Attributes:
        path: As given.
        topics: Image topics of colour, with the number of their messages.
        described: Those of them with a ``camera_info`` beside.
        depth_topics: Those that hold depth, which is read beside images, see `depth_beside`.
        is_of_trial: Whether it holds the runs of a trial.
        is_real: Whether a trial or `record` says that the images are not those of the simulated cell.
        note: What ``ros2 bag`` compressed.

    Raises:
        InputError: It cannot be read, or holds no images.
    """

    kind = "recording"

    def __init__(self, path: Path, task_topic: str = "") -> None:
        self.path, self._task_topic = path, task_topic
        with TrialReader(path) as reader:
            if task_topic:
                check_type(reader, task_topic, (_TASK_TYPE,))
            self.topics: Mapping[str, int] = {
                topic: reader.topics[topic].messages for topic in reader.image_topics()
            }
            self.described = frozenset(
                topic for topic in self.topics if camera_info_beside(topic) in reader.topics
            )
            self.is_of_trial = any(topic.endswith(_EVENTS) for topic in reader.topics)
            self.depth_topics = tuple(reader.depth_topics())
            raw = {topic.removesuffix(_COMPRESSED) for topic in self.topics if self.view_of(topic)}
            self._read = {topic: reader.camera_topic(topic) for topic in raw}
            self.is_real = was_simulated(reader.metadata().get(METADATA, {})) is False
            what = reader.compression()
        self.note = what and f"the {what} of {path} were compressed by ros2 bag, and read all the same"

    def views(self) -> dict[View, str]:
        """Return the topics ``/camera/<view>/image_raw`` in any namespace, raw or else compressed.

        Raises:
            InputError: Several namespaces have the same.
        """
        named = filter(None, map(self.view_of, self._read))
        return {view: self._read[topic_of_view(view, self._read)] for view in named}

    def view_of(self, topic: str) -> View | None:
        """Return the camera of a topic ``/camera/<view>/image_raw``; None for another."""
        return view_of_topic(topic.removesuffix(_COMPRESSED), in_any_namespace=True)

    def count(self, topics: Sequence[str] = ()) -> int:
        """Return the number of messages on some topics, by default all of colour."""
        return sum(self.topics[topic] for topic in chosen_topics(self.path, topics, self.topics))

    def images(self, topics: Sequence[str] = ()) -> Iterator[StoredImage | UnreadableImage]:
        """Iterate over the images; depth that is of no camera of colour cannot be read, nor a damaged image.

        Images of one topic and stamp are numbered from the second on.
        """
        for topic in () if topics else self._lone_depths():
            fault = f"topic {topic} holds depth, and is by its name of no camera of colour"
            yield UnreadableImage(topic, RecordingReadError(self.path, fault))
        wanted = chosen_topics(self.path, topics, self.topics)
        stamps: Counter[str] = Counter()
        task: str | None = None
        with TrialReader(self.path) as reader:
            for message in reader.messages((*wanted, *filter(None, [self._task_topic]))):
                try:
                    if message.topic == self._task_topic:
                        task = None
                        task = _sentence(reader, message)
                        continue
                    recorded = reader.image_of(message)
                except RecordingReadError as error:
                    yield UnreadableImage(f"{message.topic} {message.log_time_ns}", error)
                    continue
                image, topic, stamp_ns = recorded.image, recorded.topic, recorded.image.stamp_ns
                name = f"{_folder(topic)}/{stamp_ns}"
                stamps[name] += 1
                number = f"_{stamps[name]}" if stamps[name] > 1 else ""
                title = f"{topic} {stamp_ns}"
                coding = Coding.JPEG if image.is_jpeg else Coding.LOSSLESS
                yield StoredImage(name + number, title, topic, stamp_ns, image.rgb, task, coding)

    def tasks(self, _topics: Sequence[str] = ()) -> tuple[str, ...]:
        """Return the instructions of the task topic; a damaged one is left out, as are its images."""
        found: dict[str | None, None] = {}
        if self._task_topic:
            with TrialReader(self.path) as reader:
                for message in reader.messages((self._task_topic,)):
                    with suppress(RecordingReadError):
                        found[_sentence(reader, message)] = None
        return tuple(filter(None, found))

    def _lone_depths(self) -> list[str]:
        """Return the topics of depth that are of no camera, and no compressed copy of one that is."""
        named = {depth_topic_beside(topic, self.depth_topics) for topic in self.topics}
        beside = [depth for depth in named if depth is not None]
        return [
            topic
            for topic in self.depth_topics
            if not any(topic == depth or topic.startswith(f"{depth}/") for depth in beside)
        ]


def _sentence(reader: TrialReader, message: RecordedMessage) -> str | None:
    """Return the instruction of a message; None for none.

    Raises:
        RecordingReadError: It is damaged, or no sentence.
    """
    text = " ".join(reader.decode(message).data.split())
    try:
        return check_sentence(text) if text else None
    except UsageError as error:
        raise RecordingReadError(reader.path, f"topic {message.topic}: {error}") from error


def _folder(topic: str) -> str:
    """Return a topic as the name of a folder: files of others hold topics that ROS does not allow."""
    name = "".join(letter if letter.isprintable() else "_" for letter in topic.strip("/").replace("/", "-"))
    return name if name.strip(".") else f"_{name}"
