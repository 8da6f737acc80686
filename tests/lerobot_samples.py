"""LeRobot data sets as the library lays them out: versions 2.1 and 3.0, images in Parquet and videos."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import cv2
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from embodied_iqa.base.scheduling import kept_scheduling

FPS = 10
WIDTH_PX, HEIGHT_PX = 64, 48
TOP, WRIST = "observation.images.top", "observation.images.wrist_left"
TASKS = ("pick up the cube", "open the drawer")
LENGTHS = (5, 9, 8)
V2_DATA = "data/chunk-{episode_chunk:03d}/episode_{episode_index:06d}.parquet"
V2_VIDEO = "videos/chunk-{episode_chunk:03d}/{video_key}/episode_{episode_index:06d}.mp4"
V3_DATA = "data/chunk-{chunk_index:03d}/file-{file_index:03d}.parquet"
V3_VIDEO = "videos/{video_key}/chunk-{chunk_index:03d}/file-{file_index:03d}.mp4"
V3_FIRST_FILE = ((0, 1), (2,))
"""Episodes of each file of version 3."""


@dataclass(frozen=True)
class Layout:
    """What is written: version, codec of the wrist's camera (none: images) and whether images are beside."""

    version: str = "v3.0"
    codec: str = ""
    beside: bool = False


def pixels(episode: int, step: int, camera: int = 0) -> NDArray[np.uint8]:
    """Smooth images, which codecs keep, of a colour of their own."""
    y, x = np.mgrid[:HEIGHT_PX, :WIDTH_PX]
    shade = 60 * episode + 12 * step + 90 * camera
    channels = (2 * x + shade, 3 * y + shade, x + y + 3 * shade)
    return np.stack([np.abs(c % 360 - 180) + 40 for c in channels], axis=2).astype(np.uint8)


def png(rgb: NDArray[np.uint8]) -> bytes:
    return cv2.imencode(".png", cv2.cvtColor(rgb, cv2.COLOR_RGB2BGR))[1].tobytes()


def state(episode: int, step: int) -> list[float]:
    return [float(episode), step / 4, -1.5]


def write_video(path: Path, images: Sequence[NDArray[np.uint8]], codec: str) -> None:
    """As the library: a key frame every two frames, time stamps of the frame rate."""
    path.parent.mkdir(parents=True, exist_ok=True)
    options = {"g": "2", "crf": "10"} | ({"preset": "12", "svtav1-params": "lp=1"} if "av1" in codec else {})
    with av.open(str(path), "w", format="mp4") as container:
        stream = container.add_stream(codec, FPS, options=options)
        stream.width, stream.height, stream.pix_fmt = WIDTH_PX, HEIGHT_PX, "yuv420p"
        with kept_scheduling():
            stream.codec_context.open()
        for number, rgb in enumerate(images):
            frame = av.VideoFrame.from_ndarray(rgb, format="rgb24")
            frame.pts, frame.time_base = number, Fraction(1, FPS)
            container.mux(stream.encode(frame))
        container.mux(stream.encode())


def write_dataset(folder: Path, layout: Layout | None = None) -> Path:
    """Three episodes of 5, 9 and 8 steps; the second and third do the second task."""
    layout = layout or Layout()
    is_old = layout.version.startswith("v2")
    groups = tuple((index,) for index in range(len(LENGTHS))) if is_old else V3_FIRST_FILE
    _write_info(folder, layout, is_old)
    for number, group in enumerate(groups):
        steps = [(episode, step) for episode in group for step in range(LENGTHS[episode])]
        names = {"episode_chunk": 0, "episode_index": number, "chunk_index": 0, "file_index": number}
        path = folder / (V2_DATA if is_old else V3_DATA).format(**names)
        path.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(_rows(folder, layout, steps), path)
        if layout.codec:
            video = (V2_VIDEO if is_old else V3_VIDEO).format(**names, video_key=WRIST)
            write_video(folder / video, [pixels(*place, 1) for place in steps], layout.codec)
    _write_old_lists(folder) if is_old else _write_new_lists(folder, layout)
    return folder


def edit_info(folder: Path, **fields: Any) -> None:
    """Change fields of meta/info.json."""
    path = folder / "meta/info.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | fields))


def _write_info(folder: Path, layout: Layout, is_old: bool) -> None:
    image = {"shape": [HEIGHT_PX, WIDTH_PX, 3], "names": ["height", "width", "channels"]}
    vector = {"dtype": "float32", "shape": [3], "names": ["x", "y", "z"]}
    whole = {"dtype": "int64", "shape": [1], "names": None}
    features = {"observation.state": vector, "action": vector, TOP: {"dtype": "image", **image}}
    if layout.codec:
        features[WRIST] = {"dtype": "video", **image, "info": {"video.fps": FPS, "video.is_depth_map": False}}
    features["timestamp"] = {"dtype": "float32", "shape": [1], "names": None}
    features |= dict.fromkeys(("frame_index", "episode_index", "index", "task_index"), whole)
    info = {
        "codebase_version": layout.version,
        "robot_type": "ur5",
        "total_episodes": len(LENGTHS),
        "total_frames": sum(LENGTHS),
        "total_tasks": len(TASKS),
        "chunks_size": 1000,
        "fps": FPS,
        "splits": {"train": f"0:{len(LENGTHS)}"},
        "data_path": V2_DATA if is_old else V3_DATA,
        "video_path": (V2_VIDEO if is_old else V3_VIDEO) if layout.codec else None,
        "features": features,
    }
    (folder / "meta").mkdir(parents=True)
    (folder / "meta/info.json").write_text(json.dumps(info, indent=4))


def _rows(folder: Path, layout: Layout, steps: Sequence[tuple[int, int]]) -> pa.Table:
    episodes, numbers = [episode for episode, _ in steps], [step for _, step in steps]
    states = pa.array([state(*place) for place in steps], pa.list_(pa.float32(), 3))
    first = sum(LENGTHS[: episodes[0]])
    return pa.table(
        {
            "observation.state": states,
            "action": states,
            TOP: pa.array(
                list(_cells(folder, layout, steps)),
                pa.struct({"bytes": pa.binary(), "path": pa.string()}),
            ),
            "timestamp": pa.array([np.float32(step / FPS) for step in numbers], pa.float32()),
            "frame_index": numbers,
            "episode_index": episodes,
            "index": list(range(first, first + len(steps))),
            "task_index": [int(episode > 0) for episode in episodes],
        }
    )


def _cells(folder: Path, layout: Layout, steps: Sequence[tuple[int, int]]) -> Iterator[dict[str, Any]]:
    for episode, step in steps:
        content = png(pixels(episode, step))
        name = f"frame_{step:06d}.png" if layout.version.startswith("v2") else f"frame-{step:06d}.png"
        if layout.beside:
            between = "_" if layout.version.startswith("v2") else "-"
            path = folder / f"images/{TOP}/episode{between}{episode:06d}/{name}"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        yield {"bytes": None if layout.beside else content, "path": f"/elsewhere/{name}"}


def _write_old_lists(folder: Path) -> None:
    tasks = [{"task_index": number, "task": task} for number, task in enumerate(TASKS)]
    episodes = [
        {"episode_index": index, "tasks": [TASKS[index > 0]], "length": length}
        for index, length in enumerate(LENGTHS)
    ]
    for name, rows in (("tasks", tasks), ("episodes", episodes)):
        text = "".join(json.dumps(row) + "\n" for row in rows)
        (folder / f"meta/{name}.jsonl").write_text(text)


def _write_new_lists(folder: Path, layout: Layout) -> None:
    tasks = {"task_index": list(range(len(TASKS))), "__index_level_0__": list(TASKS)}
    pq.write_table(pa.table(tasks), folder / "meta/tasks.parquet")
    files = [number for number, group in enumerate(V3_FIRST_FILE) for _ in group]
    columns: dict[str, list[Any]] = {
        "episode_index": list(range(len(LENGTHS))),
        "tasks": [[TASKS[index > 0]] for index in range(len(LENGTHS))],
        "length": list(LENGTHS),
        "data/chunk_index": [0] * len(LENGTHS),
        "data/file_index": files,
        "dataset_from_index": [0, 5, 14],
        "dataset_to_index": [5, 14, 22],
        "stats/action/min": [[0.0] * 3] * len(LENGTHS),
    }
    if layout.codec:
        columns[f"videos/{WRIST}/chunk_index"] = [0] * len(LENGTHS)
        columns[f"videos/{WRIST}/file_index"] = files
        columns[f"videos/{WRIST}/from_timestamp"] = [0.0, LENGTHS[0] / FPS, 0.0]
        columns[f"videos/{WRIST}/to_timestamp"] = [0.5, 1.4, 0.8]
    path = folder / "meta/episodes/chunk-000/file-000.parquet"
    path.parent.mkdir(parents=True)
    pq.write_table(pa.table(columns), path)
