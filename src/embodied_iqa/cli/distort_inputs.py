"""What `embodied-iqa distort` reads: a picture, a folder of them, or a recording."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from embodied_iqa.distortions.image import Image
from embodied_iqa.distortions.references import PICTURE_SUFFIXES
from embodied_iqa.errors import InputError

__all__ = ["Source", "count_sources", "sources"]

_CAMERA_TOPIC = re.compile(r"/camera/(?P<view>[^/]+)/image_raw")


@dataclass(frozen=True, slots=True, eq=False)
class Source:
    """A clean picture.

    Attributes:
        name: Name of its outputs, without a suffix.
        view: Camera of a recorded frame, so that it is distorted as it was live; a file's name.
        stamp_ns: Stamp of a recorded frame; 0 for a file.
        picture: The file, or the frame.
    """

    name: str
    view: str
    stamp_ns: int
    picture: Path | Image


def count_sources(path: Path) -> int:
    """Return how many pictures there are.

    Raises:
        InputError: There is nothing there, or no picture.
    """
    if path.suffix == ".mcap":
        from embodied_iqa.recording.reader import TrialReader  # noqa: PLC0415 - most inputs are files

        with TrialReader(path) as reader:
            return sum(reader.topics[topic].messages for topic in reader.picture_topics())
    return len(_files(path))


def sources(path: Path) -> Iterator[Source]:
    """Iterate over the pictures, in the order of their names or of their time.

    Raises:
        InputError: As for ``count_sources``, or a recording is damaged.
    """
    if path.suffix == ".mcap":
        yield from _frames(path)
        return
    root = path if path.is_dir() else path.parent
    names: dict[str, Path] = {}
    for file in _files(path):
        name = file.relative_to(root).with_suffix("").as_posix()
        if name in names:
            raise InputError("two pictures would get one name", got=f"{names[name].name}, {file.name}")
        names[name] = file
    for name, file in names.items():
        yield Source(name, name, 0, file)


def _files(path: Path) -> list[Path]:
    if path.is_file():
        return [path]
    if not path.is_dir():
        raise InputError(
            "no such input", expected="a picture, a folder of pictures or an .mcap file", got=str(path)
        )
    found = sorted(file for file in path.rglob("*") if file.suffix.lower() in PICTURE_SUFFIXES)
    if not found:
        raise InputError(
            "no pictures", expected=f"files ending in {', '.join(PICTURE_SUFFIXES)}", got=str(path)
        )
    return found


def _frames(path: Path) -> Iterator[Source]:
    from embodied_iqa.recording.reader import TrialReader  # noqa: PLC0415 - as above

    with TrialReader(path) as reader:
        for recorded in reader.pictures():
            match = _CAMERA_TOPIC.fullmatch(recorded.topic)
            view = match["view"] if match else recorded.topic
            stamp_ns = recorded.picture.stamp_ns
            name = f"{recorded.topic.strip('/').replace('/', '-')}/{stamp_ns}"
            yield Source(name, view, stamp_ns, recorded.picture.rgb)
