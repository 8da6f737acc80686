"""Recordings in SQLite, written by the rosbags library, and channels of other encodings beside images."""

from __future__ import annotations

import io
import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import zstandard
from mcap.writer import Writer as McapWriter
from numpy.typing import NDArray
from recording_samples import IMAGE_TOPIC
from rosbags.rosbag2 import CompressionFormat, CompressionMode, StoragePlugin, Writer
from rosbags.typesys import Stores, get_typestore

from embodied_iqa.cli.main import main
from embodied_iqa.data.frames.any_frames import open_frames
from embodied_iqa.data.recording import sqlite_part
from embodied_iqa.data.recording.bag_camera import BagCamera, BagCameraOptions
from embodied_iqa.data.recording.definitions import MessageDefinitions
from embodied_iqa.data.recording.errors import RecordingReadError
from embodied_iqa.data.recording.reader import TrialReader
from embodied_iqa.data.recording.recording_names import is_recording
from embodied_iqa.imaging.images.frame import View
from embodied_iqa.imaging.images.image_cdr import IMAGE_TYPE, image_to_cdr

STORE = get_typestore(Stores.ROS2_HUMBLE)
JOINTS = "/joint_states"


def pixels(index: int) -> NDArray[np.uint8]:
    return np.random.default_rng(index).integers(0, 256, (24, 32, 3), dtype=np.uint8)


def joints(index: int) -> bytes:
    types = STORE.types
    header = types["std_msgs/msg/Header"](types["builtin_interfaces/msg/Time"](0, index), "base")
    state = types["sensor_msgs/msg/JointState"](
        header, ["a"], np.array([index / 2]), np.array([]), np.array([])
    )
    return bytes(STORE.serialize_cdr(state, "sensor_msgs/msg/JointState"))


def write_bag(folder: Path, indices: range = range(4), mode: CompressionMode = CompressionMode.NONE) -> Path:
    """As `ros2 bag record` of Humble: a folder with metadata.yaml and one `.db3`; messages out of order."""
    writer = Writer(folder, version=8, storage_plugin=StoragePlugin.SQLITE3)
    if mode is not CompressionMode.NONE:
        writer.set_compression(mode, CompressionFormat.ZSTD)
    with writer:
        images = writer.add_connection(IMAGE_TOPIC, IMAGE_TYPE, typestore=STORE)
        states = writer.add_connection(JOINTS, "sensor_msgs/msg/JointState", typestore=STORE)
        for index in reversed(indices):
            writer.write(images, 1_000 + index, image_to_cdr(pixels(index), 1_000 + index))
            writer.write(states, 1_000 + index, joints(index))
    return folder


def file_of(folder: Path) -> Path:
    return next(folder.glob("*.db3*"))


def seen(path: Path) -> list[int]:
    """Which images a reader gives, in its order."""
    with TrialReader(path) as reader:
        found = [one.image for one in reader.images()]
    assert all(np.array_equal(image.rgb, pixels(image.stamp_ns - 1_000)) for image in found)
    return [image.stamp_ns - 1_000 for image in found]


@pytest.mark.parametrize("mode", [CompressionMode.NONE, CompressionMode.MESSAGE, CompressionMode.FILE])
def test_a_bag_of_the_library_is_read_by_time(tmp_path: Path, mode: CompressionMode) -> None:
    folder = write_bag(tmp_path / "bag", mode=mode)
    assert is_recording(folder)
    assert seen(folder) == seen(file_of(folder)) == [0, 1, 2, 3]
    with TrialReader(folder) as reader:
        assert (reader.start_ns, reader.end_ns) == (1_000, 1_003)
        assert {name: info.messages for name, info in reader.topics.items()} == {IMAGE_TOPIC: 4, JOINTS: 4}
        states = [reader.decode(message) for message in reader.messages([JOINTS], 1_001, 1_003)]
        assert [state.position.tolist() for state in states] == [[0.5], [1.0]]
        words = {"none": "", "message": "messages", "file": "files"}
        assert reader.compression() == words[mode.name.lower()]


def test_the_parts_of_a_split_bag_are_one(tmp_path: Path) -> None:
    first, second = write_bag(tmp_path / "bag", range(3)), write_bag(tmp_path / "rest", range(3, 5))
    file_of(first).rename(first / "bag_0.db3")
    file_of(second).rename(first / "bag_1.db3")
    (first / "metadata.yaml").unlink()
    assert seen(first) == list(range(5))


def test_definitions_in_the_file_are_used_and_an_unknown_type_stops_nothing(tmp_path: Path) -> None:
    folder = write_bag(tmp_path / "bag")
    with closing(sqlite3.connect(file_of(folder))) as base, base:
        base.execute("UPDATE topics SET type = 'own_msgs/msg/Thing' WHERE name = ?", (JOINTS,))
        base.execute("DROP TABLE IF EXISTS message_definitions")
    assert seen(folder) == [0, 1, 2, 3]
    with TrialReader(folder) as reader:
        message = next(reader.messages([JOINTS]))
        with pytest.raises(RecordingReadError, match="own_msgs/msg/Thing"):
            reader.decode(message)
    text = MessageDefinitions().full_text("sensor_msgs/msg/JointState")
    with closing(sqlite3.connect(file_of(folder))) as base, base:
        base.execute("CREATE TABLE message_definitions (topic_type, encoding, encoded_message_definition)")
        base.execute("INSERT INTO message_definitions VALUES ('own_msgs/msg/Thing', 'ros2msg', ?)", (text,))
    with TrialReader(folder) as reader:
        assert reader.decode(next(reader.messages([JOINTS]))).name == ["a"]


def test_damaged_text_is_quoted_in_one_line(tmp_path: Path) -> None:
    folder = write_bag(tmp_path / "bag")
    with closing(sqlite3.connect(file_of(folder))) as base, base:
        base.execute("DROP TABLE IF EXISTS message_definitions")
        base.execute("CREATE TABLE message_definitions (topic_type, encoding, encoded_message_definition)")
        damaged = "INSERT INTO message_definitions VALUES ('a', 'ros2msg', CAST(? AS TEXT))"
        base.execute(damaged, (b"two\r\nlines\x1b[31m \xff",))
    with pytest.raises(RecordingReadError, match=r"is damaged \(.*two lines \[31m") as caught:
        TrialReader(folder)
    assert str(caught.value).isprintable()


def test_two_readers_unpack_a_file_once_and_leave_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite_part.tempfile, "tempdir", str(tmp_path))
    file = file_of(write_bag(tmp_path / "bag", mode=CompressionMode.FILE))
    before = set(tmp_path.iterdir())
    with TrialReader(file), TrialReader(file):
        assert len(set(tmp_path.iterdir()) - before) == 1
    assert set(tmp_path.iterdir()) == before


def test_reading_writes_nothing_beside_the_file(tmp_path: Path) -> None:
    folder = write_bag(tmp_path / "bag")
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    seen(folder)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_damage_is_one_line(tmp_path: Path) -> None:
    data = file_of(write_bag(tmp_path / "bag")).read_bytes()
    other = tmp_path / "other.db3"
    with closing(sqlite3.connect(other)) as base, base:
        base.execute("CREATE TABLE topics (id, name, type, serialization_format)")
        base.execute("CREATE VIEW messages AS SELECT 1 id, 1 topic_id, 1 timestamp, x'00' data")
    (tmp_path / "short.db3").write_bytes(data[: len(data) // 2])
    (tmp_path / "zeros.db3").write_bytes(data[:100] + bytes(len(data) - 100))
    (tmp_path / "cut.db3.zstd").write_bytes(zstandard.compress(data)[:-50])
    for name, words in (
        ("other", "SQLite of something else"),
        ("short", "is damaged"),
        ("zeros", "is damaged"),
        ("cut", "unpacked"),
    ):
        with pytest.raises(RecordingReadError, match=words) as error:
            seen(next(tmp_path.glob(f"{name}.db3*")))
        assert "\n" not in str(error.value)


def test_commands_read_the_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = write_bag(tmp_path / "bag", range(25))
    assert (
        main(["distort", str(folder), "--distortion", "10:3", "--workers", "1", "--out", str(tmp_path / "o")])
        == 0
    )
    assert len(list((tmp_path / "o").rglob("*.png"))) == 25
    gate = str(tmp_path / "gate.yaml")
    assert main(["gate", "calibrate", str(folder), "--out", gate]) == 0
    assert main(["gate", "check", str(folder), "--calibration", gate]) in {0, 1}
    capsys.readouterr()
    assert main(["recording", "info", str(folder), "--json"]) == 0
    tree = json.loads(capsys.readouterr().out)
    assert [(one["topic"], one["messages"]) for one in tree["topics"]] == [(IMAGE_TOPIC, 25), (JOINTS, 25)]
    assert open_frames(folder).count() == 25


def test_a_file_that_unpacks_to_much_more_takes_little_memory() -> None:
    pieces: list[int] = []

    class Sink(io.BytesIO):
        def write(self, data: Any) -> int:
            pieces.append(len(data))
            return len(data)

    size = 1 << 28
    packed = zstandard.ZstdCompressor(level=1).compress(bytes(size))
    sqlite_part._unpack(io.BytesIO(packed), Sink())
    assert sum(pieces) == size
    assert max(pieces) <= 1 << 27


def test_a_bag_is_a_camera(tmp_path: Path) -> None:
    camera = BagCamera(
        write_bag(tmp_path / "bag"),
        View("wrist"),
        BagCameraOptions(topic=IMAGE_TOPIC, geometry_optional=True),
    )
    frame = camera.read(0.0)
    camera.close()
    assert frame is not None
    assert np.array_equal(frame.rgb, pixels(0))


def test_channels_of_other_encodings_are_left_out_and_listed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    path = tmp_path / "bridge.mcap"
    with path.open("wb") as file:
        writer = McapWriter(file)
        writer.start(profile="ros2")
        text = MessageDefinitions().full_text(IMAGE_TYPE).encode()
        image = writer.register_schema(IMAGE_TYPE, "ros2msg", text)
        channel = writer.register_channel(IMAGE_TOPIC, "cdr", image)
        log = writer.register_channel("/log", "json", 0)
        for index in range(3):
            writer.add_message(log, 1_000 + index, b"{}", 1_000 + index)
            writer.add_message(
                channel, 1_000 + index, image_to_cdr(pixels(index), 1_000 + index), 1_000 + index
            )
        writer.finish()
    assert seen(path) == [0, 1, 2]
    with TrialReader(path) as reader:
        assert [message.topic for message in reader.messages()] == [IMAGE_TOPIC] * 3
        assert reader.foreign == {"/log": "json"}
    assert main(["recording", "info", str(path), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["not_read"] == [{"topic": "/log", "encoding": "json"}]
    assert main(["recording", "info", str(path)]) == 0
    assert "json, not read" in capsys.readouterr().out
