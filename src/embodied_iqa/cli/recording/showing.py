"""`embodied-iqa recording info`: shows what a recording, a data set, a video or a folder of images holds."""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from rich.markup import escape

from embodied_iqa.base.errors import InputError
from embodied_iqa.base.progress import ProgressBars, track
from embodied_iqa.base.units import SECOND_NS
from embodied_iqa.cli.output import console, print_json, printable, table_of
from embodied_iqa.data.frames.cameras import depth_topic_beside
from embodied_iqa.data.frames.image_folder import FolderFrames
from embodied_iqa.data.frames.video_frames import VideoFrames, is_video
from embodied_iqa.data.lerobot.dataset import LeRobotDataset
from embodied_iqa.data.lerobot.info import is_lerobot
from embodied_iqa.data.recording.opening import folders_below, recording_files
from embodied_iqa.data.recording.reader import TrialReader
from embodied_iqa.data.recording.recording_names import is_recording
from embodied_iqa.data.recording.survey import Times, TopicSurvey, survey
from embodied_iqa.imaging.images.image_cdr import COMPRESSED_TYPE, IMAGE_TYPE
from embodied_iqa.imaging.images.stored_images import UnreadableImage, shown_topic

_IMAGES: Final = (IMAGE_TYPE, COMPRESSED_TYPE)
_LISTED: Final = 20
"""Of more faults, the rest is counted."""
_STEP: Final = 1000
"""So many messages are read between two lines of progress."""


def run(arguments: argparse.Namespace) -> int:
    """Print what a recording holds; return the exit code: 1 if a part of it cannot be read."""
    if is_lerobot(arguments.recording):
        dataset = _dataset(LeRobotDataset(arguments.recording))
        print_json(dataset) if arguments.json else _print_dataset(dataset)
        return 0
    if is_video(arguments.recording):
        video = _video(VideoFrames(arguments.recording))
        print_json(video) if arguments.json else _print_video(video)
        return int(bool(video["damaged"]))
    if arguments.recording.is_dir() and not is_recording(arguments.recording):
        try:
            folder = _folder(FolderFrames(arguments.recording))
        except InputError:
            if any(folders_below(arguments.recording)):
                recording_files(arguments.recording)  # names them
            raise
        print_json(folder) if arguments.json else _print_folder(folder)
        return int(bool(folder["damaged"]))
    with TrialReader(arguments.recording) as reader, ProgressBars() as bars:

        def progress(done: int, total: int) -> None:
            if done % _STEP == 0 or done == total:
                bars.update(arguments.recording.name, done, total)

        topics = survey(reader, progress)
        tree = _tree(reader, topics)
    if arguments.json:
        print_json(tree)
    else:
        _print(arguments.recording, tree, topics)
    return int(any(one.damaged for one in topics))


def _tree(reader: TrialReader, topics: list[TopicSurvey]) -> dict[str, Any]:
    depth_of = _depth_of(reader)
    return {
        "recording": str(reader.path),
        "compression": reader.compression() or None,
        "first_ns": reader.start_ns or None,
        "last_ns": reader.end_ns or None,
        "messages": sum(one.info.messages for one in topics),
        "topics": [
            {
                "topic": one.info.topic,
                "type": one.info.type_name,
                "messages": one.info.messages,
                "rate_hz": one.received.rate_hz,
                "received": _times(one.received),
                "stamps": None if one.stamps is None else _times(one.stamps),
                "damaged": one.damaged,
                "image": _image(one, depth_of),
            }
            for one in topics
        ],
        "not_read": [{"topic": name, "encoding": kind} for name, kind in sorted(reader.foreign.items())],
    }


def _depth_of(reader: TrialReader) -> dict[str, str | None]:
    """Return the topics of depth, each with the topic of colour in whose pixels it is by its name."""
    found: dict[str, str | None] = dict.fromkeys(reader.depth_topics())
    for topic in sorted(info.topic for info in reader.topics.values() if info.type_name in _IMAGES):
        depth = depth_topic_beside(topic, found)
        if depth is not None and topic not in found:
            found[depth] = topic
    return found


def _image(one: TopicSurvey, depth_of: Mapping[str, str | None]) -> dict[str, Any] | None:
    """Return what a topic of images holds; None for another."""
    if not one.encoding:
        return None
    width_px, height_px = one.size_px or (None, None)
    is_depth = one.info.topic in depth_of
    found = {"encoding": one.encoding, "width_px": width_px, "height_px": height_px, "depth": is_depth}
    return found | {"depth_of": depth_of.get(one.info.topic), "unread": one.unread or None}


def _kind(one: TopicSurvey, image: Mapping[str, Any] | None) -> str:
    """Return the type of a topic, with what its images are."""
    if image is None:
        return printable(one.info.type_name)
    size = "" if image["width_px"] is None else f" {image['width_px']}x{image['height_px']}"
    beside = f" of {image['depth_of']}" if image["depth_of"] else ""
    depth = f", depth{beside}" if image["depth"] else ""
    unread = ", not read" if image["unread"] else ""
    return printable(f"{one.info.type_name}, {image['encoding']}{size}{depth}{unread}")


def _dataset(dataset: LeRobotDataset) -> dict[str, Any]:
    info = dataset.info
    tasks: Counter[str] = Counter(task for episode in dataset.episodes for task in episode.tasks)
    return {
        "recording": str(dataset.path),
        "format": f"LeRobot {info.version}",
        "robot": info.robot or None,
        "rate_hz": info.fps,
        "episodes": len(dataset.episodes),
        "steps": sum(episode.steps for episode in dataset.episodes),
        "numbers": dict(info.sizes),
        "cameras": [
            {
                "topic": camera.key,
                "width_px": camera.width_px,
                "height_px": camera.height_px,
                "stored": "video" if camera.is_video else "images",
            }
            for camera in info.cameras
        ],
        "depth": list(info.depth),
        "tasks": [{"task": task, "episodes": count} for task, count in sorted(tasks.items())],
    }


def _video(video: VideoFrames) -> dict[str, Any]:
    """Return what a video holds, by decoding it: stamps, and frames that cannot be read."""
    times, damaged, size_px = Times(), [], video.size_px
    for image in track(video.images(), video.path.name, video.count()):
        if isinstance(image, UnreadableImage):
            damaged.append(str(image.error))
            continue
        size_px = image.rgb.shape[1], image.rgb.shape[0]  # turned as a viewer shows it
        if image.stamp_ns is not None:
            times.add(image.stamp_ns + 1)  # the first one is at 0, which means unknown elsewhere
    return {
        "recording": str(video.path),
        "format": f"video, {video.codec}",
        "width_px": size_px[0],
        "height_px": size_px[1],
        "frames": video.count(),
        "rate_hz": times.rate_hz,
        "duration_ns": None if times.last_ns is None else times.last_ns - 1,
        "longest_gap_ns": times.gap_ns if times.count > 1 else None,
        "damaged": damaged,
    }


def _folder(frames: FolderFrames) -> dict[str, Any]:
    """Return what a folder of images holds, by reading them: sizes, and files that cannot be read."""
    sizes: dict[str, Counter[str]] = {topic: Counter() for topic in frames.topics}
    damaged = []
    for image in track(frames.stored(), frames.path.name, frames.count()):
        try:
            height_px, width_px = image.rgb.shape[:2]
        except InputError as error:
            damaged.append(str(error))
            continue
        sizes[image.topic][f"{width_px}x{height_px}"] += 1
    folders = [
        {"topic": topic, "images": count, "sizes": dict(sizes[topic].most_common())}
        for topic, count in sorted(frames.topics.items())
    ]
    return {"recording": str(frames.path), "format": "images", "folders": folders, "damaged": damaged}


def _print_folder(tree: dict[str, Any]) -> None:
    print(f"{tree['recording']}: {sum(one['images'] for one in tree['folders'])} images, without times")
    table = table_of("folder", "images", "sizes", right=("images",))
    for one in tree["folders"]:
        sizes = ", ".join(f"{count} x {size}" for size, count in one["sizes"].items())
        table.add_row(escape(printable(shown_topic(one["topic"]))), str(one["images"]), sizes or "-")
    console().print(table)
    _print_damaged(tree["damaged"])


def _print_damaged(faults: Sequence[str]) -> None:
    for fault in faults[:_LISTED]:
        print(f"not readable: {fault}")
    if len(faults) > _LISTED:
        print(f"not readable: {len(faults) - _LISTED} more (all with --json)")


def _print_video(tree: dict[str, Any]) -> None:
    size, rate_hz = f"{tree['width_px']}x{tree['height_px']}", tree["rate_hz"]
    print(f"{tree['recording']}: {tree['format']}, {size}, {tree['frames']} frames")
    if rate_hz is not None:
        gap_s, length_s = tree["longest_gap_ns"] / SECOND_NS, tree["duration_ns"] / SECOND_NS
        print(f"{length_s:.3f} s long, {rate_hz:.2f} Hz, longest gap {gap_s:.3f} s")
    _print_damaged(tree["damaged"])


def _print_dataset(tree: dict[str, Any]) -> None:
    robot = f" of {printable(tree['robot'])}" if tree["robot"] else ""
    print(f"{tree['recording']}: {tree['format']}{robot}, {tree['rate_hz']:g} Hz")
    numbers = "".join(f", {key} of {count}" for key, count in tree["numbers"].items())
    print(f"{tree['episodes']} episodes, {tree['steps']} steps{numbers}")
    table = table_of("key", "size", "stored as")
    for one in tree["cameras"]:
        table.add_row(escape(one["topic"]), f"{one['width_px']}x{one['height_px']}", one["stored"])
    for key in tree["depth"]:
        table.add_row(escape(printable(key)), "-", "depth")
    console().print(table)
    for one in tree["tasks"]:
        print(f"{one['episodes']} x {printable(one['task'])}")


def _times(times: Times) -> dict[str, int | None]:
    return {
        "first_ns": times.first_ns,
        "last_ns": times.last_ns,
        "longest_gap_ns": times.gap_ns if times.count > 1 else None,
        "equal": times.equal,
        "backwards": times.backwards,
        "zero": times.zero,
    }


def _print(recording: Path, tree: dict[str, Any], topics: list[TopicSurvey]) -> None:
    packed = f", {tree['compression']} compressed by ros2 bag" if tree["compression"] else ""
    print(f"{recording}: {tree['messages']} messages of {len(topics)} topics{packed}")
    if tree["first_ns"] is not None:
        duration_s = (tree["last_ns"] - tree["first_ns"]) / SECOND_NS
        print(f"from {_moment(tree['first_ns'])}, {duration_s:.3f} s long")
    table = table_of(
        *("topic", "type", "messages", "rate [Hz]", "longest gap [s]", "first stamp", "stamps"),
        right=("messages", "rate [Hz]", "longest gap [s]"),
    )
    for one, row in zip(topics, tree["topics"], strict=True):
        rate_hz, stamps = one.received.rate_hz, one.stamps
        table.add_row(
            escape(printable(one.info.topic)),
            escape(_kind(one, row["image"])),
            str(one.info.messages),
            "-" if rate_hz is None else f"{rate_hz:.2f}",
            f"{one.received.gap_ns / SECOND_NS:.3f}" if one.received.count > 1 else "-",
            "-" if stamps is None or stamps.first_ns is None else _moment(stamps.first_ns),
            _faults(one),
        )
    for one in tree["not_read"]:
        name, kind = escape(printable(one["topic"])), escape(printable(one["encoding"]))
        table.add_row(name, f"{kind}, not read", *"-----")
    console().print(table)
    for one in topics:
        if one.unread:
            print(f"not read: {printable(one.info.topic)}: {printable(one.unread)}")


def _faults(topic: TopicSurvey) -> str:
    """Return what is wrong with the stamps of a topic, in words."""
    if topic.stamps is None:
        return "no header"
    if not topic.info.messages:
        return "-"
    counts = {
        "zero": topic.stamps.zero,
        "equal": topic.stamps.equal,
        "backwards": topic.stamps.backwards,
        "unreadable": topic.damaged,
    }
    return ", ".join(f"{count} {name}" for name, count in counts.items() if count) or "rising"


def _moment(time_ns: int) -> str:
    """Return a time as UTC; times of a simulation are seconds since its start, near 1970."""
    seconds, rest_ns = divmod(time_ns, SECOND_NS)
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M:%S}.{rest_ns // 10**6:03d} UTC"
