"""A LeRobot data set, version 3.0, under construction: images, rows, statistics, and what `meta/` says."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import cv2
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from embodied_iqa.base.errors import InputError, first_line
from embodied_iqa.base.files import require_empty
from embodied_iqa.base.locks import take_lock
from embodied_iqa.data.lerobot.info import INFO_FILE, DatasetCamera
from embodied_iqa.data.lerobot.statistics import ImageCounts, as_numbers, joined, statistics_of
from embodied_iqa.data.lerobot.video_output import VideoCodec, VideoFile, feature_of_video

DATA_PATH: Final = "data/chunk-{chunk_index:03d}/file-{file_index:03d}.parquet"
VIDEO_PATH: Final = "videos/{video_key}/chunk-{chunk_index:03d}/file-{file_index:03d}.mp4"
EPISODES_FILE: Final = "meta/episodes/chunk-000/file-000.parquet"
TASKS_FILE: Final = "meta/tasks.parquet"
STATS_FILE: Final = "meta/stats.json"
FILES_A_CHUNK: Final = 1000
CELL: Final = pa.struct({"bytes": pa.binary(), "path": pa.string()})
_SIZES: Final = {"data_files_size_in_mb": 100, "video_files_size_in_mb": 200}
_INDEX: Final = "__index_level_0__"
_PARTIAL: Final = ".partial"


@dataclass(frozen=True, slots=True)
class WrittenEpisode:
    """An episode that is in a file.

    Attributes:
        index: Its number.
        tasks: What the robot was asked to do.
        steps: Their number.
        images: Of each camera, by key.
    """

    index: int
    tasks: tuple[str, ...]
    steps: int
    images: Mapping[str, ImageCounts]


class DatasetOutput:
    """A data set that is written beside its folder, and has its name when it is whole.

    Args:
        out: A new or empty folder.
        cameras: Their images are written.
        fps: Steps a second.
        codec: Of videos; None for images in the Parquet files, without loss.

    Raises:
        InputError: The folder is not empty, or the codec cannot hold images of this size.
    """

    def __init__(
        self, out: Path, cameras: Sequence[DatasetCamera], fps: float, codec: VideoCodec | None = None
    ) -> None:
        require_empty(out, "a new or empty folder for the data set")
        place = out.resolve()  # where a link leads: a folder cannot take the name of a link
        if place.is_mount() or place == Path.cwd():
            raise InputError(f"{out} is a mount point or the working directory", expected="a folder in it")
        odd = [camera for camera in cameras if codec and (camera.width_px % 2 or camera.height_px % 2)]
        if odd:
            got = f"{odd[0].key} of {odd[0].width_px}x{odd[0].height_px}"
            raise InputError("a video has even sizes", expected="images without --video", got=got)
        self._out, self._place = out, place
        self._root = place.with_name(f".{place.name}{_PARTIAL}")
        self._cameras, self._fps, self._codec = tuple(cameras), fps, codec
        self._images = {camera.key: ImageCounts() for camera in cameras}
        self._numbers: dict[str, list[NDArray[np.float64] | None]] = {}
        self._episodes: list[dict[str, Any]] = []
        self._done = 0

    @property
    def steps(self) -> int:
        """Steps written so far."""
        return self._done

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Give the data set its name at the end of the block; nothing is left of one that fails.

        Raises:
            InputError: The folder cannot be written.
        """
        try:
            with self._alone():
                try:
                    yield
                    self._root.rename(self._place)
                except BaseException:
                    shutil.rmtree(self._root, ignore_errors=True)
                    raise
        except BaseException as error:
            if isinstance(error, OSError | pa.ArrowException):
                reason = error.strerror if isinstance(error, OSError) else None
                raise InputError(f"cannot write {self._out}: {reason or first_line(error)}") from None
            raise

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Keep other processes from the unfinished folder in the block; what a killed one left is removed.

        Raises:
            InputError: Another process writes this data set.
        """
        self._root.mkdir(parents=True, exist_ok=True)
        folder = os.open(self._root, os.O_RDONLY | os.O_DIRECTORY)
        try:
            with suppress(OSError):  # a file system without locks
                if not take_lock(folder):
                    raise InputError(f"another process writes {self._out}")
            for entry in self._root.iterdir():
                shutil.rmtree(entry) if entry.is_dir() and not entry.is_symlink() else entry.unlink()
            yield
        finally:
            os.close(folder)

    @contextmanager
    def file(self, number: int, schema: pa.Schema) -> Iterator[DataFileOutput]:
        """Give a Parquet file with its videos in a block; nothing is left of one that fails.

        Args:
            number: Of the file.
            schema: Of all columns but images.
        """
        place = _place(number)
        path = self._root / DATA_PATH.format(**place)
        path.parent.mkdir(parents=True, exist_ok=True)
        videos, written = {}, [path]
        if self._codec is not None:
            for camera in self._cameras:
                file = self._root / VIDEO_PATH.format(**place, video_key=camera.key)
                videos[camera.key] = VideoFile(file, camera, self._fps, self._codec)
                written.append(file)
        keys = [camera.key for camera in self._cameras]
        columns = [] if videos else [pa.field(key, CELL) for key in keys]
        try:
            with pq.ParquetWriter(path, pa.schema([*schema, *columns])) as writer:
                yield DataFileOutput(writer, keys, videos)
            for video in videos.values():
                video.finish()
        except BaseException:
            for video in videos.values():
                video.close()
            for part in written:
                part.unlink(missing_ok=True)
            raise

    def note(self, number: int, rows: pa.Table, episodes: Sequence[WrittenEpisode]) -> None:
        """Remember what `meta/` says of the episodes of a file, one after the other.

        Args:
            number: Of the file.
            rows: All of its columns but images.
            episodes: In their order.
        """
        place, begin = _place(number), 0
        for episode in episodes:
            part = rows.slice(begin, episode.steps)
            numbers = {name: _numbers(part[name]) for name in part.column_names}
            found = {name: statistics_of(values) for name, values in numbers.items()}
            for key, own in episode.images.items():
                found[key] = own.statistics()
                self._images[key].merge(own)
            for name, own_numbers in numbers.items():
                self._numbers.setdefault(name, []).append(own_numbers)
            self._episodes.append(
                {"episode_index": episode.index, "tasks": list(episode.tasks), "length": episode.steps}
                | {f"data/{name}": value for name, value in place.items()}
                | {"dataset_from_index": self._done, "dataset_to_index": self._done + episode.steps}
                | {"meta/episodes/chunk_index": 0, "meta/episodes/file_index": 0}
                | self._of_videos(place, begin, episode.steps)
                | {
                    f"stats/{name}/{what}": value
                    for name, of_one in found.items()
                    for what, value in (of_one or {}).items()
                }
            )
            begin += episode.steps
            self._done += episode.steps

    def finish(self, info: Mapping[str, Any], features: Mapping[str, Any], tasks: Sequence[str]) -> None:
        """Write `meta/`.

        Args:
            info: Fields of `meta/info.json` that are not of this writer, such as the type of the robot.
            features: Of all columns but images.
            tasks: By number.
        """
        totals = {
            "total_episodes": len(self._episodes),
            "total_frames": self._done,
            "total_tasks": len(tasks),
        }
        paths = {"data_path": DATA_PATH, "video_path": VIDEO_PATH if self._codec else None}
        every = dict(features) | {camera.key: self._feature(camera) for camera in self._cameras}
        own = {"codebase_version": "v3.0", "fps": self._fps, "chunks_size": FILES_A_CHUNK}
        tree = dict(info) | own | totals | paths | _SIZES | {"features": every}
        whole = int(self._fps) if self._fps.is_integer() else self._fps
        tree["fps"] = info.get("fps", whole)
        numbers = {name: statistics_of(joined(parts)) for name, parts in self._numbers.items()}
        images = {key: counts.statistics() for key, counts in self._images.items()}
        _write_json(self._root / STATS_FILE, {name: one for name, one in (numbers | images).items() if one})
        path = self._root / EPISODES_FILE
        path.parent.mkdir(parents=True, exist_ok=True)
        rows = sorted(self._episodes, key=lambda row: int(row["episode_index"]))
        pq.write_table(pa.Table.from_pylist(rows), path)
        write_tasks(self._root / TASKS_FILE, tasks)
        # by this file a folder is a data set: one that was killed before is none
        _write_json(self._root / INFO_FILE, tree)

    def _feature(self, camera: DatasetCamera) -> dict[str, Any]:
        shape, names = [camera.height_px, camera.width_px, 3], ["height", "width", "channels"]
        if self._codec is None:
            return {"dtype": "image", "shape": shape, "names": names}
        return {"dtype": "video", "shape": shape, "names": names} | feature_of_video(
            camera, self._fps, self._codec
        )

    def _of_videos(self, place: Mapping[str, int], begin: int, steps: int) -> dict[str, Any]:
        if self._codec is None:
            return {}
        times = {"from_timestamp": begin / self._fps, "to_timestamp": (begin + steps) / self._fps}
        return {
            f"videos/{camera.key}/{name}": value
            for camera in self._cameras
            for name, value in (dict(place) | times).items()
        }


class DataFileOutput:
    """A Parquet file that is being written, with the videos beside it."""

    def __init__(self, writer: Any, keys: Sequence[str], videos: Mapping[str, VideoFile]) -> None:
        self._writer, self._keys, self._videos = writer, tuple(keys), videos

    def write(self, rows: pa.Table, images: Mapping[str, Sequence[tuple[int, NDArray[np.uint8]]]]) -> None:
        """Append rows with the images of each camera: number of the step in its episode, and pixels."""
        for key in self._keys:
            if key in self._videos:
                for _, rgb in images[key]:
                    self._videos[key].add(rgb)
            else:
                rows = rows.append_column(key, pa.array([_cell(*one) for one in images[key]], CELL))
        self._writer.write_table(rows)


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


def _place(number: int) -> dict[str, int]:
    return dict(zip(("chunk_index", "file_index"), divmod(number, FILES_A_CHUNK), strict=True))


def _numbers(column: pa.ChunkedArray) -> NDArray[np.float64] | None:
    try:
        return as_numbers(column.to_pylist())
    except (ValueError, OverflowError):  # such as a date beyond Python's, or text that is not UTF-8
        return None


def _cell(step: int, rgb: NDArray[np.uint8]) -> dict[str, Any]:
    bgr, options = cv2.cvtColor(rgb, cv2.COLOR_RGB2BGR), (cv2.IMWRITE_PNG_COMPRESSION, 1)
    return {"bytes": cv2.imencode(".png", bgr, options)[1].tobytes(), "path": f"frame-{step:06d}.png"}


def _write_json(path: Path, tree: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps(tree, indent=4, ensure_ascii=False, allow_nan=False)
    path.write_text(text, encoding="utf-8")
