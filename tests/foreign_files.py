"""Files as people bring them, whole or damaged, drawn from a seed: recordings, videos, data sets, images."""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Final

import av
import cv2
import numpy as np
from numpy.typing import NDArray

from embodied_iqa.data.recording.messages import TypeStore
from embodied_iqa.data.recording.writer import TrialWriter
from embodied_iqa.imaging.images.image_cdr import IMAGE_TYPE
from lerobot_samples import Layout, write_dataset

TOPIC: Final = "/robot/eye/image"
HEIGHT, WIDTH, COUNT = 96, 128, 4
START_NS: Final = 1_700_000_000_000_000_000
_ORDERS: Final = {"rgb8": (0, 1, 2), "bgr8": (2, 1, 0), "rgba8": (0, 1, 2, 3), "bgra8": (2, 1, 0, 3)}
_SQL: Final = """
CREATE TABLE schema(schema_version INTEGER PRIMARY KEY, ros_distro TEXT NOT NULL);
CREATE TABLE metadata(id INTEGER PRIMARY KEY, metadata_version INTEGER NOT NULL, metadata TEXT NOT NULL);
CREATE TABLE topics(id INTEGER PRIMARY KEY, name TEXT NOT NULL, type TEXT NOT NULL,
  serialization_format TEXT NOT NULL, offered_qos_profiles TEXT NOT NULL,
  type_description_hash TEXT NOT NULL);
CREATE TABLE message_definitions(id INTEGER PRIMARY KEY, topic_type TEXT NOT NULL, encoding TEXT NOT NULL,
  encoded_message_definition TEXT NOT NULL, type_description_hash TEXT NOT NULL);
CREATE TABLE messages(id INTEGER PRIMARY KEY, topic_id INTEGER NOT NULL, timestamp INTEGER NOT NULL,
  data BLOB NOT NULL);
INSERT INTO schema VALUES (4, 'jazzy');
"""


@dataclass(frozen=True)
class ForeignFile:
    """What somebody brings.

    Attributes:
        path: What a command is given.
        kind: Of the file.
        images: What it shows, ``(96, 128, 3)`` each; None where a codec changes the pixels.
        damaged: Bytes of it were changed.
        is_checked: Its format has checksums, so that a change of a pixel is noticed.
    """

    path: Path
    kind: str
    images: tuple[NDArray[np.uint8], ...] | None
    damaged: bool
    is_checked: bool


def foreign_file(seed: int, folder: Path) -> ForeignFile:
    """Write the file of a seed to a new folder; the same one on every machine."""
    draw = random.Random(seed)
    folder.mkdir()
    kind = draw.choice(sorted(_KINDS))
    path, images = _KINDS[kind](folder, draw)
    damaged = draw.random() < 0.6
    if damaged:
        _damage(path, draw)
    return ForeignFile(path, kind, images, damaged, is_checked=kind in {"mcap", "png"})


def _scene(draw: random.Random) -> NDArray[np.uint8]:
    random_image = np.random.default_rng(draw.randrange(1 << 30)).uniform(30, 225, (6, 8, 3))
    smooth = cv2.resize(random_image.astype(np.float32), (WIDTH, HEIGHT), interpolation=cv2.INTER_CUBIC)
    return np.ascontiguousarray(smooth.clip(0, 255).astype(np.uint8))


def _messages(
    draw: random.Random,
) -> tuple[TypeStore, list[tuple[int, bytes]], tuple[NDArray[np.uint8], ...]]:
    """Return images in an encoding, perhaps padded, with stamps that rise, stand still, are 0 or go back."""
    types, shown, sent = TypeStore(), [], []
    encoding, padding = draw.choice([*_ORDERS, "mono8"]), draw.choice((0, 0, 5))
    stamps = draw.choice(([0, 1, 2, 3], [0, 0, 1, 1], [3, 2, 1, 0], [None] * 4))
    for number, offset in enumerate(stamps):
        rgb = _scene(draw)
        if encoding == "mono8":
            rgb = np.repeat(rgb[..., :1], 3, axis=2)
            pixels = rgb[..., 0]
        else:
            four = np.dstack([rgb, np.full((HEIGHT, WIDTH), 255, np.uint8)])
            pixels = four[..., list(_ORDERS[encoding])]
        rows = pixels.reshape(HEIGHT, -1)
        rows = np.pad(rows, ((0, 0), (0, padding)))
        stamp_ns = 0 if offset is None else START_NS + offset * 10**8
        message = types.new(
            IMAGE_TYPE,
            header=types.header(stamp_ns, "eye"),
            height=HEIGHT,
            width=WIDTH,
            encoding=encoding,
            step=rows.shape[1],
            data=np.ascontiguousarray(rows).tobytes(),
        )
        sent.append((START_NS + number * 10**8, types.serialise(message)))
        shown.append(rgb)
    return types, sent, tuple(shown)


def _mcap(folder: Path, draw: random.Random) -> tuple[Path, tuple[NDArray[np.uint8], ...]]:
    types, sent, shown = _messages(draw)
    path = folder / "bag.mcap"
    with TrialWriter(path, types=types) as writer:
        writer.add_channel(TOPIC, IMAGE_TYPE)
        writer.add_channel("/told", "std_msgs/msg/String")
        text = draw.choice(("open the drawer", "", "a\x07b"))
        writer.write("/told", types.serialise(types.new("std_msgs/msg/String", data=text)), START_NS - 1)
        for at_ns, cdr in sent:
            writer.write(TOPIC, cdr, at_ns)
    return path, shown


def _sqlite(folder: Path, draw: random.Random) -> tuple[Path, tuple[NDArray[np.uint8], ...]]:
    types, sent, shown = _messages(draw)
    path = folder / "bag.db3"
    with sqlite3.connect(path) as base:
        base.executescript(_SQL)
        base.execute("INSERT INTO topics VALUES (1, ?, ?, 'cdr', '', '')", (TOPIC, IMAGE_TYPE))
        text = types.definitions.full_text(IMAGE_TYPE)
        base.execute("INSERT INTO message_definitions VALUES (1, ?, 'ros2msg', ?, '')", (IMAGE_TYPE, text))
        base.executemany("INSERT INTO messages(topic_id, timestamp, data) VALUES (1, ?, ?)", sent)
    base.close()
    return path, shown


def _video(folder: Path, draw: random.Random) -> tuple[Path, None]:
    path = folder / f"clip{draw.choice(('.mp4', '.mkv', '.avi'))}"
    with av.open(str(path), "w") as container:
        stream = container.add_stream("mpeg4", 10)
        stream.width, stream.height, stream.pix_fmt = WIDTH, HEIGHT, "yuv420p"
        for number in range(COUNT):
            frame = av.VideoFrame.from_ndarray(_scene(draw), format="rgb24")
            frame.pts, frame.time_base = number, Fraction(1, 10)
            container.mux(stream.encode(frame))
        container.mux(stream.encode())
    return path, None


def _dataset(folder: Path, draw: random.Random) -> tuple[Path, None]:
    return write_dataset(folder / "set", Layout(draw.choice(("v2.1", "v3.0")))), None


def _png(folder: Path, draw: random.Random) -> tuple[Path, tuple[NDArray[np.uint8], ...]]:
    return _photographs(folder, draw, ".png"), tuple(_shown(folder, ".png"))


def _other(folder: Path, draw: random.Random) -> tuple[Path, None]:
    return _photographs(folder, draw, draw.choice((".jpg", ".tiff", ".bmp", ".webp", ".ppm"))), None


def _photographs(folder: Path, draw: random.Random, ending: str) -> Path:
    photos = folder / "photos"
    photos.mkdir()
    for number in range(COUNT):
        cv2.imwrite(str(photos / f"{number}{ending}"), _scene(draw)[..., ::-1])
    return photos


def _shown(folder: Path, ending: str) -> list[NDArray[np.uint8]]:
    files = sorted((folder / "photos").glob(f"*{ending}"))
    return [np.ascontiguousarray(np.asarray(cv2.imread(str(file)))[..., ::-1]) for file in files]


_Made = tuple[Path, tuple[NDArray[np.uint8], ...] | None]
_KINDS: Final[dict[str, Callable[[Path, random.Random], _Made]]] = {
    "mcap": _mcap,
    "sqlite": _sqlite,
    "video": _video,
    "data set": _dataset,
    "png": _png,
    "photographs": _other,
}


def _damage(path: Path, draw: random.Random) -> None:
    """Change bytes of one file: flipped, cut off, taken out, put in or overwritten with zeros."""
    files = [path] if path.is_file() else sorted(file for file in path.rglob("*") if file.is_file())
    file = draw.choice(files)
    content = bytearray(file.read_bytes())
    for _ in range(draw.choice((1, 1, 3))):
        at, size = draw.randrange(len(content) + 1), draw.choice((1, 8, 300))
        match draw.randrange(5):
            case 0 if at < len(content):
                content[at] ^= 1 << draw.randrange(8)
            case 1:
                del content[at:]
            case 2:
                del content[at : at + size]
            case 3:
                content[at:at] = draw.randbytes(size)
            case _:
                content[at : at + size] = bytes(len(content[at : at + size]))
    file.write_bytes(content)
