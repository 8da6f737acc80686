"""The reader returns typed messages; broken files are reported in one line that quotes the path."""

from __future__ import annotations

import tracemalloc
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mcap.reader import make_reader
from mcap.writer import Writer as LibraryWriter
from mcap_ros2.decoder import DecoderFactory
from recording_samples import (
    EVENT_TOPIC,
    EVENT_TYPE,
    IMAGE_TOPIC,
    Written,
    samples,
    type_store,
    write_recording,
)
from rosbags.rosbag2 import StoragePlugin
from rosbags.rosbag2 import Writer as RosbagsWriter
from rosbags.typesys import Stores, get_typestore

from embodied_iqa.data.recording.errors import RecordingReadError
from embodied_iqa.data.recording.reader import TrialReader
from embodied_iqa.data.recording.repair.recover import recover
from embodied_iqa.data.recording.writer import TrialWriter
from embodied_iqa.imaging.images.image_cdr import IMAGE_TYPE, image_to_cdr


@pytest.fixture
def path(tmp_path: Path) -> Path:
    write_recording(tmp_path / "trial.mcap")
    return tmp_path / "trial.mcap"


def test_everything_comes_back(path: Path) -> None:
    with TrialReader(path) as reader:
        found = [Written(m.topic, m.log_time_ns, m.sequence, m.cdr) for m in reader.messages()]
        assert found == list(samples(40))
        assert {info.topic: (info.type_name, info.messages) for info in reader.topics.values()} == {
            IMAGE_TOPIC: (IMAGE_TYPE, 40),
            EVENT_TOPIC: (EVENT_TYPE, 40),
        }
        assert (reader.start_ns, reader.end_ns) == (1_000, 1_079)
        assert sum(info.messages for info in reader.topics.values()) == 80
        assert reader.metadata() == {"config": {"seed": "3"}}
        assert [(a.name, a.data) for a in reader.attachments()] == [("config.yaml", b"seed: 3\n")]


@pytest.mark.parametrize(
    ("start", "end"), [(None, None), (1_010, None), (None, 1_011), (1_010, 1_050), (5, 5), (9_999, None)]
)
def test_time_range_has_its_start_and_not_its_end(path: Path, start: int | None, end: int | None) -> None:
    with TrialReader(path) as reader:
        found = [m.log_time_ns for m in reader.messages([EVENT_TOPIC], start, end)]
    low, high = start or 0, 10**9 if end is None else end
    times = (m.log_time_ns for m in samples(40) if m.topic == EVENT_TOPIC)
    assert found == [time for time in times if low <= time < high]


def test_fields_equal_those_of_an_independent_decoder(path: Path) -> None:
    with path.open("rb") as file, TrialReader(path) as reader:
        other = make_reader(file, decoder_factories=[DecoderFactory()])
        for message, (*_, expected) in zip(
            reader.messages([EVENT_TOPIC]), other.iter_decoded_messages([EVENT_TOPIC]), strict=True
        ):
            event = reader.decode(message)
            assert (event.task, event.run_index) == (expected.task, expected.run_index)
            assert event.header.stamp.nanosec == expected.header.stamp.nanosec
            assert event.tool_pose.orientation.w == expected.tool_pose.orientation.w


def test_decoded_messages_can_be_written_again(path: Path) -> None:
    types = type_store()
    with TrialReader(path) as reader:
        for message in reader.messages([EVENT_TOPIC]):
            assert types.serialise(reader.decode(message)) == message.cdr


def test_images_equal_those_of_an_independent_decoder(path: Path) -> None:
    with path.open("rb") as file, TrialReader(path) as reader:
        other = make_reader(file, decoder_factories=[DecoderFactory()])
        pairs = zip(reader.images(), other.iter_decoded_messages([IMAGE_TOPIC]), strict=True)
        for recorded, (*_, expected) in pairs:
            assert recorded.image.rgb.tobytes() == bytes(expected.data)
            assert recorded.image.rgb.shape == (expected.height, expected.width, 3)
            assert recorded.image.frame_id == "top_frame"


def test_reads_a_bag_of_rosbags(tmp_path: Path) -> None:
    store = get_typestore(Stores.ROS2_JAZZY)
    rgb = np.random.default_rng(5).integers(0, 256, (6, 7, 3), dtype=np.uint8)
    with RosbagsWriter(tmp_path / "bag", version=9, storage_plugin=StoragePlugin.MCAP) as writer:
        connection = writer.add_connection(IMAGE_TOPIC, IMAGE_TYPE, typestore=store)
        for index in range(3):
            writer.write(connection, index, image_to_cdr(rgb, index))
    with TrialReader(tmp_path / "bag") as reader:
        assert reader.path == tmp_path / "bag" / "bag.mcap"
        found = [recorded.image for recorded in reader.images()]
        assert [image.stamp_ns for image in found] == [0, 1, 2]
        assert all(np.array_equal(image.rgb, rgb) for image in found)
        message = next(reader.messages())
        assert np.array_equal(reader.decode(message).data, rgb.reshape(-1))


def test_memory_does_not_grow_with_the_file(tmp_path: Path) -> None:
    rgb = np.random.default_rng(5).integers(0, 256, (200, 200, 3), dtype=np.uint8)
    cdr = image_to_cdr(rgb, 0)
    with TrialWriter(tmp_path / "large.mcap", types=type_store()) as writer:
        writer.add_channel(IMAGE_TOPIC, IMAGE_TYPE)
        for index in range(200):
            writer.write(IMAGE_TOPIC, cdr, index)
    tracemalloc.start()
    with TrialReader(tmp_path / "large.mcap") as reader:
        assert sum(1 for _ in reader.images()) == 200
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 20 * len(cdr)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is empty"),
        (b"SQLite format 3\0" * 9, "SQLite of something else|is damaged"),
        (b"another format" * 9, "is not a recording"),
        (b"\x89HDF\r\n\x1a\n" * 9, "is an HDF5 file, which is not read: convert it to a LeRobot data set"),
        (b"\x89MCAP0\r\n", "cut short.*embodied-iqa recover"),
        (b"\x89MCAP0\r\n" + bytes(100) + b"\x89MCAP0\r\n", "is damaged.*embodied-iqa recover"),
    ],
)
def test_broken_files_are_told(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "broken.mcap"
    path.write_bytes(content)
    with pytest.raises(RecordingReadError, match=rf"broken\.mcap.*{message}"):
        TrialReader(path)


def test_missing_file_and_folder(tmp_path: Path) -> None:
    with pytest.raises(RecordingReadError, match=r"none\.mcap.*No such file"):
        TrialReader(tmp_path / "none.mcap")
    with pytest.raises(RecordingReadError, match=r"is a folder; .*available: none"):
        TrialReader(tmp_path)
    for name in ("a.mcap", "b.mcap"):
        (tmp_path / name).touch()
    with pytest.raises(RecordingReadError, match=r"available: a\.mcap, b\.mcap"):
        TrialReader(tmp_path)


def test_a_folder_of_runs_names_the_recordings_below_it(tmp_path: Path) -> None:
    for number in range(3):
        for task in ("press", "open"):
            folder = tmp_path / f"run-{number}" / task
            folder.mkdir(parents=True)
            (folder / "trial.mcap").touch()
    below = f"available: {tmp_path}/run-0/open, {tmp_path}/run-0/press, {tmp_path}/run-1/open,"
    with pytest.raises(RecordingReadError, match=f"is a folder; .*{below}") as raised:
        TrialReader(tmp_path)
    assert str(raised.value).endswith(f"{tmp_path}/run-2/open, more")
    with pytest.raises(
        RecordingReadError, match=f"available: {tmp_path}/run-2/open, {tmp_path}/run-2/press$"
    ):
        TrialReader(tmp_path / "run-2")


def test_cut_anywhere_is_told(path: Path, tmp_path: Path) -> None:
    content = path.read_bytes()
    cut = tmp_path / "cut.mcap"
    for end in range(1, len(content), 997):
        cut.write_bytes(content[:end])
        with pytest.raises(RecordingReadError):
            TrialReader(cut)


def test_damaged_chunk_is_told_where_it_is_met(path: Path) -> None:
    content = bytearray(path.read_bytes())
    with path.open("rb") as file:
        summary = make_reader(file).get_summary()
    assert summary is not None
    index = summary.chunk_indexes[7]
    content[index.chunk_start_offset + index.chunk_length - 4] ^= 1
    path.write_bytes(content)
    with (
        TrialReader(path) as reader,
        pytest.raises(RecordingReadError, match=r"is damaged.*embodied-iqa recover"),
    ):
        list(reader.messages())


@settings(max_examples=60, deadline=None)
@given(share=st.floats(0, 1, exclude_max=True), flip=st.integers(1, 255))
def test_damaged_index_is_told(share: float, flip: int) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "trial.mcap"
        write_recording(path, 5)
        content = bytearray(path.read_bytes())
        start = int.from_bytes(content[-28:-20], "little")
        content[start + int(share * (len(content) - start))] ^= flip
        path.write_bytes(content)
        with pytest.raises(RecordingReadError, match=r"embodied-iqa recover|expected"):
            TrialReader(path)
        report = recover(path)
        assert report.kept_messages == 10
        assert report.output is not None


def test_other_profile_no_index_no_images_no_topic(tmp_path: Path) -> None:
    other = tmp_path / "other.mcap"
    with other.open("wb") as file:
        writer = LibraryWriter(file)
        writer.start("ros1")
        writer.finish()
    with pytest.raises(RecordingReadError, match="expected profile 'ros2'; got 'ros1'"):
        TrialReader(other)
    with other.open("wb") as file:
        writer = LibraryWriter(file, use_chunking=False)
        writer.start("ros2")
        channel = writer.register_channel("/x", "cdr", 0)
        writer.add_message(channel, 0, b"\0\1\0\0", 0)
        writer.finish()
    with pytest.raises(RecordingReadError, match="has no index"):
        TrialReader(other)
    events = tmp_path / "events.mcap"
    with TrialWriter(events, types=type_store()) as trial:
        trial.add_channel(EVENT_TOPIC, EVENT_TYPE)
    with TrialReader(events) as reader:
        with pytest.raises(RecordingReadError, match="holds no images; available: /trial/events"):
            list(reader.images())
        with pytest.raises(RecordingReadError, match="no such topic; got '/x'; available: /trial/events"):
            list(reader.messages(["/x"]))
        assert list(reader.messages()) == []
        assert (reader.start_ns, reader.end_ns) == (0, 0)


@pytest.mark.parametrize("high_byte", [0x10, 0x7F, 0xF0])
def test_an_index_beyond_every_file_is_damage(path: Path, tmp_path: Path, high_byte: int) -> None:
    """The footer's offset of the summary is larger than a file system can seek."""
    content = bytearray(path.read_bytes())
    content[-21] = high_byte
    (tmp_path / "far.mcap").write_bytes(content)
    with pytest.raises(RecordingReadError, match="is damaged"):
        TrialReader(tmp_path / "far.mcap")


def test_a_damaged_image_is_named_with_its_topic(tmp_path: Path) -> None:
    path = tmp_path / "damaged.mcap"
    with TrialWriter(path, types=type_store()) as writer:
        writer.add_channel(IMAGE_TOPIC, IMAGE_TYPE)
        writer.write(IMAGE_TOPIC, samples(1)[0].cdr[:40], 1)
    with TrialReader(path) as reader, pytest.raises(RecordingReadError, match=f"topic {IMAGE_TOPIC}: "):
        list(reader.images())
