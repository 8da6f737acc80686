"""Images of a LeRobot data set, with their tasks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from embodied_iqa.data.lerobot.dataset import DatasetImage, LeRobotDataset
from embodied_iqa.imaging.images.frame import View
from embodied_iqa.imaging.images.stored_images import StoredImage, UnreadableImage


class DatasetFrames:
    """Images of a data set, step by step; its episodes follow each other in time without a pause.

    Args:
        path: The data set.

    Attributes:
        path: As given.
        dataset: The data set, with states and actions.
        topics: Keys of the cameras, with the number of their images.

    Raises:
        InputError: It cannot be read, or has no cameras of colour.
    """

    kind = "data set"
    note = ""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.dataset = LeRobotDataset(path)
        cameras = self.dataset.cameras()
        self.topics: Mapping[str, int] = {camera.key: self.dataset.count([camera.key]) for camera in cameras}
        self._views = {camera.key: camera.view for camera in cameras}

    def views(self) -> dict[View, str]:
        """Return the cameras by the last part of their key."""
        return self.dataset.views()

    def view_of(self, topic: str) -> View | None:
        """Return the last part of a key as a view; None where it cannot name one."""
        return self._views[topic]

    def count(self, topics: Sequence[str] = ()) -> int:
        """Return the number of images of some cameras, by default all."""
        return self.dataset.count(topics)

    def listed(self, topics: Sequence[str] = ()) -> Iterator[StoredImage | UnreadableImage]:
        """Iterate over the images of some cameras, by default all, without their pixels: they are empty."""
        starts_ns, cameras = self.dataset.starts_ns(), self.dataset.cameras(topics)
        empty = np.empty((0, 0, 3), np.uint8)
        for step in self.dataset.listed_steps():
            if isinstance(step, UnreadableImage):
                yield step
                continue
            stamp_ns = starts_ns[step.episode] + step.stamp_ns
            for camera in cameras:
                name = DatasetImage(step, camera.key, empty).name
                yield StoredImage(name, name, camera.key, stamp_ns, empty, step.task)

    def tasks(self, topics: Sequence[str] = ()) -> tuple[str, ...]:
        """Return the instructions of the images of some cameras, by default all; no image is read."""
        images = (image for image in self.listed(topics) if isinstance(image, StoredImage))
        return tuple(dict.fromkeys(image.task for image in images if image.task))

    def images(self, topics: Sequence[str] = ()) -> Iterator[StoredImage | UnreadableImage]:
        """Iterate over the images of some cameras, by default all."""
        starts_ns = self.dataset.starts_ns()
        for found in self.dataset.images(topics):
            if isinstance(found, UnreadableImage):
                yield found
                continue
            step = found.step
            stamp_ns = starts_ns[step.episode] + step.stamp_ns
            name = found.name
            yield StoredImage(name, name, found.key, stamp_ns, found.rgb, step.task, found.coding)
