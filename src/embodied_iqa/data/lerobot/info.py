"""What `meta/info.json` of a LeRobot data set says, checked: version, rate, cameras, names of files."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from string import Formatter
from typing import Any, Final

from embodied_iqa.base.errors import InputError
from embodied_iqa.base.user_files.json_files import load_json
from embodied_iqa.imaging.images.frame import View, is_view

INFO_FILE: Final = "meta/info.json"
STATE: Final = "observation.state"
ACTION: Final = "action"
_WHAT: Final = "the data set's"
_VERSIONS: Final = ("v2.0", "v2.1", "v3.0")
"""Versions 2.0 and 2.1 differ in their statistics alone, which are not read."""
_KINDS: Final = ("image", "video")
_MOST_PX: Final = 16384
_LEAST_FPS: Final = 0.001
_MOST_FPS: Final = 100_000
_MOST_NUMBERS: Final = 1 << 20
_FIELDS: Final = frozenset(
    {"episode_chunk", "episode_index", "chunk_index", "file_index", "video_key", "image_key", "frame_index"}
)
_SPEC: Final = re.compile(r"(0?\d)?d?")
_CODES: Final = ("depth_min", "depth_max", "shift")
_DEPTH: Final = ("video.is_depth_map", "is_depth_map")


def is_lerobot(path: Path) -> bool:
    """Return whether a folder is a LeRobot data set."""
    return (path / INFO_FILE).is_file()


@dataclass(frozen=True, slots=True)
class PathTemplate:
    """Name of a data set's files, such as ``data/chunk-{chunk_index:03d}/file-{file_index:03d}.parquet``.

    Args:
        text: Of the file; it may use the published fields and whole numbers alone.

    Raises:
        InputError: It uses something else.
    """

    text: str

    def __post_init__(self) -> None:
        try:
            parts = list(Formatter().parse(self.text))
        except ValueError as error:
            raise self._wrong(str(error)) from None
        for _, field, spec, conversion in parts:
            if field is not None and (field not in _FIELDS or conversion or not _SPEC.fullmatch(spec or "")):
                raise self._wrong(f"{{{field}}}")
        if self.text.startswith("/") or ".." in self.text:
            raise self._wrong("a place outside the data set")
        if not self.text.isprintable():  # half a surrogate pair is in no name of a file
            raise self._wrong("characters that do not print")

    def fill(self, **values: int | str) -> str:
        """Return the path of a file below the data set's folder.

        Raises:
            InputError: The path would lead out of the folder, or the template asks for another value.
        """
        try:
            path = self.text.format(**values)
        except (KeyError, ValueError) as error:
            raise self._wrong(str(error)) from None
        if not is_inside(path):
            raise self._wrong(path)
        return path

    def _wrong(self, got: str) -> InputError:
        return InputError(
            f"{_WHAT} {INFO_FILE} names files by {self.text!r}", expected="the published fields", got=got
        )


def is_inside(path: str) -> bool:
    """Return whether a relative path stays in its folder."""
    pure = PurePosixPath(path)
    return bool(path) and "\0" not in path and not pure.is_absolute() and ".." not in pure.parts


@dataclass(frozen=True, slots=True)
class DatasetCamera:
    """A camera of a data set.

    Attributes:
        key: Its name there, such as ``observation.images.top``.
        is_video: Its images are frames of videos; otherwise image files, in Parquet or beside it.
        width_px: Of its images.
        height_px: Likewise.
    """

    key: str
    is_video: bool
    width_px: int
    height_px: int

    @property
    def view(self) -> View | None:
        """The last part of the key as the name of a view; None where it is none."""
        word = self.key.rpartition(".")[2]
        return View(word) if is_view(word) else None


@dataclass(frozen=True, slots=True)
class DepthCodes:
    """What the 12-bit codes of a depth video stand for: 0 for ``min_m`` to 4095 for ``max_m``.

    Attributes:
        min_m: Least depth.
        max_m: Greatest depth.
        shift_m: Of logarithmic codes: they are even in the logarithm of depth plus this.
        is_log: Whether they are logarithmic; otherwise they are even in depth.
    """

    min_m: float
    max_m: float
    shift_m: float
    is_log: bool


@dataclass(frozen=True, slots=True)
class DepthCamera:
    """A camera of depth.

    Attributes:
        key: Its name in the data set.
        is_video: Its images are frames of videos; otherwise files in Parquet.
        width_px: Of its images; 0 where `meta/info.json` does not say it as it should.
        height_px: Likewise.
        codes: Of videos; None where the data set does not say.
    """

    key: str
    is_video: bool
    width_px: int
    height_px: int
    codes: DepthCodes | None


@dataclass(frozen=True, slots=True)
class DatasetInfo:
    """The content of `meta/info.json` that is used.

    Attributes:
        version: Such as ``v3.0``.
        fps: Steps a second.
        robot: Type of the robot; empty where unknown.
        cameras: Those with images of colour, in the file's order.
        depth: Cameras of depth by their keys.
        sizes: Numbers in a state and in an action, by key, where the data set has them.
        episodes: How many there are.
        chunk: Most episodes in a folder, for versions 2.
        data_path: Names of Parquet files.
        video_path: Names of videos; of no text where there are none.
    """

    version: str
    fps: float
    robot: str
    cameras: tuple[DatasetCamera, ...]
    depth: Mapping[str, DepthCamera]
    sizes: Mapping[str, int]
    episodes: int
    chunk: int
    data_path: PathTemplate
    video_path: PathTemplate


def read_info(folder: Path) -> DatasetInfo:
    """Read `meta/info.json`.

    Raises:
        InputError: It is missing, damaged or hostile, or of a version that is not read.
    """
    tree = load_json(folder / INFO_FILE, _WHAT)
    file = _Fields(folder / INFO_FILE, tree)
    version = file.text("codebase_version")
    if version not in _VERSIONS:
        raise InputError(
            f"{folder} is a LeRobot data set of another version", got=version, available=_VERSIONS
        )
    features = _features(file)
    images = {key: feature for key, feature in features.items() if feature.get("dtype") in _KINDS}
    depth = {key: _depth(file, key, feature) for key, feature in images.items() if _is_depth(feature)}
    video_path = file.text("video_path") if tree.get("video_path") is not None else ""
    robot = tree.get("robot_type")
    return DatasetInfo(
        version=version,
        fps=file.number("fps", _LEAST_FPS, _MOST_FPS),
        robot=robot if isinstance(robot, str) else "",
        cameras=tuple(_camera(file, key, feature) for key, feature in images.items() if key not in depth),
        depth=depth,
        sizes={key: _length(file, key, features[key]) for key in (STATE, ACTION) if key in features},
        episodes=file.count("total_episodes"),
        chunk=file.count("chunks_size") if "chunks_size" in tree else 1000,
        data_path=PathTemplate(file.text("data_path")),
        video_path=PathTemplate(video_path),
    )


class _Fields:
    """Fields of the file, each of its kind."""

    def __init__(self, path: Path, tree: object) -> None:
        if not isinstance(tree, dict):
            raise InputError(f"{_WHAT} {path}: not an object")
        self._path, self.tree = path, tree

    def text(self, name: str) -> str:
        value = self.tree.get(name)
        if not isinstance(value, str) or not value:
            raise self.wrong(name, "text", value)
        return value

    def number(self, name: str, least: float, most: float) -> float:
        value = self.tree.get(name)
        if isinstance(value, bool) or not isinstance(value, int | float) or not least <= value <= most:
            raise self.wrong(name, f"a number from {least} to {most}", value)
        return float(value)

    def count(self, name: str) -> int:
        value = self.tree.get(name)
        if isinstance(value, bool) or not isinstance(value, int) or not 0 < value < 1 << 40:
            raise self.wrong(name, "a whole number above 0", value)
        return value

    def wrong(self, name: str, expected: str, got: object) -> InputError:
        word = repr(got)
        return InputError(
            f"{_WHAT} {self._path}: wrong {name}; expected {expected}; "
            f"got {word if len(word) <= 80 else word[:77] + '...'}"
        )


def _features(file: _Fields) -> dict[str, dict[str, Any]]:
    features = file.tree.get("features")
    if not isinstance(features, dict):
        raise file.wrong("features", "an object", features)
    for key, feature in features.items():
        if not isinstance(feature, dict):
            raise file.wrong(f"features.{key}", "an object", feature)
    return features


def _camera(file: _Fields, key: str, feature: Mapping[str, Any]) -> DatasetCamera:
    if not is_inside(key) or "/" in key or key == "." or not key.isprintable():
        raise file.wrong("features", "printable keys without / and ..", key)
    shape, names = _shape(file, key, feature), feature.get("names")
    first = names[0] if isinstance(names, list) and names else None
    is_planar = first in {"channel", "channels"} or (first is None and len(shape) == 3 and shape[2] > 4)
    size = shape[1:] if is_planar else shape[:2]
    channels = (shape[:1] if is_planar else shape[2:]) or (1,)
    if len(shape) not in {2, 3} or channels[0] not in {1, 3, 4} or max(size) > _MOST_PX:
        raise file.wrong(f"features.{key}.shape", f"height, width and channels, up to {_MOST_PX} px", shape)
    return DatasetCamera(key, feature["dtype"] == "video", width_px=size[1], height_px=size[0])


def _shape(file: _Fields, key: str, feature: Mapping[str, Any]) -> tuple[int, ...]:
    shape = feature.get("shape")
    if not isinstance(shape, list) or not shape or any(type(n) is not int or n < 1 for n in shape):
        raise file.wrong(f"features.{key}.shape", "whole numbers above 0", shape)
    return tuple(shape)


def _length(file: _Fields, key: str, feature: Mapping[str, Any]) -> int:
    numbers = math.prod(shape := _shape(file, key, feature))
    if numbers > _MOST_NUMBERS:
        raise file.wrong(f"features.{key}.shape", f"at most {_MOST_NUMBERS} numbers", shape)
    return numbers


def _is_depth(feature: Mapping[str, Any]) -> bool:
    return any(_described(feature).get(name) is True for name in _DEPTH)


def _described(feature: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a feature says of its images."""
    infos = (feature.get("video_info"), feature.get("info"))
    return {name: value for info in infos if isinstance(info, dict) for name, value in info.items()}


def _depth(file: _Fields, key: str, feature: Mapping[str, Any]) -> DepthCamera:
    described, is_video = _described(feature), feature["dtype"] == "video"
    try:
        camera = _camera(file, key, feature)
        size_px = camera.width_px, camera.height_px
    except InputError:  # colour can be read all the same
        size_px = 0, 0
    codes = _codes(described) if is_video else None
    return DepthCamera(key, is_video, *size_px, codes)


def _codes(described: Mapping[str, Any]) -> DepthCodes | None:
    """Return the scale of a depth video; None where it is not said, or says nothing."""
    is_log = described.get("video.use_log")
    least, most, shift = (_finite(described.get(f"video.{name}")) for name in _CODES)
    if not isinstance(is_log, bool) or not 0.0 <= least < most or math.isnan(shift):
        return None
    return DepthCodes(least, most, shift, is_log) if not is_log or least + shift > 0.0 else None


def _finite(value: object) -> float:
    """Return a finite number; NaN, of which nothing is true, for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return math.nan
    return float(value)
