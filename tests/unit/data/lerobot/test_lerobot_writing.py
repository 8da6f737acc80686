"""Copies of LeRobot data sets: the bits of everything but images, and statistics of what is written."""

from __future__ import annotations

import errno
import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from embodied_iqa.base.errors import InputError
from embodied_iqa.cli.main import main
from embodied_iqa.data.lerobot import output
from embodied_iqa.data.lerobot.dataset import DatasetImage, LeRobotDataset
from embodied_iqa.data.lerobot.info import is_lerobot
from embodied_iqa.data.lerobot.statistics import as_numbers, joined, statistics_of
from embodied_iqa.data.lerobot.video_output import VideoCodec
from embodied_iqa.data.lerobot.writing import DatasetCopy
from embodied_iqa.imaging.images.codecs import read_image
from lerobot_samples import LENGTHS, TASKS, TOP, WRIST, Layout, edit_info, write_dataset

FORMAT = {
    "info": {
        *("codebase_version", "robot_type", "total_episodes", "total_frames", "total_tasks", "chunks_size"),
        *("data_files_size_in_mb", "video_files_size_in_mb", "fps", "splits", "data_path", "video_path"),
        "features",
    },
    "episodes": {
        *("episode_index", "tasks", "length", "dataset_from_index", "dataset_to_index"),
        *("data/chunk_index", "data/file_index", "meta/episodes/chunk_index", "meta/episodes/file_index"),
    },
    "statistics": {"min", "max", "mean", "std", "count", "q01", "q10", "q50", "q90", "q99"},
    "rows": {"timestamp", "frame_index", "episode_index", "index", "task_index"},
}
"""What version 3.0 of the format asks for, as version 0.4 of the `lerobot` library reads it."""


def images_of(folder: Path) -> list[DatasetImage]:
    found = list(LeRobotDataset(folder).images())
    assert all(isinstance(one, DatasetImage) for one in found)
    return [one for one in found if isinstance(one, DatasetImage)]


def numbers_of(folder: Path) -> dict[str, list[Any]]:
    columns: dict[str, list[Any]] = {}
    for path in sorted(folder.glob("data/*/*.parquet")):
        table = pq.read_table(path, partitioning=None)
        for name in table.column_names:
            if "images" not in name:
                columns.setdefault(name, []).extend(table[name].to_pylist())
    return columns


@pytest.mark.parametrize(
    "layout",
    [Layout("v2.1"), Layout("v2.1", beside=True), Layout("v2.1", "libx264"), Layout("v3.0", "libx264")],
)
def test_a_copy_has_the_images_and_the_bits_of_all_numbers(tmp_path: Path, layout: Layout) -> None:
    source, out = write_dataset(tmp_path / "set", layout), tmp_path / "copy"
    DatasetCopy(LeRobotDataset(source), out, lambda image: image.rgb).write()
    before, after = images_of(source), images_of(out)
    assert [(one.name, one.step) for one in before] == [(one.name, one.step) for one in after]
    assert all(np.array_equal(a.rgb, b.rgb) for a, b in zip(before, after, strict=True))
    assert numbers_of(source) == numbers_of(out)
    for old, new in zip(sorted(source.glob("data/*/*")), sorted(out.glob("data/*/*.parquet")), strict=True):
        kinds = {field.name: field.type for field in pq.read_schema(old) if "images" not in field.name}
        assert kinds == {
            field.name: field.type for field in pq.read_schema(new) if "images" not in field.name
        }


def test_a_link_to_an_empty_folder_is_filled(tmp_path: Path) -> None:
    disk, out = tmp_path / "disk", tmp_path / "copy"
    disk.mkdir()
    out.symlink_to(disk)
    DatasetCopy(LeRobotDataset(write_dataset(tmp_path / "set")), out, lambda image: image.rgb).write()
    assert out.is_symlink()
    assert is_lerobot(disk)


def test_a_folder_that_cannot_be_replaced_is_refused_before_the_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dataset, out = LeRobotDataset(write_dataset(tmp_path / "set")), tmp_path / "out"
    out.mkdir()
    with monkeypatch.context() as patched:
        patched.setattr(Path, "is_mount", lambda path: path == out)
        with pytest.raises(InputError, match=r"out is a mount point .* expected a folder in it"):
            DatasetCopy(dataset, out, lambda image: image.rgb)
    monkeypatch.chdir(out)
    with pytest.raises(InputError, match=r"^\. is a mount point or the working directory"):
        DatasetCopy(dataset, Path(), lambda image: image.rgb)
    DatasetCopy(dataset, Path("copy"), lambda image: image.rgb).write()
    assert [one.name for one in out.iterdir()] == ["copy"]


def test_a_copy_has_the_layout_of_version_3(tmp_path: Path) -> None:
    source, out = write_dataset(tmp_path / "set", Layout("v2.1", "libx264")), tmp_path / "copy"
    DatasetCopy(LeRobotDataset(source), out, lambda image: image.rgb).write()
    info = json.loads((out / "meta/info.json").read_text())
    assert info.keys() == FORMAT["info"]
    assert (info["codebase_version"], info["total_frames"], info["video_path"]) == (
        "v3.0",
        sum(LENGTHS),
        None,
    )
    assert {key: info["features"][key]["dtype"] for key in (TOP, WRIST)} == {TOP: "image", WRIST: "image"}
    assert info["features"].keys() >= FORMAT["rows"]
    episodes = pq.read_table(out / "meta/episodes/chunk-000/file-000.parquet", partitioning=None).to_pylist()
    assert all(row.keys() >= FORMAT["episodes"] for row in episodes)
    assert [(row["dataset_from_index"], row["dataset_to_index"]) for row in episodes] == [
        (0, 5),
        (5, 14),
        (14, 22),
    ]
    tasks = pq.read_table(out / "meta/tasks.parquet", partitioning=None)
    note = json.loads(tasks.schema.metadata[b"pandas"])
    assert tasks[note["index_columns"][0]].to_pylist() == list(TASKS)
    assert tasks["task_index"].to_pylist() == [0, 1]
    statistics = json.loads((out / "meta/stats.json").read_text())
    assert statistics.keys() >= {TOP, WRIST, "action", "observation.state", *FORMAT["rows"]}
    assert all(one.keys() == FORMAT["statistics"] for one in statistics.values())


def test_statistics_are_those_of_the_images_that_were_written(tmp_path: Path) -> None:
    source, out = write_dataset(tmp_path / "set", Layout("v3.0")), tmp_path / "dark"
    DatasetCopy(LeRobotDataset(source), out, lambda image: image.rgb // 2).write()
    pixels = np.stack([one.rgb for one in images_of(out)]) / 255
    statistics = json.loads((out / "meta/stats.json").read_text())
    found = {name: np.array(values) for name, values in statistics[TOP].items()}
    assert found["mean"].shape == (3, 1, 1)
    assert np.allclose(found["mean"].ravel(), pixels.mean(axis=(0, 1, 2)))
    assert np.allclose(found["std"].ravel(), pixels.std(axis=(0, 1, 2)))
    assert np.array_equal(found["min"].ravel(), pixels.min(axis=(0, 1, 2)))
    assert np.array_equal(found["max"].ravel(), pixels.max(axis=(0, 1, 2)))
    assert np.allclose(found["q50"].ravel(), np.median(pixels, axis=(0, 1, 2)), atol=1 / 255)
    assert found["count"].tolist() == [sum(LENGTHS)]
    actions = np.array(numbers_of(out)["action"])
    assert np.allclose(statistics["action"]["mean"], actions.mean(axis=0))
    assert np.allclose(statistics["action"]["q90"], np.quantile(actions, 0.9, axis=0))


def test_the_command_makes_the_pixels_of_distort(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = write_dataset(tmp_path / "set", Layout("v3.0", "libx264"))
    words = ["distort", str(source), "--distortion", "12:3", "--seed", "4", "--out"]
    assert main([*words, str(tmp_path / "files"), "--workers", "1"]) == 0
    out = tmp_path / "copy"
    assert main([*words, str(out), "--format", "lerobot", "--only-topic", TOP]) == 0
    assert "3 episodes, 22 steps" in capsys.readouterr().out
    clean = {one.name: one.rgb for one in images_of(source)}
    for one in images_of(out):
        expected = read_image(tmp_path / f"files/12_3/{one.name}.png") if one.key == TOP else clean[one.name]
        assert np.array_equal(one.rgb, expected), one.name
    assert numbers_of(source) == numbers_of(out)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--distortion", "12:3", "--distortion", "19:5"), "a data set has one distortion"),
        (("--distortion", "12"), "a data set has one distortion"),
        (("--distortion", "12:3", "--workers", "2"), "--workers"),
        (("--distortion", "12:3", "--only-topic", "nose"), "no such camera"),
    ],
)
def test_wrong_words_write_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], words: tuple[str, ...], message: str
) -> None:
    source, out = write_dataset(tmp_path / "set"), tmp_path / "copy"
    assert main(["distort", str(source), *words, "--format", "lerobot", "--out", str(out)]) in {1, 2}
    assert message in capsys.readouterr().err
    assert not out.exists()


@pytest.mark.parametrize("codec", ["", "h264"])
def test_a_damaged_episode_is_left_out_and_the_others_are_numbered_anew(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], codec: str
) -> None:
    source, out = write_dataset(tmp_path / "set", Layout("v3.0", beside=True)), tmp_path / "copy"
    edit_info(source, splits={"train": "0:2", "test": "2:3", "odd": "all"})
    (source / f"images/{TOP}/episode-000000/frame-000004.png").unlink()
    words = ["distort", str(source), "--distortion", "12:3", "--format", "lerobot", "--json", "--out"]
    assert main([*words, str(out), *(["--video", codec] if codec else [])]) == 1
    shown = capsys.readouterr()
    tree = json.loads(shown.out)
    assert (tree["episodes"], tree["steps"]) == (2, LENGTHS[1] + LENGTHS[2])
    assert [one["episode"] for one in tree["failed"]] == [0]
    assert "episode 0, step 4 is missing" in tree["failed"][0]["reason"]
    assert "left out: episode 0: the image of" in shown.err
    copy = LeRobotDataset(out)
    assert [(one.index, one.steps, one.tasks) for one in copy.episodes] == [
        (0, LENGTHS[1], (TASKS[1],)),
        (1, LENGTHS[2], (TASKS[1],)),
    ]
    before = {name: values[LENGTHS[0] :] for name, values in numbers_of(source).items()}
    before["episode_index"] = [index - 1 for index in before["episode_index"]]
    before["index"] = [index - LENGTHS[0] for index in before["index"]]
    assert numbers_of(out) == before
    assert len(images_of(out)) == LENGTHS[1] + LENGTHS[2]
    info = json.loads((out / "meta/info.json").read_text())
    assert info["splits"] == {"train": "0:1", "test": "1:2"}
    rows = pq.read_table(out / "meta/episodes/chunk-000/file-000.parquet", partitioning=None).to_pylist()
    assert [(row["dataset_from_index"], row["dataset_to_index"]) for row in rows] == [(0, 9), (9, 17)]
    assert json.loads((out / "meta/stats.json").read_text())["episode_index"]["max"] == [1]


def test_files_of_which_no_episode_is_whole_have_no_number(tmp_path: Path) -> None:
    source, out = write_dataset(tmp_path / "set", Layout("v2.1", "libx264")), tmp_path / "copy"
    first, last = (source / f"data/chunk-000/episode_{index:06d}.parquet" for index in (0, 2))
    first.write_bytes(first.read_bytes()[:300])
    table = pq.read_table(last, partitioning=None)
    place = table.schema.get_field_index("timestamp")
    late = pa.array([0.0, *(0.15 + k / 10 for k in range(1, table.num_rows))], pa.float32())
    pq.write_table(table.set_column(place, "timestamp", late), last)
    copied = DatasetCopy(LeRobotDataset(source), out, lambda image: image.rgb, VideoCodec.H264).write()
    assert (copied.episodes, copied.steps, list(copied.left_out)) == (1, LENGTHS[1], [0, 2])
    assert "episode_000000.parquet cannot be read" in copied.left_out[0]
    assert "not evenly spaced; expected images without --video" in copied.left_out[2]
    files = sorted(str(path.relative_to(out)) for path in out.rglob("*-000/*"))
    assert files == [
        "data/chunk-000/file-000.parquet",
        "meta/episodes/chunk-000/file-000.parquet",
        *(f"videos/{key}/chunk-000/file-000.mp4" for key in (TOP, WRIST)),
    ]
    assert len(images_of(out)) == 2 * LENGTHS[1]


def test_a_copy_that_fails_leaves_nothing(tmp_path: Path) -> None:
    source, out = write_dataset(tmp_path / "set", Layout("v2.1", beside=True)), tmp_path / "copy"
    for index in range(len(LENGTHS)):
        (source / f"images/{TOP}/episode_{index:06d}/frame_000004.png").unlink()
    with pytest.raises(InputError, match=r"no episode is whole; got .*episode 0, step 4 is missing"):
        DatasetCopy(LeRobotDataset(source), out, lambda image: image.rgb).write()
    assert not out.exists()
    out.mkdir()
    (out / "mine").touch()
    with pytest.raises(InputError, match="is not empty"):
        DatasetCopy(LeRobotDataset(source), out, lambda image: image.rgb)
    assert (out / "mine").exists()


def test_a_copy_that_cannot_be_written_says_so_and_one_without_an_end_is_no_data_set(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, out = write_dataset(tmp_path / "set"), tmp_path / "copy"

    def full(*_: object) -> None:
        partial = out.with_name(f".{out.name}.partial")
        assert (partial / output.STATS_FILE).is_file()
        assert not is_lerobot(partial)
        assert not out.exists()
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(output, "write_tasks", full)
    with pytest.raises(InputError, match=f"^cannot write {out}: No space left on device$"):
        DatasetCopy(LeRobotDataset(source), out, lambda image: image.rgb).write()
    assert [path.name for path in tmp_path.iterdir()] == ["set"]


@pytest.mark.parametrize("codec", ["h264", "av1"])
def test_a_copy_in_videos_has_the_images_within_the_codec(tmp_path: Path, codec: str) -> None:
    source, out = write_dataset(tmp_path / "set", Layout("v3.0", "libx264")), tmp_path / "copy"
    DatasetCopy(LeRobotDataset(source), out, lambda image: image.rgb, VideoCodec(codec)).write()
    before, after = images_of(source), images_of(out)
    assert [(one.name, one.step) for one in before] == [(one.name, one.step) for one in after]
    for old, new in zip(before, after, strict=True):
        assert np.abs(old.rgb.astype(int) - new.rgb).mean() < 4.0, old.name
    assert numbers_of(source) == numbers_of(out)
    info = json.loads((out / "meta/info.json").read_text())
    assert info["video_path"] == "videos/{video_key}/chunk-{chunk_index:03d}/file-{file_index:03d}.mp4"
    assert {info["features"][key]["dtype"] for key in (TOP, WRIST)} == {"video"}
    assert info["features"][TOP]["info"]["video.codec"] == codec
    row = pq.read_table(out / "meta/episodes/chunk-000/file-000.parquet", partitioning=None).to_pylist()[1]
    names = ("chunk_index", "file_index", "from_timestamp", "to_timestamp")
    assert [row[f"videos/{TOP}/{name}"] for name in names] == [0, 0, 0.5, 1.4]


def test_numbers_that_are_not_finite_are_in_no_statistic(tmp_path: Path) -> None:
    found = statistics_of(np.array([[1.0, 5.0], [np.nan, 6.0], [3.0, np.inf]]))
    assert found is not None
    assert (found["min"], found["mean"], found["count"]) == ([1.0, 5.0], [2.0, 5.5], [3])
    assert statistics_of(np.array([[1.0, np.nan], [2.0, np.nan]])) is None
    source, out = write_dataset(tmp_path / "set"), tmp_path / "copy"
    for file in source.glob("data/*/*.parquet"):
        table = pq.read_table(file, partitioning=None)
        bad = pa.array([[float("nan"), 1.0, 2.0]] * table.num_rows, pa.list_(pa.float32(), 3))
        pq.write_table(table.append_column("effort", bad), file)
    DatasetCopy(LeRobotDataset(source), out, lambda image: image.rgb).write()
    text = (out / "meta/stats.json").read_text()
    assert "NaN" not in text
    assert "effort" not in json.loads(text)
    assert str(numbers_of(out)["effort"]) == str(numbers_of(source)["effort"])


@pytest.mark.parametrize("column", ["episode_index", "frame_index"])
def test_a_missing_column_is_one_line(tmp_path: Path, column: str) -> None:
    source, out = write_dataset(tmp_path / "set"), tmp_path / "copy"
    for file in source.glob("data/*/*.parquet"):
        pq.write_table(pq.read_table(file, partitioning=None).drop_columns([column]), file)
    with pytest.raises(InputError, match=f"lacks a column; expected {column}"):
        DatasetCopy(LeRobotDataset(source), out, lambda image: image.rgb).write()
    assert not out.exists()


def test_columns_that_are_no_numbers_keep_their_bits(tmp_path: Path) -> None:
    source, out = write_dataset(tmp_path / "set"), tmp_path / "copy"
    for file in source.glob("data/*/*.parquet"):
        table = pq.read_table(file, partitioning=None)
        bad = pa.array([b"\xff"] * table.num_rows, pa.binary()).view(pa.string())
        late = pa.array([2**62] * table.num_rows, pa.timestamp("us"))
        pq.write_table(table.append_column("bad", bad).append_column("late", late), file)
    DatasetCopy(LeRobotDataset(source), out, lambda image: image.rgb).write()
    for name in ("bad", "late"):
        for before, after in zip(
            *(sorted(one.glob("data/*/*.parquet")) for one in (source, out)), strict=True
        ):
            columns = [pq.read_table(one, partitioning=None)[name] for one in (before, after)]
            assert columns[0].equals(columns[1])
        assert name not in json.loads((out / "meta/stats.json").read_text())


def test_rows_without_numbers_of_one_length_have_no_statistics() -> None:
    rows = [as_numbers(values) for values in ([1, 2], [[1.0, 2.0]], ["1.5"], [[1], [1, 2]], [None])]
    assert [None if one is None else one.shape for one in rows] == [(2, 1), (1, 2), None, None, None]
    assert joined(rows[:1] * 2) is not None
    assert joined(rows[:2]) is joined(rows[1:3]) is statistics_of(None) is None


def test_a_rate_that_is_no_whole_number_stays(tmp_path: Path) -> None:
    source, out = write_dataset(tmp_path / "set"), tmp_path / "copy"
    edit_info(source, fps=10.0)
    DatasetCopy(LeRobotDataset(source), out, lambda image: image.rgb).write()
    assert json.loads((out / "meta/info.json").read_text())["fps"] == 10.0
