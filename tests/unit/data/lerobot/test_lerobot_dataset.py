"""LeRobot data sets: what was written is read, and what is damaged or hostile is named."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import embodied_iqa
from embodied_iqa.base.errors import InputError, MissingDependencyError
from embodied_iqa.data.frames.dataset_frames import DatasetFrames
from embodied_iqa.data.lerobot.dataset import DatasetImage, LeRobotDataset
from embodied_iqa.data.lerobot.parquet import column_types
from embodied_iqa.data.lerobot.video import Video
from embodied_iqa.imaging.images.stored_images import StoredImage, UnreadableImage
from lerobot_samples import (
    HEIGHT_PX,
    LENGTHS,
    TASKS,
    TOP,
    V2_DATA,
    V2_VIDEO,
    V3_DATA,
    WIDTH_PX,
    WRIST,
    Layout,
    edit_info,
    pixels,
    state,
    write_dataset,
)

STEPS = [(episode, step) for episode, length in enumerate(LENGTHS) for step in range(length)]
OLD, NEW = Layout("v2.1"), Layout("v3.0")
CODEC_ERROR = 4.0
"""Mean difference of an image that H.264 has kept; the next step's differs by 15 or more."""


def split(dataset: LeRobotDataset, *keys: str) -> tuple[list[DatasetImage], list[UnreadableImage]]:
    found = list(dataset.images(keys))
    return (
        [one for one in found if isinstance(one, DatasetImage)],
        [one for one in found if isinstance(one, UnreadableImage)],
    )


def edit_data(path: Path, **columns: Any) -> None:
    table = pq.read_table(path, partitioning=None)
    for name, values in columns.items():
        table = table.set_column(table.schema.get_field_index(name), name, [pa.array(values)])
    pq.write_table(table, path)


@pytest.mark.parametrize("layout", [OLD, NEW, Layout("v2.0", beside=True), Layout("v3.0", beside=True)])
def test_images_states_actions_and_tasks_are_those_that_were_written(tmp_path: Path, layout: Layout) -> None:
    dataset = LeRobotDataset(write_dataset(tmp_path / "set", layout))
    images, faults = split(dataset)
    assert not faults
    assert [(one.step.episode, one.step.index) for one in images] == STEPS
    assert dataset.count() == len(STEPS)
    for image in images:
        step = image.step
        assert np.array_equal(image.rgb, pixels(step.episode, step.index))
        assert step.state == step.action == tuple(state(step.episode, step.index))
        assert (step.task, step.stamp_ns) == (TASKS[step.episode > 0], step.index * 100_000_000)
    assert images[6].name == f"{TOP}/episode_000001/frame_000001"
    assert [episode.tasks for episode in dataset.episodes] == [(TASKS[0],), (TASKS[1],), (TASKS[1],)]


@pytest.mark.parametrize("layout", [Layout("v2.1", "libx264"), Layout("v3.0", "libx264")])
def test_frames_of_videos_are_those_of_their_steps(tmp_path: Path, layout: Layout) -> None:
    dataset = LeRobotDataset(write_dataset(tmp_path / "set", layout))
    images, faults = split(dataset)
    assert (len(images), faults) == (2 * len(STEPS), [])
    assert [image.key for image in images[:2]] == [TOP, WRIST]
    for image in images[1::2]:
        wanted = pixels(image.step.episode, image.step.index, 1)
        assert np.abs(image.rgb.astype(int) - wanted).mean() < CODEC_ERROR
    assert dataset.views() == {"top": TOP, "wrist_left": WRIST}


def test_av1_is_read_from_the_middle_of_a_file(tmp_path: Path) -> None:
    dataset = LeRobotDataset(write_dataset(tmp_path / "set", Layout("v3.0", "libsvtav1")))
    images = list(dataset.images([WRIST], episodes=[1]))
    assert len(images) == LENGTHS[1]
    for number, image in enumerate(images):
        assert isinstance(image, DatasetImage)
        assert np.abs(image.rgb.astype(int) - pixels(1, number, 1)).mean() < CODEC_ERROR


def test_a_video_goes_back_and_says_where_it_has_no_frame(tmp_path: Path) -> None:
    folder = write_dataset(tmp_path / "set", Layout("v2.1", "libx264"))
    path = folder / V2_VIDEO.format(episode_chunk=0, episode_index=0, video_key=WRIST)
    with Video(path, WIDTH_PX, HEIGHT_PX) as video:
        late, early = video.at(0.4), video.at(0.1)
        assert np.array_equal(video.at(0.4), late)
        assert not np.array_equal(late, early)
        for seconds in (0.15, 3.0):
            with pytest.raises(InputError, match=rf"no frame of {seconds}"):
                video.at(seconds)
        assert np.array_equal(video.at(0.1), early)
    with pytest.raises(InputError, match="another size; expected 48x64; got '64x48'"):
        Video(path, HEIGHT_PX, WIDTH_PX)


def test_the_public_interface_opens_them(tmp_path: Path) -> None:
    dataset = embodied_iqa.open_lerobot(write_dataset(tmp_path / "set"))
    assert [step.state for step in dataset.steps([2])] == [
        tuple(state(2, step)) for step in range(LENGTHS[2])
    ]
    with pytest.raises(InputError, match="no such episode; expected one of 3; got 7"):
        next(dataset.steps([7]))


def test_what_is_damaged_is_named_and_the_rest_is_read(tmp_path: Path) -> None:
    folder = write_dataset(tmp_path / "set", Layout("v2.1", "libx264"))
    names = [V2_DATA.format(episode_chunk=0, episode_index=index) for index in range(3)]
    first = pq.read_table(folder / names[0], partitioning=None)
    cells = first.column(TOP).to_pylist()
    cells[2]["bytes"] = cells[2]["bytes"][:60]
    edit_data(folder / names[0], **{TOP: cells})
    (folder / names[1]).write_bytes((folder / names[1]).read_bytes()[:300])
    (folder / V2_VIDEO.format(episode_chunk=0, episode_index=2, video_key=WRIST)).unlink()
    images, faults = split(LeRobotDataset(folder))
    assert len(images) == 2 * LENGTHS[0] - 1 + LENGTHS[2]
    assert [fault.what for fault in faults] == [
        f"{TOP}, episode 0, step 2",
        "episode 1",
        f"{WRIST}, episode 2 from step 0",
    ]
    assert [word in str(fault.error) for fault, word in zip(faults, ("PNG", names[1], "mp4"), strict=True)]


@pytest.mark.parametrize(
    ("column", "values", "words"),
    [
        ("timestamp", [0.0, 0.1, float("nan"), 0.3, 0.4], "step 2: wrong timestamp"),
        ("timestamp", [0.0, 0.2, 0.1, 0.3, 0.4], "episode 0 goes backwards at step 2"),
        ("timestamp", ["0", "1", "2", "3", "4"], "wrong column timestamp; expected floating-point numbers"),
        ("frame_index", [0, 1, 1, 3, 4], "goes backwards at step 1"),
        ("frame_index", [0, 1, None, 3, 4], "wrong frame_index"),
        ("episode_index", [0, 0, 0, 0, 9], "episode 0 is not whole; expected 5 steps; got 4"),
        ("action", [[1.0, float("inf"), 0.0]] * 5, "wrong action; expected 3 finite numbers"),
        ("action", [[1.0, 2.0]] * 5, "wrong action; expected 3 finite numbers"),
        ("action", [[[1.0], None, [2.0]]] * 5, "wrong action; expected 3 finite numbers"),
    ],
)
def test_wrong_rows_are_refused(tmp_path: Path, column: str, values: list[Any], words: str) -> None:
    folder = write_dataset(tmp_path / "set", OLD)
    edit_data(folder / V2_DATA.format(episode_chunk=0, episode_index=0), **{column: values})
    images, faults = split(LeRobotDataset(folder))
    assert len(images) >= LENGTHS[1] + LENGTHS[2]
    assert [fault.what for fault in faults] == ["episode 0"]
    assert words in str(faults[0].error)


def test_a_wrong_step_loses_the_rest_of_its_episode_alone(tmp_path: Path) -> None:
    folder = write_dataset(tmp_path / "set")
    path = folder / V3_DATA.format(chunk_index=0, file_index=0)
    times = pq.read_table(path, partitioning=None)["timestamp"].to_pylist()
    edit_data(path, timestamp=[*times[:3], float("nan"), *times[4:]])
    dataset = LeRobotDataset(folder)
    images, (fault,) = split(dataset)
    assert len(images) == 3 + LENGTHS[1] + LENGTHS[2]
    assert fault.what == "episode 0"
    listed = list(DatasetFrames(folder).listed())
    names = [one.name for one in listed if isinstance(one, StoredImage)]
    assert (names, len(listed)) == ([one.name for one in images], len(images) + 1)
    with pytest.raises(InputError, match="step 3: wrong timestamp"):
        list(dataset.steps())


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"codebase_version": "v1.6"}, "another version; got 'v1.6'.*available: v2.0, v2.1, v3.0"),
        ({"codebase_version": 3}, "wrong codebase_version; expected text"),
        ({"fps": 0}, "wrong fps"),
        ({"fps": "30"}, "wrong fps"),
        ({"fps": 1e-320}, "wrong fps; expected a number from 0.001"),
        ({"total_episodes": 4}, "differ; expected 4 episodes; got 3"),
        ({"data_path": "/etc/{chunk_index}"}, "outside the data set"),
        ({"data_path": "../{chunk_index}"}, "outside the data set"),
        ({"data_path": "{chunk_index.__class__}"}, "expected the published fields"),
        ({"data_path": "{chunk_index:0999999999d}"}, "expected the published fields"),
        ({"data_path": "{chunk_index"}, "expected the published fields"),
        ({"data_path": "{frame_index}"}, "expected the published fields"),
        ({"data_path": "data/\ud800.parquet"}, "characters that do not print"),
        ({"features": []}, "wrong features; expected an object"),
        ({"features": {"a": {"dtype": "image", "shape": [1 << 20, 1, 3], "names": None}}}, "up to 16384 px"),
        ({"features": {"a": {"dtype": "image", "shape": [8, -1, 3]}}}, "whole numbers above 0"),
        ({"features": {"a/../../b": {"dtype": "image", "shape": [8, 8, 3]}}}, "keys without / and .."),
        ({"features": {"a\nb": {"dtype": "image", "shape": [8, 8, 3]}}}, "printable keys"),
        ({"features": {".": {"dtype": "image", "shape": [8, 8, 3]}}}, "printable keys"),
        ({"features": {"action": {"dtype": "float32", "shape": [1 << 30] * 9}}}, "at most 1048576 numbers"),
        ({"features": {"a": {"dtype": "video", "shape": [8, 8, 3]}}}, "lacks a column"),
    ],
)
def test_a_wrong_description_is_refused(tmp_path: Path, fields: dict[str, Any], words: str) -> None:
    folder = write_dataset(tmp_path / "set")
    edit_info(folder, **fields)
    with pytest.raises(InputError, match=words):
        LeRobotDataset(folder)


def test_columns_that_are_double_and_dates_beyond_those_of_python_are_named(tmp_path: Path) -> None:
    folder = write_dataset(tmp_path / "set", OLD)
    double, dated = (folder / V2_DATA.format(episode_chunk=0, episode_index=index) for index in (0, 1))
    table = pq.read_table(double, partitioning=None)
    pq.write_table(table.append_column("action", table.column("action")), double)
    table = pq.read_table(dated, partitioning=None)
    dates = pa.array([1 << 62] * table.num_rows).cast(pa.timestamp("us"))
    pq.write_table(table.set_column(table.schema.get_field_index("action"), "action", dates), dated)
    images, faults = split(LeRobotDataset(folder))
    assert len(images) == LENGTHS[2]
    assert [fault.what for fault in faults] == ["episode 0", "episode 1"]
    words = ("names a column twice", "cannot be read")
    assert all(word in str(fault.error) for fault, word in zip(faults, words, strict=True))


def test_the_name_of_a_column_that_is_no_text_is_one_line(tmp_path: Path) -> None:
    path = tmp_path / "file.parquet"
    pq.write_table(pa.table({"episode_index": [1]}), path, store_schema=False)
    path.write_bytes(path.read_bytes().replace(b"episode_index", b"\xa2pisode_index"))
    with pytest.raises(InputError, match=r"file\.parquet cannot be read"):
        column_types(path)


def test_an_image_whose_name_is_too_long_fails_alone(tmp_path: Path) -> None:
    folder = write_dataset(tmp_path / "set", OLD)
    path = folder / V2_DATA.format(episode_chunk=0, episode_index=0)
    cells = pq.read_table(path, partitioning=None).column(TOP).to_pylist()
    cells[2] = {"bytes": None, "path": "a" * 5000}
    edit_data(path, **{TOP: cells})
    images, faults = split(LeRobotDataset(folder))
    assert (len(images), [fault.what for fault in faults]) == (len(STEPS) - 1, [f"{TOP}, episode 0, step 2"])


def test_an_image_of_another_size_and_a_camera_of_depth_are_not_taken(tmp_path: Path) -> None:
    folder = write_dataset(tmp_path / "set", Layout("v3.0", "libx264"))
    info = json.loads((folder / "meta/info.json").read_text())
    info["features"][WRIST]["info"] = {"is_depth_map": True}
    info["features"][TOP]["shape"] = [3, HEIGHT_PX, WIDTH_PX + 1]
    info["features"][TOP]["names"] = ["channels", "height", "width"]
    edit_info(folder, **info)
    dataset = LeRobotDataset(folder)
    assert (dataset.keys, [*dataset.info.depth]) == ((TOP,), [WRIST])
    images, faults = split(dataset)
    assert not images
    assert "has another size; expected 65x48; got '64x48'" in str(faults[0].error)
    with pytest.raises(InputError, match="no camera of colour"):
        dataset.count([WRIST])


def test_a_list_of_episodes_that_is_cut_or_doubled_is_refused(tmp_path: Path) -> None:
    folder = write_dataset(tmp_path / "set", OLD)
    path = folder / "meta/episodes.jsonl"
    lines = path.read_text().splitlines()
    for text, words in (
        ("\n".join([lines[0], *lines[:2]]), "listed twice"),
        ("\n".join([*lines[:2], lines[2][:20]]), r"episodes.jsonl:3:\d+: not JSON"),
        ("\n".join([*lines[:2], lines[2].replace(": 8", ": -8")]), "wrong length"),
    ):
        path.write_text(text)
        with pytest.raises(InputError, match=words):
            LeRobotDataset(folder)


def test_without_pyav_images_are_read_and_videos_say_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dataset = LeRobotDataset(write_dataset(tmp_path / "set", Layout("v3.0", "libx264")))
    monkeypatch.setitem(sys.modules, "av", None)
    assert len(list(dataset.images([TOP]))) == len(STEPS)
    with pytest.raises(
        MissingDependencyError, match=r"av is not installed; expected pip install 'embodied_iqa"
    ):
        list(dataset.images([WRIST]))


def test_the_texts_of_tasks_are_found_by_their_name_or_as_the_only_texts(tmp_path: Path) -> None:
    folder = write_dataset(tmp_path / "set")
    path, numbers = folder / "meta/tasks.parquet", {"task_index": [0, 1]}
    pq.write_table(pa.table(numbers | {"task": list(TASKS), "remark": ["", "x"]}), path)
    assert {step.task for step in LeRobotDataset(folder).steps()} == set(TASKS)
    pq.write_table(pa.table(numbers | {"one": list(TASKS), "other": list(TASKS)}), path)
    with pytest.raises(InputError, match=r"tasks.parquet has other columns; expected task_index and a text"):
        LeRobotDataset(folder)
    pq.write_table(pa.table({"task_index": [5], "task": ["wave"]}), path)
    assert {step.task for step in LeRobotDataset(folder).steps()} == {None}
