"""Folders of ``ros2 bag``: split, compressed by message or by file; compressed images, depth beside."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

import cv2
import numpy as np
import pytest
import zstandard
from numpy.typing import NDArray
from recording_samples import EVENT_TYPE, IMAGE_TOPIC, type_store

from embodied_iqa.cli.main import main
from embodied_iqa.data.recording import opening
from embodied_iqa.data.recording.bag_camera import BagCamera, BagCameraOptions
from embodied_iqa.data.recording.errors import RecordingReadError
from embodied_iqa.data.recording.reader import TrialReader
from embodied_iqa.data.recording.recording_names import is_recording
from embodied_iqa.data.recording.writer import TrialWriter
from embodied_iqa.imaging.images.frame import View
from embodied_iqa.imaging.images.image_cdr import COMPRESSED_TYPE, IMAGE_TYPE, image_to_cdr
from embodied_iqa.quality.gate.fitting.recordings import recording_files
from embodied_iqa.quality.gate.stored_frames import CameraFrames

COMPRESSED_TOPIC = f"{IMAGE_TOPIC}/compressed"
DEPTH_TOPIC = "/camera/depth/image_raw"


def pixels(index: int) -> NDArray[np.uint8]:
    return np.random.default_rng(index).integers(0, 256, (24, 32, 3), dtype=np.uint8)


def write_images(
    path: Path, indices: range, packed: Callable[[bytes], bytes] = lambda data: data, topic: str = IMAGE_TOPIC
) -> None:
    with TrialWriter(path, types=type_store()) as writer:
        writer.add_channel(topic, IMAGE_TYPE)
        for index in indices:
            writer.write(topic, packed(image_to_cdr(pixels(index), 1_000 + index)), 1_000 + index)


def message(type_name: str, stamp_ns: int, **fields: object) -> bytes:
    types = type_store()
    return types.serialise(types.new(type_name, header=types.header(stamp_ns), **fields))


def depth(stamp_ns: int) -> bytes:
    data = np.full(24 * 32, 900, np.uint16).view(np.uint8)
    return message(
        IMAGE_TYPE, stamp_ns, height=24, width=32, encoding="16UC1", is_bigendian=0, step=64, data=data
    )


def compressed(stamp_ns: int, index: int) -> bytes:
    png = cv2.imencode(".png", pixels(index)[:, :, ::-1])[1].ravel()
    return message(COMPRESSED_TYPE, stamp_ns, format="png", data=png)


def indices_in(path: Path) -> list[int]:
    """Numbers of the images, each of which has the pixels of its number."""
    with TrialReader(path) as reader:
        found = list(reader.images())
        assert sum(reader.topics[topic].messages for topic in reader.image_topics()) == len(found)
    for one in found:
        assert np.array_equal(one.image.rgb, pixels(one.log_time_ns - 1_000))
    return [one.log_time_ns - 1_000 for one in found]


def split(folder: Path, *parts: range, metadata: bool = True) -> Path:
    folder.mkdir()
    names = [f"bag_{number}.mcap" for number in range(len(parts))]
    for name, part in zip(names, parts, strict=True):
        write_images(folder / name, part)
    if metadata:
        listed = "".join(f"    - {name}\n" for name in names)
        text = f"rosbag2_bagfile_information:\n  version: 9\n  relative_file_paths:\n{listed}"
        (folder / "metadata.yaml").write_text(text)
    return folder


@pytest.mark.parametrize("metadata", [True, False])
def test_a_split_recording_is_one(tmp_path: Path, metadata: bool) -> None:
    folder = split(tmp_path / "bag", range(3), range(3, 5), range(5, 9), metadata=metadata)
    assert indices_in(folder) == list(range(9))
    with TrialReader(folder) as reader:
        assert (reader.start_ns, reader.end_ns) == (1_000, 1_008)
        assert [one.log_time_ns for one in reader.messages(None, 1_002, 1_006)] == [
            1_002,
            1_003,
            1_004,
            1_005,
        ]


def test_parts_that_overlap_are_merged_in_time(tmp_path: Path) -> None:
    folder = split(tmp_path / "bag", range(0, 8, 2), range(1, 9, 2))
    assert indices_in(folder) == list(range(8))


def test_parts_are_in_the_order_of_time_and_not_of_names(tmp_path: Path) -> None:
    parts = [range(index, index + 1) for index in range(12)]  # bag_10 comes before bag_2 by name
    assert indices_in(split(tmp_path / "bag", *parts, metadata=False)) == list(range(12))


def test_a_part_that_the_metadata_names_and_that_is_lost_is_reported(tmp_path: Path) -> None:
    folder = split(tmp_path / "bag", range(3), range(3, 5))
    (folder / "bag_1.mcap").unlink()
    with pytest.raises(RecordingReadError, match=r"metadata\.yaml names; expected bag_1\.mcap"):
        TrialReader(folder)


@pytest.mark.parametrize(
    "names", [("blue", "red"), ("run_1", "run_2"), ("bag_1", "bag_2"), ("bag_0", "bag_2"), ("run_0", "run_1")]
)
def test_recordings_that_are_no_parts_of_one_are_not_joined(tmp_path: Path, names: tuple[str, str]) -> None:
    folder = tmp_path / "bag"
    folder.mkdir()
    for number, name in enumerate(names):
        write_images(folder / f"{name}.mcap", range(3 * number, 3 * number + 3))
    words = rf"several files that no metadata\.yaml joins; .*{names[0]}\.mcap, {names[1]}\.mcap"
    with pytest.raises(RecordingReadError, match=words):
        TrialReader(folder)


def test_a_repaired_part_takes_the_place_of_the_damaged_one(tmp_path: Path) -> None:
    folder = split(tmp_path / "bag", range(3), range(3, 9))
    damaged = folder / "bag_1.mcap"
    damaged.write_bytes(damaged.read_bytes()[:-200])
    with pytest.raises(RecordingReadError, match=r"recover .*bag_1\.mcap"):
        TrialReader(folder)
    assert main(["recover", str(damaged)]) == 0
    assert indices_in(folder) == list(range(9))


def test_a_repaired_part_takes_the_place_of_one_that_was_compressed(tmp_path: Path) -> None:
    folder = split(tmp_path / "bag", range(3), range(3, 9))
    damaged = folder / "bag_1.mcap"
    packed = folder / "bag_1.mcap.zstd"
    packed.write_bytes(zstandard.compress(damaged.read_bytes()[:-200]))
    damaged.unlink()
    assert main(["recover", str(packed)]) == 0
    assert (folder / "bag_1.recovered.mcap").is_file()
    assert indices_in(folder) == list(range(9))


def test_the_compressed_copy_of_a_topic_without_messages_is_read(tmp_path: Path) -> None:
    path = tmp_path / "bag.mcap"
    with TrialWriter(path, types=type_store()) as writer:
        writer.add_channel(IMAGE_TOPIC, IMAGE_TYPE)
        writer.add_channel(COMPRESSED_TOPIC, COMPRESSED_TYPE)
        for index in range(3):
            writer.write(COMPRESSED_TOPIC, compressed(1_000 + index, index), 1_000 + index)
    assert [np.array_equal(frame.rgb, pixels(k)) for k, frame in enumerate(CameraFrames(path, (), {}))] == [
        True,
        True,
        True,
    ]


def test_messages_that_ros2_bag_compressed_are_read(tmp_path: Path) -> None:
    write_images(tmp_path / "bag.mcap", range(4), zstandard.ZstdCompressor().compress)
    assert indices_in(tmp_path / "bag.mcap") == [0, 1, 2, 3]
    with TrialReader(tmp_path / "bag.mcap") as reader:
        assert reader.compression() == "messages"


def test_a_damaged_compressed_message_is_said_to_be_one(tmp_path: Path) -> None:
    write_images(tmp_path / "bag.mcap", range(1), lambda data: zstandard.compress(data)[:-30])
    with TrialReader(tmp_path / "bag.mcap") as reader, pytest.raises(RecordingReadError, match="by ros2 bag"):
        list(reader.messages())


def test_files_that_ros2_bag_compressed_are_read(tmp_path: Path) -> None:
    folder = split(tmp_path / "bag", range(3), range(3, 5))
    for file in folder.glob("*.mcap"):
        file.with_name(f"{file.name}.zstd").write_bytes(zstandard.compress(file.read_bytes()))
        file.unlink()
    assert is_recording(folder)
    assert indices_in(folder) == list(range(5))
    assert indices_in(folder / "bag_0.mcap.zstd") == [0, 1, 2]
    with TrialReader(folder) as reader:
        assert reader.compression() == "files"


def test_readers_that_are_open_together_unpack_a_file_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_images(tmp_path / "plain.mcap", range(6))
    packed = tmp_path / "bag.mcap.zstd"
    packed.write_bytes(zstandard.compress((tmp_path / "plain.mcap").read_bytes()))
    unpacked, unpack = list[Path](), opening._unpacked

    def counted(path: Path, file: BinaryIO) -> BinaryIO:
        unpacked.append(path)
        return unpack(path, file)

    monkeypatch.setattr(opening, "_unpacked", counted)
    with TrialReader(packed) as first, TrialReader(packed) as second:
        both = zip(first.messages(), second.messages(), strict=True)
        assert [one.log_time_ns == other.log_time_ns for one, other in both] == [True] * 6
        first.close()
        assert indices_in(packed) == list(range(6))
        assert unpacked == [packed]
    assert indices_in(packed) == list(range(6))
    assert unpacked == [packed, packed]


def test_a_compressed_file_that_is_cut_short_is_refused(tmp_path: Path) -> None:
    write_images(tmp_path / "plain.mcap", range(4))
    cut = zstandard.compress((tmp_path / "plain.mcap").read_bytes())[:-100]
    (tmp_path / "bag.mcap.zstd").write_bytes(cut)
    with pytest.raises(RecordingReadError, match=r"bag\.mcap\.zstd"):
        TrialReader(tmp_path / "bag.mcap.zstd")


def test_damaged_sqlite_is_named(tmp_path: Path) -> None:
    (tmp_path / "bag_0.db3").write_bytes(b"SQLite format 3\0" + bytes(4096))
    for path in (tmp_path, tmp_path / "bag_0.db3"):
        with pytest.raises(RecordingReadError, match=r"SQLite of something else|is damaged"):
            TrialReader(path)


def test_distort_gate_and_fit_take_the_folder(tmp_path: Path) -> None:
    folder = split(tmp_path / "bag", range(3), range(3, 5))
    assert main(["distort", str(folder), "--distortion", "10:3", "--out", str(tmp_path / "out")]) == 0
    assert len(list((tmp_path / "out").rglob("*.png"))) == 5
    assert [frame.stamp_ns for frame in CameraFrames(folder, (), {})] == [1_000 + k for k in range(5)]
    assert recording_files([tmp_path]) == (folder,)


def write_beside_depth(path: Path) -> None:
    with TrialWriter(path, types=type_store()) as writer:
        writer.add_channel(DEPTH_TOPIC, IMAGE_TYPE)
        writer.add_channel(IMAGE_TOPIC, IMAGE_TYPE)
        writer.write(DEPTH_TOPIC, depth(1_000), 1_000)
        for index in range(3):
            writer.write(IMAGE_TOPIC, image_to_cdr(pixels(index), 1_000 + index), 1_000 + index)


def test_depth_does_not_stop_colour(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "bag.mcap"
    write_beside_depth(path)
    assert indices_in(path) == [0, 1, 2]
    with TrialReader(path) as reader:
        assert (reader.image_topics(), reader.depth_topics()) == ([IMAGE_TOPIC], [DEPTH_TOPIC])
    assert main(["distort", str(path), "--distortion", "10:3", "--out", str(tmp_path / "out")]) == 1
    assert len(list((tmp_path / "out").rglob("*.png"))) == 3
    assert f"topic {DEPTH_TOPIC} holds depth" in capsys.readouterr().err
    chosen = ["distort", str(path), "--distortion", "10:3", "--out", str(tmp_path / "chosen"), "--only-topic"]
    assert main([*chosen, IMAGE_TOPIC]) == 0
    assert len(list((tmp_path / "chosen").rglob("*.png"))) == 3
    assert main([*chosen, "/camera/side/image_raw"]) == 1
    assert f"available: {IMAGE_TOPIC}" in capsys.readouterr().err


def test_images_that_are_distorted_already_are_distorted_again_only_where_they_are_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, preview = tmp_path / "bag.mcap", "/cell/distorted/top/preview/compressed"
    with TrialWriter(path, types=type_store()) as writer:
        writer.add_channel(IMAGE_TOPIC, IMAGE_TYPE)
        writer.add_channel(preview, COMPRESSED_TYPE)
        writer.write(IMAGE_TOPIC, image_to_cdr(pixels(0), 1_000), 1_000)
        writer.write(preview, compressed(1_000, 0), 1_000)
    words = ["distort", str(path), "--distortion", "10:3", "--out"]
    assert main([*words, str(tmp_path / "out")]) == 0
    (made,) = (tmp_path / "out").rglob("*.png")
    assert "preview" not in str(made)
    assert f"are left out (--only-topic): {preview}" in capsys.readouterr().err
    assert main([*words, str(tmp_path / "chosen"), "--only-topic", preview]) == 0
    assert "preview" in str(next((tmp_path / "chosen").rglob("*.png")))


def test_a_damaged_image_does_not_stop_the_others(tmp_path: Path) -> None:
    path = tmp_path / "bag.mcap"
    write_images(
        path, range(3), lambda data: data[:500] if data[4:] == image_to_cdr(pixels(1), 1_001)[4:] else data
    )
    assert main(["distort", str(path), "--distortion", "10:3", "--out", str(tmp_path / "out")]) == 1
    assert len(list((tmp_path / "out").rglob("*.png"))) == 2


def write_compressed(path: Path, *, with_raw: bool = False) -> None:
    with TrialWriter(path, types=type_store()) as writer:
        writer.add_channel(COMPRESSED_TOPIC, COMPRESSED_TYPE)
        writer.add_channel("/trial/events", EVENT_TYPE)
        for index in range(3):
            writer.write(COMPRESSED_TOPIC, compressed(1_000 + index, index), 1_000 + index)
        if with_raw:
            writer.add_channel(IMAGE_TOPIC, IMAGE_TYPE)
            writer.write(IMAGE_TOPIC, image_to_cdr(pixels(0), 1_000), 1_000)


def test_compressed_images_are_images(tmp_path: Path) -> None:
    path = tmp_path / "bag.mcap"
    write_compressed(path)
    assert indices_in(path) == [0, 1, 2]
    frames = list(CameraFrames(path, (View.TOP,), {}))
    assert [np.array_equal(frame.rgb, pixels(k)) for k, frame in enumerate(frames)] == [True, True, True]
    camera = BagCamera(path, View.TOP, BagCameraOptions(geometry_optional=True))
    frame = camera.read(0.0)
    camera.close()
    assert frame is not None
    assert np.array_equal(frame.rgb, pixels(0))


def test_the_compressed_copy_of_a_raw_topic_is_not_taken_twice(tmp_path: Path) -> None:
    write_compressed(tmp_path / "bag.mcap", with_raw=True)
    with TrialReader(tmp_path / "bag.mcap") as reader:
        assert reader.image_topics() == [IMAGE_TOPIC]
