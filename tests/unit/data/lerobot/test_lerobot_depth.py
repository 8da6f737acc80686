"""Depth of LeRobot data sets: files and videos of 12-bit codes as the library writes them, read in mm."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import cv2
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from numpy.typing import NDArray

from embodied_iqa.base.errors import InputError
from embodied_iqa.cli.main import main
from embodied_iqa.data.frames.any_frames import open_frames
from embodied_iqa.data.frames.dataset_frames import DatasetFrames
from embodied_iqa.data.frames.depth_beside import depths_of
from embodied_iqa.data.lerobot.dataset import LeRobotDataset
from embodied_iqa.data.lerobot.depth import DatasetDepth, depth_mm_of_codes
from embodied_iqa.data.lerobot.info import DepthCodes
from embodied_iqa.imaging.images.frame import View
from lerobot_samples import FPS, HEIGHT_PX, LENGTHS, TOP, V3_FIRST_FILE, V3_VIDEO, edit_info, write_dataset

DEPTH = f"{TOP}_depth"
SIZE = WIDTH_PX, _ = 64, HEIGHT_PX
LOG = {"video.depth_min": 0.01, "video.depth_max": 10.0, "video.shift": 3.5, "video.use_log": True}


def depth_mm(episode: int, step: int) -> NDArray[np.uint16]:
    """Different in each step, unknown in a corner."""
    y, x = np.mgrid[:HEIGHT_PX, :WIDTH_PX]
    found = 300 + 900 * episode + 40 * step + 11 * x + 7 * y
    found[:5, :5] = 0
    return found.astype(np.uint16)


def code_of(mm: NDArray[np.uint16]) -> NDArray[np.uint16]:
    """As the library's `quantize_depth` has it, in millimetres, by its published formula."""
    low, high = math.log(10.0 + 3500.0), math.log(10_000.0 + 3500.0)
    share = (np.log(mm.astype(np.float64) + 3500.0) - low) / (high - low)
    return np.rint(share * 4095).clip(0, 4095).astype(np.uint16)


def write_codes(path: Path, images: Sequence[NDArray[np.uint16]]) -> None:
    """As the library's depth encoder without loss: HEVC Main 12 of one channel."""
    path.parent.mkdir(parents=True, exist_ok=True)
    options = {"g": "2", "x265-params": "lossless=1:log-level=none"}
    with av.open(str(path), "w", format="mp4") as container:
        stream = container.add_stream("libx265", FPS, options=options)
        stream.width, stream.height, stream.pix_fmt = WIDTH_PX, HEIGHT_PX, "gray12le"
        for number, codes in enumerate(images):
            frame = av.VideoFrame.from_ndarray(codes, format="gray12le")
            frame.pts, frame.time_base = number, Fraction(1, FPS)
            container.mux(stream.encode(frame))
        container.mux(stream.encode())


def with_depth(folder: Path, kind: str, **info: Any) -> Path:
    """A data set whose camera has depth beside it, as "video", "png" or "tiff"."""
    write_dataset(folder)
    tree = json.loads((folder / "meta/info.json").read_text())
    described = {"is_depth_map": True} | (LOG if kind == "video" else {}) | info
    shape = {"shape": [HEIGHT_PX, WIDTH_PX, 1], "names": ["height", "width", "channels"]}
    tree["features"][DEPTH] = {"dtype": "video" if kind == "video" else "image", **shape, "info": described}
    edit_info(folder, features=tree["features"], video_path=V3_VIDEO)
    for number, group in enumerate(V3_FIRST_FILE):
        steps = [(episode, step) for episode in group for step in range(LENGTHS[episode])]
        images = [depth_mm(*place) for place in steps]
        if kind == "video":
            name = V3_VIDEO.format(video_key=DEPTH, chunk_index=0, file_index=number)
            write_codes(folder / name, [code_of(one) for one in images])
            continue
        path = folder / f"data/chunk-000/file-{number:03d}.parquet"
        table = pq.read_table(path)
        stored = [one if kind == "png" else one.astype(np.float32) / 1000 for one in images]
        cells = [{"bytes": cv2.imencode(f".{kind}", one)[1].tobytes(), "path": None} for one in stored]
        pq.write_table(table.append_column(DEPTH, pa.array(cells, table.schema.field(TOP).type)), path)
    if kind == "video":
        _list_videos(folder)
    return folder


def _list_videos(folder: Path) -> None:
    (path,) = folder.glob("meta/episodes/*/*.parquet")
    table = pq.read_table(path)
    file_of = {episode: number for number, group in enumerate(V3_FIRST_FILE) for episode in group}
    start_of = {
        episode: sum(LENGTHS[one] for one in group if one < episode) / FPS
        for group in V3_FIRST_FILE
        for episode in group
    }
    episodes = table["episode_index"].to_pylist()
    for name, values in (
        ("chunk_index", [0] * len(episodes)),
        ("file_index", [file_of[one] for one in episodes]),
        ("from_timestamp", [start_of[one] for one in episodes]),
    ):
        table = table.append_column(f"videos/{DEPTH}/{name}", pa.array(values))
    pq.write_table(table, path)


def depth_of(folder: Path) -> DatasetDepth:
    dataset = LeRobotDataset(folder)
    return DatasetDepth(dataset, dataset.info.depth[DEPTH])


@pytest.mark.parametrize("kind", ["png", "tiff", "video"])
def test_depth_of_every_step_is_read_in_mm(tmp_path: Path, kind: str) -> None:
    frames = open_frames(with_depth(tmp_path / "set", kind))
    assert isinstance(frames, DatasetFrames)
    assert dict(frames.topics).keys() == {TOP}, "depth is no camera of colour"
    found = depths_of(frames, {TOP: View.TOP})
    assert found[TOP].topic == DEPTH
    steps = [(episode, step) for episode, count in enumerate(LENGTHS) for step in range(count)]
    for image, place in zip(frames.listed(), steps, strict=True):
        assert image.stamp_ns is not None
        got, want = found[TOP].at(image.stamp_ns, SIZE), depth_mm(*place)
        assert got.dtype == np.uint16
        # a code stands for at most 13.5 m * ln(13.5 / 3.51) / 4095 = 4.4 mm
        assert np.abs(got.astype(int) - want).max() <= (3 if kind == "video" else 0)
        assert (got[want == 0] == 0).all(), "unknown stays unknown"
    found[TOP].close()


def test_codes_are_those_of_the_published_formula() -> None:
    scale = DepthCodes(0.01, 10.0, 3.5, is_log=True)
    mm = np.arange(12, 10_000, dtype=np.uint16)[None]
    back = depth_mm_of_codes(code_of(mm), scale)
    assert np.abs(back.astype(int) - mm).max() <= 3
    even = depth_mm_of_codes(np.array([[0, 1, 4095]], np.uint16), DepthCodes(0.0, 4.095, 0.0, is_log=False))
    assert even.tolist() == [[0, 1, 4095]]
    with pytest.raises(InputError, match=r"12 bits; got '?4096"):
        depth_mm_of_codes(np.array([[4096]], np.uint16), scale)


def test_depth_is_kept_beside_distorted_images(tmp_path: Path) -> None:
    folder, out, kept = with_depth(tmp_path / "set", "png"), tmp_path / "out", tmp_path / "depth"
    words = ["distort", str(folder), "--distortion", "10:3", "--workers", "1", "--out", str(out)]
    assert main([*words, "--depth-out", str(kept)]) == 0
    files = sorted(kept.rglob("*.png"))
    assert len(files) == sum(LENGTHS)
    assert np.array_equal(cv2.imread(str(files[1]), cv2.IMREAD_UNCHANGED), depth_mm(0, 1))


def test_depth_that_cannot_be_read_costs_no_colour(tmp_path: Path) -> None:
    unsaid = with_depth(tmp_path / "unsaid", "video", **{"video.depth_max": None})
    with pytest.raises(InputError, match="does not say what its values are"):
        depth_of(unsaid)
    assert len(list(LeRobotDataset(unsaid).images())) == sum(LENGTHS)
    other = with_depth(tmp_path / "other", "png")
    with pytest.raises(InputError, match="not aligned to its images; expected 32x24"):
        depth_of(other).at(0, (32, 24))
    with pytest.raises(InputError, match="no step at 5 ns"):
        depth_of(other).at(5, SIZE)
    tree = json.loads((other / "meta/info.json").read_text())
    tree["features"][DEPTH]["shape"] = "wrong"
    edit_info(other, features=tree["features"])
    assert len(list(LeRobotDataset(other).images())) == sum(LENGTHS)
    with pytest.raises(InputError, match="not aligned"):
        depth_of(other).at(0, SIZE)
    lost = with_depth(tmp_path / "lost", "video")
    for path in lost.glob(f"videos/{DEPTH}/*/*.mp4"):
        path.write_bytes(b"no video")
    with pytest.raises(InputError, match="cannot be read"):
        depth_of(lost).at(0, SIZE)
    assert len(list(LeRobotDataset(lost).images())) == sum(LENGTHS)
    rgb = np.zeros((HEIGHT_PX, WIDTH_PX, 3), np.uint8)
    path = min(other.glob("data/*/*.parquet"))
    table = pq.read_table(path)
    wrong = [{"bytes": cv2.imencode(".png", rgb)[1].tobytes(), "path": None}] * table.num_rows
    place = table.column_names.index(DEPTH)
    pq.write_table(table.set_column(place, DEPTH, pa.array(wrong, table.schema.field(TOP).type)), path)
    tree["features"][DEPTH]["shape"] = [HEIGHT_PX, WIDTH_PX, 1]
    edit_info(other, features=tree["features"])
    with pytest.raises(InputError, match="has other values; expected 64x48, one channel"):
        depth_of(other).at(0, SIZE)
