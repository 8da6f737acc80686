"""Checks the frames that a task file lists against the recordings that it names."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path

from embodied_iqa.base.errors import InputError
from embodied_iqa.data.frames.cameras import cameras_of
from embodied_iqa.data.frames.recording_frames import RecordingFrames
from embodied_iqa.data.recording.reader import TrialReader
from embodied_iqa.data.recording.recording_names import is_recording
from embodied_iqa.imaging.images.frame import View
from embodied_iqa.imaging.images.image_cdr import stamp_from_cdr
from embodied_iqa.world.tasks.task_file_entries import LineError
from embodied_iqa.world.tasks.task_files import ImageTasks


def faults_of_frames(
    tasks_file: Path, listed: Sequence[ImageTasks], topics: Mapping[View, str] | None = None
) -> Iterator[LineError]:
    """Yield an error for each listed frame that its recording does not have; no image is decoded.

    Args:
        tasks_file: The file, which the errors name.
        listed: Its valid entries; those of image files are left out.
        topics: Image topics by camera, or their drivers; empty for those that name their camera.
    """
    entries: dict[Path, list[ImageTasks]] = defaultdict(list)
    for item in listed:
        if item.stamp_ns is not None:
            entries[tasks_file.parent / item.path].append(item)
    for recording, items in entries.items():
        first = items[0]
        if not is_recording(recording):
            expected = "an MCAP or SQLite file, or a folder of `ros2 bag`"
            error = InputError("no recording", expected=expected, got=str(first.path))
            yield LineError(first.line, str(error), tasks_file)
            continue
        try:
            stamps = _stamps(recording, {item.view for item in items if item.view is not None}, topics or {})
        except InputError as fault_of_all:
            yield LineError(first.line, str(fault_of_all), tasks_file)
            continue
        for item in items:
            fault = _fault(item, stamps)
            if fault:
                yield LineError(item.line, f"{item.path} {fault}", tasks_file)


def _stamps(recording: Path, views: Collection[View], topics: Mapping[View, str]) -> dict[View, list[int]]:
    """Return the stamps of each camera, sorted; a camera that is not recorded has none."""
    frames = RecordingFrames(recording)
    one = [*views] if len(frames.topics) == len(views) == 1 and not frames.views() else []
    cameras = cameras_of(frames, one, topics)
    found: dict[View, set[int]] = {view: set() for view in views}
    wanted = [topic for topic, view in cameras.items() if view in views]
    with TrialReader(recording) as reader:
        for message in reader.messages(wanted) if wanted else ():
            try:
                found[cameras[message.topic]].add(stamp_from_cdr(message.cdr))
            except InputError:  # an image that no list can name
                continue
    return {view: sorted(stamps) for view, stamps in found.items()}


def _fault(item: ImageTasks, stamps: Mapping[View, list[int]]) -> str:
    if item.view is None or item.stamp_ns is None:
        return ""
    known = stamps[item.view]
    if not known:
        return f"has no images of the {item.view} camera"
    place = bisect_left(known, item.stamp_ns)
    near = known[max(0, place - 1) : place + 1]
    if item.stamp_ns in near:
        return ""
    nearest = min(near, key=lambda stamp_ns: abs(stamp_ns - (item.stamp_ns or 0)))
    return f"has no image of the {item.view} camera at {item.stamp_ns} ns; the nearest is at {nearest} ns"
