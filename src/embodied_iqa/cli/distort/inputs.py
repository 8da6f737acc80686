"""Inputs of `embodied-iqa distort`: an image, a folder of images, a recording, or a LeRobot data set."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from embodied_iqa.base.errors import InputError, UsageError
from embodied_iqa.data.lerobot.dataset import LeRobotDataset, Unreadable, is_lerobot
from embodied_iqa.data.recording.errors import RecordingReadError
from embodied_iqa.data.recording.opening import is_recording
from embodied_iqa.data.recording.reader import TrialReader
from embodied_iqa.imaging.distortions.batch import CleanImage
from embodied_iqa.imaging.distortions.manifest import Failure
from embodied_iqa.imaging.distortions.stream import VIEW_OF_FILES
from embodied_iqa.imaging.images.codecs import image_files
from embodied_iqa.imaging.images.frame import view_of_topic


def count_images(path: Path, topics: Sequence[str] = ()) -> int:
    """Return the number of images; of a recording or data set those of some topics, by default all.

    Raises:
        InputError: The input does not exist or has no image, or no such topic.
        UsageError: Topics were given, but the input is neither a recording nor a data set.
    """
    if is_lerobot(path):
        return LeRobotDataset(path).count(topics)
    if is_recording(path):
        with TrialReader(path) as reader:
            return sum(reader.topics[topic].messages for topic in _chosen(reader, topics))
    if topics:
        raise UsageError("images in files have no topics", expected="a recording or data set", got="--topic")
    return len(_files(path))


def clean_images(path: Path, topics: Sequence[str] = ()) -> Iterator[CleanImage | Failure]:
    """Iterate over the images, in the order of their names or of their time.

    Files that would get one name, such as a.png and a.jpg, are failures. Frames of one topic and stamp are
    numbered from the second on.

    Raises:
        InputError: As for ``count_images``, or a recording is damaged.
    """
    if is_lerobot(path):
        yield from _steps(path, topics)
        return
    if is_recording(path):
        yield from _frames(path, topics)
        return
    root = path if path.is_dir() else path.parent
    names: dict[str, list[Path]] = {}
    for file in _files(path):
        names.setdefault(file.relative_to(root).with_suffix("").as_posix(), []).append(file)
    for name, files in names.items():
        if len(files) == 1:
            yield CleanImage(name, VIEW_OF_FILES, None, files[0])
            continue
        others = ", ".join(file.name for file in files)
        for file in files:
            error = InputError(
                f"{str(file)!r} would get the name of another image", expected="different names", got=others
            )
            yield Failure(str(file), str(error))


def note(path: Path) -> str:
    """Return a line about what was undone to read the input; empty for none."""
    if is_lerobot(path) or not is_recording(path):
        return ""
    with TrialReader(path) as reader:
        what = reader.compression()
    return what and f"the {what} of {path} were compressed by ros2 bag, and read all the same"


def _files(path: Path) -> list[Path]:
    if path.is_dir():
        return image_files(path, recursive=True)
    if not path.is_file():
        raise InputError(
            "no such input", expected="an image, a folder of images or an .mcap file", got=str(path)
        )
    return [path]


def _chosen(reader: TrialReader, topics: Sequence[str]) -> Sequence[str]:
    """Return the topics, by default those of `image_topics`."""
    available = reader.image_topics()
    wrong = [topic for topic in topics if topic not in available]
    if wrong:
        raise InputError(f"{str(reader.path)!r} has no image topic", got=wrong[0], available=available)
    return topics or available


def _frames(path: Path, topics: Sequence[str]) -> Iterator[CleanImage | Failure]:
    """Iterate over a recording; a topic of depth is one failure, and so is each damaged image."""
    stamps: Counter[str] = Counter()
    with TrialReader(path) as reader:
        for topic in () if topics else reader.depth_topics():
            yield Failure(topic, f"{str(path)!r}: topic {topic} holds depth, which is not distorted")
        for message in reader.messages(_chosen(reader, topics)):
            try:
                recorded = reader.image_of(message)
            except RecordingReadError as error:
                yield Failure(f"{message.topic} {message.log_time_ns}", str(error))
                continue
            topic = recorded.topic.removesuffix("/compressed")
            view = view_of_topic(topic, in_any_namespace=True) or recorded.topic
            stamp_ns = recorded.image.stamp_ns
            name = f"{recorded.topic.strip('/').replace('/', '-')}/{stamp_ns}"
            stamps[name] += 1
            number = f"_{stamps[name]}" if stamps[name] > 1 else ""
            yield CleanImage(name + number, view, stamp_ns, recorded.image.rgb)


def _steps(path: Path, keys: Sequence[str]) -> Iterator[CleanImage | Failure]:
    """Iterate over a data set; its episodes follow each other in time, so that each has noise of its own."""
    dataset = LeRobotDataset(path)
    starts_ns = dataset.starts_ns()
    views = {camera.key: camera.view or camera.key for camera in dataset.cameras(keys)}
    for found in dataset.images(keys):
        if isinstance(found, Unreadable):
            yield Failure(found.what, str(found.error))
        else:
            stamp_ns = starts_ns[found.step.episode] + found.step.stamp_ns
            yield CleanImage(found.name, views[found.key], stamp_ns, found.rgb)
