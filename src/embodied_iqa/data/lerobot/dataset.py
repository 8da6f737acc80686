"""A LeRobot data set in a local folder, versions 2.0 to 3.0: episodes, steps and images."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any, Final, Self

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.base.errors import InputError
from embodied_iqa.base.units import SECOND_NS
from embodied_iqa.data.lerobot.episodes import Episode, read_episodes, read_tasks
from embodied_iqa.data.lerobot.info import DatasetCamera, is_inside, read_info
from embodied_iqa.data.lerobot.steps import DataFile, Step
from embodied_iqa.data.lerobot.video import Video
from embodied_iqa.imaging.images.codecs import decode_rgb, is_jpeg_file, read_image
from embodied_iqa.imaging.images.frame import View
from embodied_iqa.imaging.images.header_size import is_jpeg
from embodied_iqa.imaging.images.stored_images import Coding, UnreadableImage

_IMAGE_FILES: Final = (
    "images/{key}/episode_{episode:06d}/frame_{step:06d}.png",
    "images/{key}/episode-{episode:06d}/frame-{step:06d}.png",
)
"""Where version 2 and 3 put images that are not in the Parquet file."""


@dataclass(frozen=True, slots=True, eq=False)
class DatasetImage:
    """An image of a step.

    Attributes:
        step: The step, with task, state and action.
        key: The camera's key.
        rgb: ``(H, W, 3)`` uint8, red first. Read-only.
        coding: How it is stored, by its content.
    """

    step: Step
    key: str
    rgb: NDArray[np.uint8]
    coding: Coding = Coding.LOSSLESS

    @property
    def name(self) -> str:
        """Camera, episode and step as a path without a suffix."""
        return image_name(self.key, self.step)


def image_name(key: str, step: Step) -> str:
    """Return camera, episode and step as a path without a suffix."""
    return f"{key}/episode_{step.episode:06d}/frame_{step.index:06d}"


class LeRobotDataset:
    """A data set. Its files are read as they are asked for.

    Args:
        path: The folder that holds ``meta/info.json``.

    Attributes:
        path: The folder.
        info: Version, rate, cameras.
        tasks: By number.
        episodes: By number.

    Raises:
        InputError: It is no data set, of another version, or its descriptions are damaged.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.info = read_info(path)
        self.tasks = read_tasks(path, self.info)
        self.episodes = read_episodes(path, self.info)

    @property
    def keys(self) -> tuple[str, ...]:
        """Keys of the cameras."""
        return tuple(camera.key for camera in self.info.cameras)

    def views(self) -> dict[View, str]:
        """Return the cameras by the last part of their key, ``top`` of ``observation.images.top``.

        Raises:
            InputError: Two have the same.
        """
        found: dict[View, str] = {}
        for camera in self.info.cameras:
            if camera.view in found:
                raise InputError(
                    f"{self.path} has several cameras {camera.view}", expected="--topic", available=self.keys
                )
            if camera.view is not None:
                found[camera.view] = camera.key
        return found

    def cameras(self, keys: Sequence[str] = ()) -> tuple[DatasetCamera, ...]:
        """Return cameras by their keys, by default all.

        Raises:
            InputError: There are none, or none of a key.
        """
        known = {camera.key: camera for camera in self.info.cameras}
        wrong = [key for key in keys if key not in known]
        if wrong:
            fault = "camera of colour" if wrong[0] in self.info.depth else "such camera"
            raise InputError(f"{self.path}: no {fault}", got=wrong[0], available=known)
        if not known:
            raise InputError(f"{self.path} has no cameras", got=", ".join(self.info.depth) or None)
        return tuple(known[key] for key in keys) or self.info.cameras

    def count(self, keys: Sequence[str] = ()) -> int:
        """Return the number of images of some cameras, by default all.

        Raises:
            InputError: As for `cameras`.
        """
        return len(self.cameras(keys)) * sum(episode.steps for episode in self.episodes)

    def starts_ns(self) -> dict[int, int]:
        """Return when each episode would start if one followed the other without a pause."""
        starts_ns, steps = {}, 0
        for episode in self.episodes:
            starts_ns[episode.index] = round(steps / self.info.fps * SECOND_NS)
            steps += episode.steps
        return starts_ns

    def steps(self, episodes: Collection[int] | None = None) -> Iterator[Step]:
        """Iterate over the steps of episodes, by default all: tasks, states and actions without images.

        Raises:
            InputError: No such episode, or a file is damaged.
        """
        for step in self.listed_steps(episodes):
            if isinstance(step, UnreadableImage):
                raise step.error
            yield step

    def listed_steps(self, episodes: Collection[int] | None = None) -> Iterator[Step | UnreadableImage]:
        """Iterate over steps as `steps` does; what is damaged is named, and the rest is read.

        Raises:
            InputError: No such episode.
        """
        for found in self._rows(episodes, ()):
            yield found if isinstance(found, UnreadableImage) else found[1]

    def images(
        self, keys: Sequence[str] = (), episodes: Collection[int] | None = None
    ) -> Iterator[DatasetImage | UnreadableImage]:
        """Iterate over the images of cameras, by default all, in the order of the steps.

        What is damaged is named, and the rest is read.

        Args:
            keys: Of the cameras; empty for all.
            episodes: Their numbers; None for all.

        Raises:
            InputError: No such camera or episode.
            MissingDependencyError: There are videos, and PyAV is not installed.
        """
        cameras = self.cameras(keys)
        stored = [camera.key for camera in cameras if not camera.is_video]
        with _Videos(self.path) as videos:
            for row in self._rows(episodes, stored):
                if isinstance(row, UnreadableImage):
                    yield row
                    continue
                episode, step, cells = row
                for camera in cameras:
                    if not camera.is_video:
                        yield self._stored(camera, step, cells[camera.key])
                    elif (found := videos.image(camera, episode, step)) is not None:
                        yield found

    def data_files(self, episodes: Collection[int] | None = None) -> Iterator[tuple[DataFile, list[Episode]]]:
        """Iterate over the Parquet files of episodes, by default all, each with its episodes.

        Raises:
            InputError: No such episode.
        """
        known = {episode.index for episode in self.episodes}
        unknown = sorted(set(episodes or ()) - known)
        if unknown:
            raise InputError(
                f"{self.path} has no such episode", expected=f"one of {len(known)}", got=unknown[0]
            )
        wanted = [one for one in self.episodes if episodes is None or one.index in episodes]
        for name, group in groupby(wanted, lambda episode: episode.data_file):
            yield DataFile(self.path / name, self.info, self.tasks), list(group)

    def _rows(
        self, episodes: Collection[int] | None, cells: Sequence[str]
    ) -> Iterator[tuple[Episode, Step, dict[str, Any]] | UnreadableImage]:
        """Iterate over episodes, steps and cells of columns; what is damaged is named."""
        for file, group in self.data_files(episodes):
            try:
                for episode, step, found in file.steps(group, cells):
                    if isinstance(step, InputError):
                        yield UnreadableImage(f"episode {episode.index}", step)
                    else:
                        yield episode, step, found
            except InputError as error:
                numbers = ", ".join(str(episode.index) for episode in group)
                yield UnreadableImage(
                    f"episodes {numbers}" if len(group) > 1 else f"episode {numbers}", error
                )

    def _stored(self, camera: DatasetCamera, step: Step, cell: Any) -> DatasetImage | UnreadableImage:
        place = f"{camera.key}, episode {step.episode}, step {step.index}"
        try:
            rgb, was_jpeg = self._decoded(camera, step, cell, place)
        except InputError as error:
            return UnreadableImage(place, error, image_name(camera.key, step))
        height_px, width_px = rgb.shape[:2]
        if (width_px, height_px) != (camera.width_px, camera.height_px):
            size, got = f"{camera.width_px}x{camera.height_px}", f"{width_px}x{height_px}"
            wrong = InputError(f"the image of {place} has another size", expected=size, got=got)
            return UnreadableImage(place, wrong, image_name(camera.key, step))
        return DatasetImage(step, camera.key, rgb, Coding.JPEG if was_jpeg else Coding.LOSSLESS)

    def _decoded(
        self, camera: DatasetCamera, step: Step, cell: Any, place: str
    ) -> tuple[NDArray[np.uint8], bool]:
        """Return the pixels of an image, and whether it is a JPEG."""
        content, path = (cell.get("bytes"), cell.get("path")) if isinstance(cell, dict) else (None, None)
        if isinstance(content, bytes):
            return decode_rgb(content, f"the image of {place}"), is_jpeg(content)
        names = [name.format(key=camera.key, episode=step.episode, step=step.index) for name in _IMAGE_FILES]
        if isinstance(path, str) and is_inside(path):
            names.append(path)
        for name in names:
            if _is_file(self.path / name):
                return read_image(self.path / name), is_jpeg_file(self.path / name)
        raise InputError(f"the image of {place} is missing", expected="in the Parquet file", available=names)


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:  # such as a name that is too long
        return False


class _Videos:
    """The open videos of each camera; an episode whose video is damaged is reported once."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._open: dict[str, tuple[str, Video]] = {}
        self._lost: set[tuple[str, int]] = set()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for opened in self._open.values():
            opened[1].close()

    def image(
        self, camera: DatasetCamera, episode: Episode, step: Step
    ) -> DatasetImage | UnreadableImage | None:
        """Return a step's image; None for the rest of an episode that was reported."""
        if (camera.key, episode.index) in self._lost:
            return None
        try:
            part = episode.videos[camera.key]
            video = self._video(camera, part.file)
            rgb = video.at(part.start_s + step.time_s)
        except InputError as error:
            self._lost.add((camera.key, episode.index))
            return UnreadableImage(f"{camera.key}, episode {episode.index} from step {step.index}", error)
        return DatasetImage(step, camera.key, rgb, Coding.VIDEO if video.is_lossy else Coding.LOSSLESS)

    def _video(self, camera: DatasetCamera, file: str) -> Video:
        opened = self._open.pop(camera.key, None)
        if opened is not None and opened[0] != file:
            opened[1].close()
            opened = None
        if opened is None:
            opened = file, Video(self._folder / file, camera.width_px, camera.height_px)
        self._open[camera.key] = opened
        return opened[1]
