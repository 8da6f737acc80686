"""Episodes and tasks of a LeRobot data set: JSON lines in versions 2, Parquet in version 3."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pyarrow as pa

from embodied_iqa.base.errors import InputError
from embodied_iqa.base.user_files.json_files import MOST_JSON_BYTES, parse_json
from embodied_iqa.base.user_files.texts import read_text
from embodied_iqa.data.lerobot.info import DatasetInfo
from embodied_iqa.data.lerobot.parquet import batches, column_types

_ROWS: Final = 4096
_MOST: Final = 1 << 40


@dataclass(frozen=True, slots=True)
class VideoPart:
    """The part of a video that shows an episode.

    Attributes:
        file: Its path below the data set's folder.
        start_s: Time in the video of the episode's start.
    """

    file: str
    start_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Episode:
    """An episode.

    Attributes:
        index: Its number.
        tasks: What it shows, in words.
        steps: How many it has.
        data_file: Path of its Parquet file, which it may share, below the data set's folder.
        videos: By the key of their camera, of depth too where the data set lists them.
    """

    index: int
    tasks: tuple[str, ...]
    steps: int
    data_file: str
    videos: Mapping[str, VideoPart]


def read_tasks(folder: Path, info: DatasetInfo) -> dict[int, str]:
    """Return the tasks by their number.

    Raises:
        InputError: They cannot be read.
    """
    if _is_old(info):
        path = folder / "meta/tasks.jsonl"
        rows = [(row.get("task_index"), row.get("task")) for row in _lines(path)]
    else:
        path = folder / "meta/tasks.parquet"
        types = column_types(path)
        texts = [
            name for name, kind in types.items() if pa.types.is_string(kind) or pa.types.is_large_string(kind)
        ]
        texts = ["task"] if "task" in texts else texts
        if len(texts) != 1:  # the library writes them as the table's index, which may have no name
            raise InputError(f"{path} has other columns", expected="task_index and a text", available=types)
        found = batches(path, ("task_index", texts[0]), _ROWS)
        rows = [pair for one in found for pair in zip(one["task_index"], one[texts[0]], strict=True)]
    return {_whole(path, "task_index", number): _text(path, "task", text) for number, text in rows}


def read_episodes(folder: Path, info: DatasetInfo) -> tuple[Episode, ...]:
    """Return the episodes by their number.

    Raises:
        InputError: They cannot be read, contradict each other, or are others than `meta/info.json` says.
    """
    found = list(_old_episodes(folder, info) if _is_old(info) else _new_episodes(folder, info))
    episodes = {episode.index: episode for episode in found}
    if len(episodes) < len(found):
        raise InputError(f"{folder}: an episode is listed twice")
    if len(found) != info.episodes:
        raise InputError(
            f"{folder}: meta/info.json and the list of episodes differ",
            expected=f"{info.episodes} episodes",
            got=len(found),
        )
    return tuple(episodes[index] for index in sorted(episodes))


def _is_old(info: DatasetInfo) -> bool:
    return info.version.startswith("v2")


def _old_episodes(folder: Path, info: DatasetInfo) -> Iterator[Episode]:
    path = folder / "meta/episodes.jsonl"
    videos = [camera.key for camera in info.cameras if camera.is_video]
    videos += [camera.key for camera in info.depth.values() if camera.is_video and info.video_path.text]
    for row in _lines(path):
        index = _whole(path, "episode_index", row.get("episode_index"))
        place = {"episode_chunk": index // info.chunk, "episode_index": index}
        yield Episode(
            index,
            _texts(path, row.get("tasks")),
            _whole(path, "length", row.get("length")),
            info.data_path.fill(**place),
            {key: VideoPart(info.video_path.fill(**place, video_key=key)) for key in videos},
        )


def _new_episodes(folder: Path, info: DatasetInfo) -> Iterator[Episode]:
    files = sorted(folder.glob("meta/episodes/*/*.parquet"))
    if not files:
        raise InputError(f"{folder} lists no episodes", expected="meta/episodes/chunk-000/file-000.parquet")
    for path in files:
        videos = [camera.key for camera in info.cameras if camera.is_video]
        present = set(column_types(path))
        videos += [  # without its columns a data set lacks its depth alone
            camera.key
            for camera in info.depth.values()
            if camera.is_video and info.video_path.text and present.issuperset(_video_columns(camera.key))
        ]
        columns = ["episode_index", "tasks", "length", "data/chunk_index", "data/file_index"]
        columns += [name for key in videos for name in _video_columns(key)]
        for found in batches(path, columns, _ROWS):
            for values in zip(*found.values(), strict=True):
                yield _new_episode(path, info, videos, dict(zip(found, values, strict=True)))


def _video_columns(key: str) -> list[str]:
    return [f"videos/{key}/{name}" for name in ("chunk_index", "file_index", "from_timestamp")]


def _new_episode(path: Path, info: DatasetInfo, videos: list[str], row: Mapping[str, Any]) -> Episode:
    def place(prefix: str) -> dict[str, int]:
        names = ("chunk_index", "file_index")
        return {name: _whole(path, f"{prefix}/{name}", row[f"{prefix}/{name}"]) for name in names}

    parts = {}
    for key in videos:
        start_s = row[f"videos/{key}/from_timestamp"]
        if isinstance(start_s, bool) or not isinstance(start_s, int | float) or not 0 <= start_s < _MOST:
            raise _wrong(path, "from_timestamp", "seconds from 0", start_s)
        file = info.video_path.fill(**place(f"videos/{key}"), video_key=key)
        parts[key] = VideoPart(file, float(start_s))
    return Episode(
        _whole(path, "episode_index", row["episode_index"]),
        _texts(path, row["tasks"]),
        _whole(path, "length", row["length"]),
        info.data_path.fill(**place("data")),
        parts,
    )


def _lines(path: Path) -> Iterator[Mapping[str, Any]]:
    text = read_text(path, "the data set's", most_bytes=MOST_JSON_BYTES)
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            row = parse_json(line, str(path), number)
            if not isinstance(row, dict):
                raise InputError(f"{path}:{number}: not an object")
            yield row


def _whole(path: Path, name: str, value: object) -> int:
    if type(value) is not int or not 0 <= value < _MOST:
        raise _wrong(path, name, "a whole number from 0", value)
    return value


def _text(path: Path, name: str, value: object) -> str:
    if not isinstance(value, str):
        raise _wrong(path, name, "text", value)
    return value


def _texts(path: Path, value: object) -> tuple[str, ...]:
    words = [value] if isinstance(value, str) else value
    if not isinstance(words, list):
        raise _wrong(path, "tasks", "a list of texts", value)
    return tuple(_text(path, "tasks", word) for word in words)


def _wrong(path: Path, name: str, expected: str, got: object) -> InputError:
    return InputError(f"{path}: wrong {name}", expected=expected, got="nothing" if got is None else got)
