"""Writes a copy of a LeRobot data set, version 3.0, with other images and the same everything else."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from embodied_iqa.base.errors import InputError
from embodied_iqa.base.user_files.json_files import load_json
from embodied_iqa.data.lerobot.dataset import DatasetImage, LeRobotDataset
from embodied_iqa.data.lerobot.episodes import Episode
from embodied_iqa.data.lerobot.info import INFO_FILE
from embodied_iqa.data.lerobot.output import DatasetOutput, WrittenEpisode
from embodied_iqa.data.lerobot.parquet import column_types, unreadable
from embodied_iqa.data.lerobot.statistics import ImageCounts
from embodied_iqa.data.lerobot.video_output import VideoCodec
from embodied_iqa.imaging.images.stored_images import UnreadableImage

_ROWS: Final = 32
"""Rows of a row group, which hold their images."""
_OF_OLD: Final = ("total_chunks", "total_videos")
_STEP_S: Final = 1e-3
"""How far a step may be from its time in a video."""

_RANGE: Final = re.compile(r"(\d{1,12}):(\d{1,12})")

_Steps = list[tuple[int, NDArray[np.uint8]]]
Change = Callable[[DatasetImage], NDArray[np.uint8]]


class _DamagedSourceError(InputError):
    """What is wrong is in the source: the other episodes can be copied."""


@dataclass(frozen=True, slots=True)
class Copied:
    """What a copy holds.

    Attributes:
        episodes: Their number.
        steps: Steps of all.
        left_out: Why an episode of the source is not in it, by its number there.
    """

    episodes: int
    steps: int
    left_out: Mapping[int, str]


class DatasetCopy:
    """A copy of a data set, file by file: states, actions and all other columns keep their bits.

    Images are PNG in the Parquet files, without loss, also those of videos, or all are videos. Cameras of
    depth are left out, and so are episodes of which anything is damaged; the others are numbered from 0.

    Args:
        source: The data set.
        out: A new or empty folder.
        change: Image of the source to that of the copy, ``(H, W, 3)`` uint8 of the same size.
        codec: Of videos; None for images.

    Raises:
        InputError: The folder is not empty, or the source has no cameras or numbers its tasks otherwise.
    """

    def __init__(
        self, source: LeRobotDataset, out: Path, change: Change, codec: VideoCodec | None = None
    ) -> None:
        cameras = source.cameras()
        if sorted(source.tasks) != list(range(len(source.tasks))):
            raise InputError(f"{source.path} numbers its tasks with gaps", got=sorted(source.tasks))
        self._output = DatasetOutput(out, cameras, source.info.fps, codec)
        self._source, self._change, self._is_video = source, change, codec is not None
        self._files = 0
        self._kept: list[int] = []
        self._left_out: dict[int, str] = {}

    def write(self, progress: Callable[[int], None] = lambda _images: None) -> Copied:
        """Write it; nothing is left of one that fails.

        Args:
            progress: Called with the number of images done.

        Raises:
            InputError: No episode is whole, or the folder cannot be written.
        """
        with self._output.writing():
            for file, episodes in self._source.data_files():
                self._copy_whole(file.path, episodes, progress)
            if not self._kept:
                reason = next(iter(self._left_out.values()), None)
                raise InputError(f"{self._source.path}: no episode is whole", got=reason)
            tree = load_json(self._source.path / INFO_FILE, "the data set's")
            left_out = {*self._source.keys, *self._source.info.depth}
            features = {key: value for key, value in tree["features"].items() if key not in left_out}
            info = {name: value for name, value in tree.items() if name not in _OF_OLD}
            if isinstance(info.get("splits"), dict):
                info["splits"] = _renumbered(info["splits"], self._kept)
            tasks = [self._source.tasks[n] for n in range(len(self._source.tasks))]
            self._output.finish(info, features, tasks)
        return Copied(len(self._kept), self._output.steps, self._left_out)

    def _copy_whole(self, path: Path, episodes: Sequence[Episode], progress: Callable[[int], None]) -> None:
        """Copy the episodes of a file that are whole, and note why the others are left out.

        Where something of it is damaged, it is read again for each of its episodes.
        """
        if not episodes:
            return
        try:
            self._copy(path, episodes, progress)
        except _DamagedSourceError as error:
            faults = {one.index: fault for one in episodes if (fault := self._fault(path, one))}
            faults = faults or {one.index: str(error) for one in episodes}
            self._left_out |= faults
            self._copy_whole(path, [one for one in episodes if one.index not in faults], progress)

    def _fault(self, path: Path, episode: Episode) -> str:
        """Return what is damaged of an episode; empty for nothing."""
        try:
            for _ in self._of_rows(self._rows(path, [episode]), self._steps([episode.index])):
                pass
        except _DamagedSourceError as error:
            return str(error)
        return ""

    def _copy(self, path: Path, episodes: Sequence[Episode], progress: Callable[[int], None]) -> None:
        """Copy episodes of one file of the source to the next file."""
        rows = self._rows(path, episodes)
        numbered = self._numbered(rows, episodes)
        counts = {episode.index: {key: ImageCounts() for key in self._source.keys} for episode in episodes}
        steps = self._steps([episode.index for episode in episodes])
        with self._output.file(self._files, rows.schema) as file:
            for begin in range(0, rows.num_rows, _ROWS):
                part = rows.slice(begin, _ROWS)
                images: dict[str, _Steps] = {key: [] for key in self._source.keys}
                for image in self._of_rows(part, steps):
                    rgb = self._changed(image)
                    counts[image.step.episode][image.key].add(rgb)
                    images[image.key].append((image.step.index, rgb))
                file.write(numbered.slice(begin, _ROWS), images)
                progress((self._output.steps + begin + part.num_rows) * len(self._source.keys))
        written = [
            WrittenEpisode(number, one.tasks, one.steps, counts[one.index])
            for number, one in enumerate(episodes, len(self._kept))
        ]
        self._output.note(self._files, numbered, written)
        self._kept += [one.index for one in episodes]
        self._files += 1

    def _numbered(self, rows: pa.Table, episodes: Sequence[Episode]) -> pa.Table:
        """Return the rows with the numbers of episodes and steps that they have in the copy."""
        first, done = len(self._kept), self._output.steps
        numbers = [first + k for k, episode in enumerate(episodes) for _ in range(episode.steps)]
        for name, values in (("episode_index", numbers), ("index", range(done, done + rows.num_rows))):
            place = rows.schema.get_field_index(name)
            if place >= 0 and pa.types.is_integer(rows.schema.field(place).type):
                field = rows.schema.field(place)
                rows = rows.set_column(place, field, pa.array(list(values), field.type))
        return rows

    def _changed(self, image: DatasetImage) -> NDArray[np.uint8]:
        rgb = self._change(image)
        if rgb.shape != image.rgb.shape:
            raise InputError(f"{image.name} changed its size", expected=str(image.rgb.shape), got=rgb.shape)
        return rgb

    def _rows(self, path: Path, episodes: Sequence[Episode]) -> pa.Table:
        """Return all columns but images, of these episodes one after the other."""
        left_out = {*self._source.keys, *self._source.info.depth}
        try:
            kept = [name for name in column_types(path) if name not in left_out]
        except InputError as error:
            raise _DamagedSourceError(str(error)) from None
        missing = [name for name in ("episode_index", "frame_index", "timestamp") if name not in kept]
        if missing:
            raise _DamagedSourceError(f"{path} lacks a column", expected=missing[0], available=kept)
        try:
            rows = pq.read_table(path, columns=kept, partitioning=None)
            wanted = pa.array(
                [episode.index for episode in episodes], rows.schema.field("episode_index").type
            )
            rows = rows.filter(pc.is_in(rows["episode_index"], wanted)).replace_schema_metadata(None)
        except (OSError, ValueError, OverflowError, pa.ArrowException) as error:
            raise _DamagedSourceError(str(unreadable(path, error))) from None
        expected = [episode.index for episode in episodes for _ in range(episode.steps)]
        if rows["episode_index"].to_pylist() != expected:
            raise _DamagedSourceError(f"{path} does not hold its episodes one after the other")
        if self._is_video:
            self._check_times(path, rows, episodes)
        return rows

    def _check_times(self, path: Path, rows: pa.Table, episodes: Sequence[Episode]) -> None:
        """Check that each step has the time of its frame in a video, which follow each other evenly."""
        even_s = [k / self._source.info.fps for episode in episodes for k in range(episode.steps)]
        is_time = pa.types.is_floating(rows.schema.field("timestamp").type)
        times = np.array(rows["timestamp"].to_pylist() if is_time else [np.nan] * len(even_s), float)
        if not (np.abs(times - even_s) <= _STEP_S).all():
            fault = f"{path}: the steps are not evenly spaced"
            raise _DamagedSourceError(fault, expected="images without --video")

    def _steps(self, episodes: Sequence[int]) -> Iterator[DatasetImage]:
        for image in self._source.images(self._source.keys, episodes):
            if isinstance(image, UnreadableImage):
                raise _DamagedSourceError(str(image.error)) from image.error
            yield image

    def _of_rows(self, rows: pa.Table, images: Iterator[DatasetImage]) -> Iterator[DatasetImage]:
        """Yield the images of some rows, which come in the same order."""
        places = zip(rows["episode_index"].to_pylist(), rows["frame_index"].to_pylist(), strict=True)
        for place in places:
            for _ in self._source.keys:
                image = next(images, None)
                if image is None or (image.step.episode, image.step.index) != place:
                    fault = f"{self._source.path}: episode {place[0]}, step {place[1]} has no image"
                    raise _DamagedSourceError(fault)
                yield image


def _renumbered(splits: Mapping[str, Any], kept: Sequence[int]) -> dict[str, str]:
    """Return splits, ranges of episodes such as ``0:8``, by the numbers in the copy.

    Args:
        splits: By name; what is not a range is left out.
        kept: Numbers in the source, ascending.
    """
    ranges = {name: _RANGE.fullmatch(str(text)) for name, text in splits.items()}
    return {
        name: ":".join(str(bisect_left(kept, int(end))) for end in found.groups())
        for name, found in ranges.items()
        if found
    }
