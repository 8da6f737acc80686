"""Writes a copy of a LeRobot data set, version 3.0, with other images and the same everything else."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final

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

_Steps = list[tuple[int, NDArray[np.uint8]]]
Change = Callable[[DatasetImage], NDArray[np.uint8]]


class DatasetCopy:
    """A copy of a data set, file by file: states, actions and all other columns keep their bits.

    Images are PNG in the Parquet files, without loss, also those of videos, or all are videos. Cameras of
    depth are left out.

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

    def write(self, progress: Callable[[int], None] = lambda _images: None) -> None:
        """Write it; nothing is left of one that fails.

        Args:
            progress: Called with the number of images done.

        Raises:
            InputError: The source is damaged, or the folder cannot be written.
        """
        with self._output.writing():
            for number, (file, episodes) in enumerate(self._source.data_files()):
                self._copy(number, file.path, episodes, progress)
            tree = load_json(self._source.path / INFO_FILE, "the data set's")
            left_out = {*self._source.keys, *self._source.info.depth}
            features = {key: value for key, value in tree["features"].items() if key not in left_out}
            kept = {name: value for name, value in tree.items() if name not in _OF_OLD}
            tasks = [self._source.tasks[n] for n in range(len(self._source.tasks))]
            self._output.finish(kept, features, tasks)

    def _copy(
        self, number: int, path: Path, episodes: Sequence[Episode], progress: Callable[[int], None]
    ) -> None:
        """Copy one file of the source with its episodes."""
        rows = self._rows(path, episodes)
        if self._is_video:
            self._check_times(path, rows)
        counts = {episode.index: {key: ImageCounts() for key in self._source.keys} for episode in episodes}
        steps = self._steps([episode.index for episode in episodes])
        with self._output.file(number, rows.schema) as file:
            for begin in range(0, rows.num_rows, _ROWS):
                part = rows.slice(begin, _ROWS)
                images: dict[str, _Steps] = {key: [] for key in self._source.keys}
                for image in self._of_rows(part, steps):
                    rgb = self._changed(image)
                    counts[image.step.episode][image.key].add(rgb)
                    images[image.key].append((image.step.index, rgb))
                file.write(part, images)
                progress((self._output.steps + begin + part.num_rows) * len(self._source.keys))
        written = [WrittenEpisode(one.index, one.tasks, one.steps, counts[one.index]) for one in episodes]
        self._output.note(number, rows, written)

    def _changed(self, image: DatasetImage) -> NDArray[np.uint8]:
        rgb = self._change(image)
        if rgb.shape != image.rgb.shape:
            raise InputError(f"{image.name} changed its size", expected=str(image.rgb.shape), got=rgb.shape)
        return rgb

    def _check_times(self, path: Path, rows: pa.Table) -> None:
        """Check that the frame of a step is where its time leads.

        Raises:
            InputError: The steps are not evenly spaced.
        """
        times, steps = (np.array(rows[name].to_pylist(), float) for name in ("timestamp", "frame_index"))
        late_s = np.abs(times.reshape(-1) - steps.reshape(-1) / self._source.info.fps)
        if not (late_s <= _STEP_S).all():
            raise InputError(f"{path}: the steps are not evenly spaced", expected="images without --video")

    def _rows(self, path: Path, episodes: Sequence[Episode]) -> pa.Table:
        """Return all columns but images, of these episodes one after the other."""
        left_out = {*self._source.keys, *self._source.info.depth}
        kept = [name for name in column_types(path) if name not in left_out]
        missing = [name for name in ("episode_index", "frame_index", "timestamp") if name not in kept]
        if missing:
            raise InputError(f"{path} lacks a column", expected=missing[0], available=kept)
        try:
            rows = pq.read_table(path, columns=kept, partitioning=None)
            wanted = pa.array(
                [episode.index for episode in episodes], rows.schema.field("episode_index").type
            )
            rows = rows.filter(pc.is_in(rows["episode_index"], wanted)).replace_schema_metadata(None)
        except (OSError, pa.ArrowException) as error:
            raise unreadable(path, error) from None
        expected = [episode.index for episode in episodes for _ in range(episode.steps)]
        if rows["episode_index"].to_pylist() != expected:
            raise InputError(f"{path} does not hold its episodes one after the other")
        return rows

    def _steps(self, episodes: Sequence[int]) -> Iterator[DatasetImage]:
        for image in self._source.images(self._source.keys, episodes):
            if isinstance(image, UnreadableImage):
                raise image.error
            yield image

    def _of_rows(self, rows: pa.Table, images: Iterator[DatasetImage]) -> Iterator[DatasetImage]:
        """Yield the images of some rows, which come in the same order."""
        places = zip(rows["episode_index"].to_pylist(), rows["frame_index"].to_pylist(), strict=True)
        for place in places:
            for _ in self._source.keys:
                image = next(images, None)
                if image is None or (image.step.episode, image.step.index) != place:
                    raise InputError(f"{self._source.path}: episode {place[0]}, step {place[1]} has no image")
                yield image
