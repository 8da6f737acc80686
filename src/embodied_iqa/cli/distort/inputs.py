"""Images for `embodied-iqa distort`, each with a name of its own."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path, PurePosixPath

from embodied_iqa.base.errors import InputError, UsageError
from embodied_iqa.imaging.distortions.batch import CleanImage
from embodied_iqa.imaging.distortions.manifest import Failure
from embodied_iqa.imaging.distortions.stream import VIEW_OF_FILES
from embodied_iqa.imaging.images.stored_images import Frames, StoredImage, UnreadableImage


def check_topics(frames: Frames, topics: Sequence[str]) -> None:
    """Check that only topics of recordings and keys of data sets were given.

    Raises:
        UsageError: Topics were given, but the images are in files or a video.
    """
    if topics and "" in frames.topics:
        expected = "a recording or data set"
        raise UsageError("images in files have no topics", expected=expected, got="--only-topic")


def clean_images(
    frames: Frames, topics: Sequence[str] = (), keep_depth: Callable[[StoredImage], object] | None = None
) -> Iterator[CleanImage | Failure]:
    """Iterate over the images, in the order of their names or of their time.

    Files that would get one name, such as a.png and a.jpg, are failures, and so are names that are not UTF-8.

    Args:
        frames: The source.
        topics: Those that are wanted; empty for all.
        keep_depth: Called with each image of a recording, data set or video before it is yielded.

    Raises:
        InputError: No such topic, or a recording is damaged.
    """
    files: list[StoredImage] = []
    for image in frames.images(topics):
        if isinstance(image, UnreadableImage):
            yield Failure(image.what, str(image.error))
        elif isinstance(image.source, Path):
            place = os.fsencode(image.source).decode("utf-8", "replace")
            if place == str(image.source):
                files.append(image)
            else:  # the manifest could not name it
                error = InputError("a name that is not UTF-8", got=place)
                yield Failure(place, str(error))
        else:
            if keep_depth is not None:
                keep_depth(image)
            view = VIEW_OF_FILES if not image.topic else frames.view_of(image.topic) or image.topic
            yield CleanImage(image.name, view, image.stamp_ns, image.source)
    yield from _files(files)


def _files(images: Sequence[StoredImage]) -> Iterator[CleanImage | Failure]:
    names: dict[str, list[StoredImage]] = {}
    for image in images:
        names.setdefault(PurePosixPath(image.name).with_suffix("").as_posix(), []).append(image)
    for name, found in names.items():
        if len(found) == 1:
            yield CleanImage(name, VIEW_OF_FILES, None, found[0].source)
            continue
        others = ", ".join(image.title for image in found)
        for image in found:
            error = InputError(
                f"{str(image.source)!r} would get the name of another image",
                expected="different names",
                got=others,
            )
            yield Failure(str(image.source), str(error))
