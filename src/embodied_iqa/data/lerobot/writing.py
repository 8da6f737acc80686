"""Writes a copy of a LeRobot data set, version 3.0, with other images and the same everything else."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import cv2
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from embodied_iqa.base.errors import InputError, first_line
from embodied_iqa.base.user_files.json_files import load_json
from embodied_iqa.data.lerobot.dataset import DatasetImage, LeRobotDataset
from embodied_iqa.data.lerobot.episodes import Episode
from embodied_iqa.data.lerobot.info import INFO_FILE
from embodied_iqa.data.lerobot.parquet import column_types, unreadable
from embodied_iqa.data.lerobot.statistics import ImageCounts, as_numbers, joined, statistics_of
from embodied_iqa.imaging.images.stored_images import UnreadableImage

DATA_PATH: Final = "data/chunk-{chunk_index:03d}/file-{file_index:03d}.parquet"
EPISODES_FILE: Final = "meta/episodes/chunk-000/file-000.parquet"
TASKS_FILE: Final = "meta/tasks.parquet"
STATS_FILE: Final = "meta/stats.json"
_FILES_A_CHUNK: Final = 1000
_ROWS: Final = 32
"""Rows of a row group, which hold their images."""
_CELL: Final = pa.struct({"bytes": pa.binary(), "path": pa.string()})
_SIZES: Final = {"data_files_size_in_mb": 100, "video_files_size_in_mb": 200}
_OF_OLD: Final = ("total_chunks", "total_videos")
_INDEX: Final = "__index_level_0__"

Change = Callable[[DatasetImage], NDArray[np.uint8]]


class DatasetCopy:
    """A copy of a data set, file by file: states, actions and all other columns keep their bits.

    Images are PNG in the Parquet files, without loss, also those of videos. Cameras of depth are left out.

    Args:
        source: The data set.
        out: A new or empty folder.
        change: Image of the source to that of the copy, ``(H, W, 3)`` uint8 of the same size.

    Raises:
        InputError: The folder is not empty, or the source has no cameras or numbers its tasks otherwise.
    """

    def __init__(self, source: LeRobotDataset, out: Path, change: Change) -> None:
        if out.exists() and (not out.is_dir() or any(out.iterdir())):
            raise InputError(f"{out} is not empty", expected="a new or empty folder for the data set")
        source.cameras()
        if sorted(source.tasks) != list(range(len(source.tasks))):
            raise InputError(f"{source.path} numbers its tasks with gaps", got=sorted(source.tasks))
        self._source, self._out, self._change = source, out, change
        self._images = {key: ImageCounts() for key in source.keys}
        self._numbers: dict[str, list[NDArray[np.float64] | None]] = {}
        self._episodes: list[dict[str, Any]] = []
        self._done = 0

    def write(self, progress: Callable[[int], None] = lambda _images: None) -> None:
        """Write it; nothing is left of one that fails.

        Args:
            progress: Called with the number of images done.

        Raises:
            InputError: The source is damaged, or the folder cannot be written.
        """
        try:
            for number, (file, episodes) in enumerate(self._source.data_files()):
                self._copy(number, file.path, episodes, progress)
            self._write_meta()
        except BaseException as error:
            shutil.rmtree(self._out, ignore_errors=True)
            if isinstance(error, OSError | pa.ArrowException):
                reason = error.strerror if isinstance(error, OSError) else None
                raise InputError(f"cannot write {self._out}: {reason or first_line(error)}") from None
            raise

    def _copy(
        self, number: int, path: Path, episodes: Sequence[Episode], progress: Callable[[int], None]
    ) -> None:
        """Copy one file of the source with its episodes."""
        place = dict(zip(("chunk_index", "file_index"), divmod(number, _FILES_A_CHUNK), strict=True))
        target = self._out / DATA_PATH.format(**place)
        target.parent.mkdir(parents=True, exist_ok=True)
        rows = self._rows(path, episodes)
        counts = {episode.index: {key: ImageCounts() for key in self._source.keys} for episode in episodes}
        steps = self._steps([episode.index for episode in episodes])
        schema = pa.schema([*rows.schema, *(pa.field(key, _CELL) for key in self._source.keys)])
        with pq.ParquetWriter(target, schema) as writer:
            for begin in range(0, rows.num_rows, _ROWS):
                part = rows.slice(begin, _ROWS)
                cells: dict[str, list[dict[str, Any]]] = {key: [] for key in self._source.keys}
                for image in self._of_rows(part, steps):
                    rgb = self._change(image)
                    counts[image.step.episode][image.key].add(rgb)
                    cells[image.key].append(_cell(image, rgb))
                for key, values in cells.items():
                    part = part.append_column(key, pa.array(values, _CELL))
                writer.write_table(part)
                progress((self._done + begin + part.num_rows) * len(self._source.keys))
        self._note(rows, episodes, place, counts)

    def _rows(self, path: Path, episodes: Sequence[Episode]) -> pa.Table:
        """Return all columns but images, of these episodes one after the other."""
        left_out = {*self._source.keys, *self._source.info.depth}
        kept = [name for name in column_types(path) if name not in left_out]
        missing = [name for name in ("episode_index", "frame_index") if name not in kept]
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

    def _note(
        self,
        rows: pa.Table,
        episodes: Sequence[Episode],
        place: Mapping[str, int],
        counts: Mapping[int, Mapping[str, ImageCounts]],
    ) -> None:
        """Remember what `meta/` says about episodes that were written."""
        begin = 0
        for episode in episodes:
            part = rows.slice(begin, episode.steps)
            begin += episode.steps
            numbers = {name: _numbers(part[name]) for name in part.column_names}
            found = {name: statistics_of(values) for name, values in numbers.items()}
            for key, own in counts[episode.index].items():
                found[key] = own.statistics()
                self._images[key].merge(own)
            for name, own_numbers in numbers.items():
                self._numbers.setdefault(name, []).append(own_numbers)
            self._episodes.append(
                {"episode_index": episode.index, "tasks": list(episode.tasks), "length": episode.steps}
                | {f"data/{name}": value for name, value in place.items()}
                | {"dataset_from_index": self._done, "dataset_to_index": self._done + episode.steps}
                | {"meta/episodes/chunk_index": 0, "meta/episodes/file_index": 0}
                | {
                    f"stats/{name}/{what}": value
                    for name, of_one in found.items()
                    for what, value in (of_one or {}).items()
                }
            )
            self._done += episode.steps

    def _write_meta(self) -> None:
        tree = load_json(self._source.path / INFO_FILE, "the data set's")
        cameras = {camera.key: camera for camera in self._source.info.cameras}
        features = {}
        for key, feature in tree["features"].items():
            if key in cameras:
                shape = [cameras[key].height_px, cameras[key].width_px, 3]
                names = ["height", "width", "channels"]
                features[key] = {"dtype": "image", "shape": shape, "names": names}
            elif key not in self._source.info.depth:
                features[key] = feature
        totals = {
            "total_episodes": len(self._episodes),
            "total_frames": self._done,
            "total_tasks": len(self._source.tasks),
        }
        paths = {"data_path": DATA_PATH, "video_path": None, "chunks_size": _FILES_A_CHUNK}
        kept = {name: value for name, value in tree.items() if name not in _OF_OLD}
        info = kept | {"codebase_version": "v3.0"} | totals | paths | _SIZES | {"features": features}
        numbers = {name: statistics_of(joined(parts)) for name, parts in self._numbers.items()}
        images = {key: counts.statistics() for key, counts in self._images.items()}
        _write_json(self._out / STATS_FILE, {name: one for name, one in (numbers | images).items() if one})
        path = self._out / EPISODES_FILE
        path.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(
            pa.Table.from_pylist(sorted(self._episodes, key=lambda row: row["episode_index"])), path
        )
        write_tasks(self._out / TASKS_FILE, [self._source.tasks[n] for n in range(len(self._source.tasks))])
        # by this file a folder is a data set: one that was killed before is none
        _write_json(self._out / INFO_FILE, info)


def write_tasks(path: Path, tasks: Sequence[str]) -> None:
    """Write `meta/tasks.parquet`: a table of pandas whose index is the task, as the library reads it."""
    column = {"field_name": "task_index", "pandas_type": "int64", "numpy_type": "int64", "metadata": None}
    index = {"field_name": _INDEX, "pandas_type": "unicode", "numpy_type": "object", "metadata": None}
    note = {
        "index_columns": [_INDEX],
        "column_indexes": [],
        "columns": [{"name": "task_index", **column}, {"name": None, **index}],
        "pandas_version": "2.0.0",
    }
    table = pa.table({"task_index": pa.array(range(len(tasks)), pa.int64()), _INDEX: list(tasks)})
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(table.replace_schema_metadata({"pandas": json.dumps(note)}), path)


def _numbers(column: pa.ChunkedArray) -> NDArray[np.float64] | None:
    try:
        return as_numbers(column.to_pylist())
    except (ValueError, OverflowError):  # such as a date beyond Python's, or text that is not UTF-8
        return None


def _cell(image: DatasetImage, rgb: NDArray[np.uint8]) -> dict[str, Any]:
    if rgb.shape != image.rgb.shape:
        raise InputError(f"{image.name} changed its size", expected=str(image.rgb.shape), got=rgb.shape)
    bgr, options = cv2.cvtColor(rgb, cv2.COLOR_RGB2BGR), (cv2.IMWRITE_PNG_COMPRESSION, 1)
    content = cv2.imencode(".png", bgr, options)[1].tobytes()
    return {"bytes": content, "path": f"frame-{image.step.index:06d}.png"}


def _write_json(path: Path, tree: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(tree, indent=4, ensure_ascii=False), encoding="utf-8")
