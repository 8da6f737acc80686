"""Inputs of `embodied-iqa distort`: a picture, a folder of pictures, or a recording."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from embodied_iqa.base.errors import InputError
from embodied_iqa.data.recording.reader import TrialReader
from embodied_iqa.imaging.distortions.batch import CleanPicture
from embodied_iqa.imaging.images.codecs import picture_files

_CAMERA_TOPIC: Final = re.compile(r"/camera/(?P<view>[^/]+)/image_raw")


def count_pictures(path: Path) -> int:
    """Return the number of pictures.

    Raises:
        InputError: The input does not exist or has no picture.
    """
    if path.suffix == ".mcap":
        with TrialReader(path) as reader:
            return sum(reader.topics[topic].messages for topic in reader.picture_topics())
    return len(_files(path))


def clean_pictures(path: Path) -> Iterator[CleanPicture]:
    """Iterate over the pictures, in the order of their names or of their time.

    Raises:
        InputError: As for ``count_pictures``, or a recording is damaged.
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
        yield CleanPicture(name, name, 0, file)


def _files(path: Path) -> list[Path]:
    if path.is_dir():
        return picture_files(path, recursive=True)
    if not path.is_file():
        raise InputError(
            "no such input", expected="a picture, a folder of pictures or an .mcap file", got=str(path)
        )
    return [path]


def _frames(path: Path) -> Iterator[CleanPicture]:
    with TrialReader(path) as reader:
        for recorded in reader.pictures():
            match = _CAMERA_TOPIC.fullmatch(recorded.topic)
            view = match["view"] if match else recorded.topic
            stamp_ns = recorded.picture.stamp_ns
            name = f"{recorded.topic.strip('/').replace('/', '-')}/{stamp_ns}"
            yield CleanPicture(name, view, stamp_ns, recorded.picture.rgb)
