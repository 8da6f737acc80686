"""Images of the cameras that the gate judges, from anything that yields stored images."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.base.errors import InputError, UsageError
from embodied_iqa.data.frames.any_frames import open_frames, readable
from embodied_iqa.imaging.images.frame import View, ordered_views
from embodied_iqa.imaging.images.stored_images import Frames, chosen_topics


@dataclass(frozen=True, slots=True, eq=False)
class StoredFrame:
    """A stored image of a camera.

    Attributes:
        view: The camera.
        name: The file's name, topic and stamp, or camera, episode and step.
        stamp_ns: When it was taken, on the clock of its source; None where that is not known.
        rgb: ``(H, W, 3)`` uint8, red first. Read-only.
    """

    view: View
    name: str
    stamp_ns: int | None
    rgb: NDArray[np.uint8]


class CameraFrames:
    """The images of some cameras.

    Args:
        source: An image, a folder of images, or one folder per camera with its name; a video; a recording; a
            LeRobot data set.
        views: The cameras; empty for all. Exactly one where the source does not name its only camera.
        topics: Topic to camera; by default those that name their camera, see `Frames.views`.

    Raises:
        UsageError: The source has images of one camera, and ``views`` does not name it.
        InputError: It cannot be read, or has no images, or none of a camera or topic.
    """

    def __init__(self, source: Path, views: Sequence[View], topics: Mapping[str, View]) -> None:
        self._frames = open_frames(source)
        self._cameras = dict(topics or _cameras(self._frames, views))
        chosen_topics(source, tuple(self._cameras), self._frames.topics)

    def __len__(self) -> int:
        return self._frames.count(tuple(self._cameras))

    def __iter__(self) -> Iterator[StoredFrame]:
        for image in readable(self._frames.images(tuple(self._cameras))):
            yield StoredFrame(self._cameras[image.topic], image.title, image.stamp_ns, image.rgb)


def _cameras(frames: Frames, views: Sequence[View]) -> dict[str, View]:
    """Return the topics of some cameras, by default of all that topics name."""
    if "" in frames.topics:
        if len(views) != 1:
            raise UsageError(f"{frames.path} holds images of one camera", expected="--view with its name")
        return {"": views[0]}
    named = frames.views()
    if not named:
        if len(frames.topics) == len(views) == 1:
            return {next(iter(frames.topics)): views[0]}
        raise InputError(
            f"{frames.path} has no camera with a default name", expected="--topic", available=frames.topics
        )
    for view in views:
        if view not in named:
            raise InputError(
                f"{frames.path} has no images of this camera", got=str(view), available=ordered_views(named)
            )
    return {named[view]: view for view in views or ordered_views(named)}
