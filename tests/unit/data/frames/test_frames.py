"""One reader for images of any origin: names, topics, stamps, tasks and pixels."""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator, Sequence
from fractions import Fraction
from pathlib import Path

import av
import cv2
import numpy as np
import pytest
from numpy.typing import NDArray

from embodied_iqa.base.errors import InputError, UsageError
from embodied_iqa.cli.main import main
from embodied_iqa.cli.metrics.references import References
from embodied_iqa.data.frames.any_frames import is_played_by_messages, open_frames
from embodied_iqa.data.frames.cameras import cameras_of, parse_topics
from embodied_iqa.data.frames.video_frames import VideoFrames
from embodied_iqa.data.recording.writer import TrialWriter
from embodied_iqa.imaging.images.codecs import read_image, write_image
from embodied_iqa.imaging.images.frame import View
from embodied_iqa.imaging.images.image_cdr import IMAGE_TYPE, image_to_cdr
from embodied_iqa.imaging.images.stored_images import StoredImage, UnreadableImage
from embodied_iqa.quality.gate.stored_frames import CameraFrames
from lerobot_samples import TASKS, TOP, Layout, write_dataset

WIDTH_PX, HEIGHT_PX = 64, 48
TIMES = (0, 100, 200, 450, 500)
"""Of the frames of a video, in ms: one comes late."""


def smooth(seed: int) -> NDArray[np.uint8]:
    """Codecs keep such images."""
    coarse = np.random.default_rng(seed).uniform(40, 215, (4, 5, 3)).astype(np.float32)
    return (
        cv2.resize(coarse, (WIDTH_PX, HEIGHT_PX), interpolation=cv2.INTER_CUBIC).clip(0, 255).astype(np.uint8)
    )


def write_video(path: Path, codec: str = "libx264", times: Sequence[int] = TIMES, start_ms: int = 0) -> Path:
    """A key frame for every frame."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with av.open(str(path), "w") as container:
        stream = container.add_stream(codec, 1000, options={"g": "1", "crf": "8"})
        stream.width, stream.height, stream.pix_fmt = WIDTH_PX, HEIGHT_PX, "yuv420p"
        for number, time_ms in enumerate(times):
            frame = av.VideoFrame.from_ndarray(smooth(number), format="rgb24")
            frame.pts, frame.time_base = start_ms + time_ms, Fraction(1, 1000)
            container.mux(stream.encode(frame))
        container.mux(stream.encode())
    return path


def write_recording(path: Path) -> Path:
    with TrialWriter(path) as writer:
        for topic in ("/camera/top/image_raw", "/eye"):
            writer.add_channel(topic, IMAGE_TYPE)
        for number in range(3):
            writer.write(
                "/camera/top/image_raw", image_to_cdr(smooth(number), 100 + number // 2), 100 + number
            )
        writer.write("/eye", image_to_cdr(smooth(9), 104)[:-5], 104)
    return path


def images_of(path: Path, *topics: str) -> list[StoredImage]:
    found = list(open_frames(path).images(topics))
    assert not [one for one in found if isinstance(one, UnreadableImage)]
    return [one for one in found if isinstance(one, StoredImage)]


def test_a_folder_gives_its_files_by_name_with_their_folder_as_topic(tmp_path: Path) -> None:
    for name in ("top/b.png", "top/a.png", "c.png", "side/x/d.png"):
        write_image(tmp_path / name, smooth(ord(name[-5])))
    frames = open_frames(tmp_path)
    assert [one.name for one in images_of(tmp_path)] == ["c.png", "side/x/d.png", "top/a.png", "top/b.png"]
    assert dict(frames.topics) == {"": 1, "side/x": 1, "top": 2}
    assert frames.count(["top"]) == 2
    assert dict(frames.views()) == {"top": "top"}
    found = images_of(tmp_path, "top", "")
    assert [one.name for one in found] == ["top/a.png", "top/b.png", "c.png"]
    assert np.array_equal(found[0].rgb, smooth(ord("a")))
    assert found[0].stamp_ns is None
    with pytest.raises(InputError, match=r"no image topic; got 'roof'; available: \., side/x, top"):
        list(frames.images(["roof"]))


def test_a_camera_plays_folders_and_refuses_other_files_as_recordings(tmp_path: Path) -> None:
    write_image(tmp_path / "top/a.png", smooth(1))
    (tmp_path / "a.txt").write_text("no recording")
    write_recording(tmp_path / "a.mcap")
    assert not is_played_by_messages(tmp_path / "top")
    assert is_played_by_messages(tmp_path / "a.txt")
    assert is_played_by_messages(tmp_path)


def test_info_of_a_folder_has_sizes_and_what_cannot_be_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("top/a.png", "top/b.png", "c.png"):
        write_image(tmp_path / name, smooth(1))
    (tmp_path / "top/b.png").write_bytes(b"no image")
    assert main(["recording", "info", str(tmp_path), "--json"]) == 1
    tree = json.loads(capsys.readouterr().out)
    height_px, width_px = smooth(1).shape[:2]
    sizes = {f"{width_px}x{height_px}": 1}
    assert tree["folders"] == [
        {"topic": "", "images": 1, "sizes": sizes},
        {"topic": "top", "images": 2, "sizes": sizes},
    ]
    assert [fault for fault in tree["damaged"] if "b.png" in fault] == tree["damaged"] != []
    assert main(["recording", "info", str(tmp_path)]) == 1
    assert "3 images, without times" in capsys.readouterr().out
    (tmp_path / "top/b.png").unlink()
    assert main(["recording", "info", str(tmp_path)]) == 0


def test_a_recording_names_each_image_once_and_what_cannot_be_read(tmp_path: Path) -> None:
    frames = open_frames(write_recording(tmp_path / "trial.mcap"))
    assert dict(frames.topics) == {"/camera/top/image_raw": 3, "/eye": 1}
    assert dict(frames.views()) == {"top": "/camera/top/image_raw"}
    found = list(frames.images())
    assert [one.name for one in found if isinstance(one, StoredImage)] == [
        "camera-top-image_raw/100",
        "camera-top-image_raw/100_2",
        "camera-top-image_raw/101",
    ]
    assert [one.what for one in found if isinstance(one, UnreadableImage)] == ["/eye 104"]
    assert [one.stamp_ns for one in found if isinstance(one, StoredImage)] == [100, 100, 101]


def test_a_recording_of_two_cells_is_read_by_topic(tmp_path: Path) -> None:
    path, out = tmp_path / "cells.mcap", tmp_path / "out"
    topics = [f"/cell{number}/camera/top/image_raw" for number in (1, 2)]
    with TrialWriter(path) as writer:
        for number, topic in enumerate(topics):
            writer.add_channel(topic, IMAGE_TYPE)
            writer.write(topic, image_to_cdr(smooth(number), 100), 100)
    frames = open_frames(path)
    with pytest.raises(InputError, match="several cameras top"):
        frames.views()
    (image,) = CameraFrames(path, (), {View("top"): topics[1]})
    assert np.array_equal(image.rgb, smooth(1))
    assert main(["distort", str(path), "--distortion", "10:3", "--out", str(out), "--workers", "1"]) == 0
    assert len(list(out.rglob("*.png"))) == 2


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["top=realsense-ros"], {"/top/camera/color/image_raw": "top"}),
        (
            ["left=realsense-ros", "top=realsense-ros"],
            {"/left/camera/color/image_raw": "left", "/top/camera/color/image_raw": "top"},
        ),
        (["camera=usb_cam"], {"/camera/image_raw": "camera"}),
        (["pi=camera_ros"], {"/camera/image_raw": "pi"}),
        (["x=/left/camera/color/image_raw"], {"/left/camera/color/image_raw": "x"}),
        (["side=realsense-ros"], "has 2 image topics of realsense-ros"),
    ],
)
def test_drivers_name_their_topics(tmp_path: Path, words: list[str], expected: object) -> None:
    path = tmp_path / "drivers.mcap"
    raw = ("/left/camera/color/image_raw", "/top/camera/color/image_raw", "/camera/image_raw")
    with TrialWriter(path) as writer:
        for topic in raw:
            writer.add_channel(topic, IMAGE_TYPE)
            writer.write(topic, image_to_cdr(smooth(1), 100), 100)
        writer.add_channel("/image_raw/compressed", "sensor_msgs/msg/CompressedImage")
    frames = open_frames(path)
    if isinstance(expected, str):
        with pytest.raises(InputError, match=expected):
            cameras_of(frames, topics=parse_topics(words))
    else:
        assert cameras_of(frames, topics=parse_topics(words)) == expected


def test_a_name_that_is_not_utf8_is_listed_and_the_rest_is_distorted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, out = tmp_path / "photos", tmp_path / "out"
    write_image(folder / "good.png", smooth(0))
    (folder / "bad\udcff.png").write_bytes((folder / "good.png").read_bytes())
    assert main(["distort", str(folder), "--distortion", "10:3", "--out", str(out), "--workers", "1"]) == 1
    assert [file.name for file in out.rglob("*.png")] == ["good.png"]
    assert "a name that is not UTF-8; got" in capsys.readouterr().err
    (failed,) = json.loads((out / "manifest.json").read_text())["failed"]
    assert "bad\N{REPLACEMENT CHARACTER}.png" in failed["reason"]


def test_topics_that_ros_does_not_allow_stay_in_the_folder_of_the_output(tmp_path: Path) -> None:
    path, out = tmp_path / "hostile.mcap", tmp_path / "out"
    topics = ("/..", "/", "/a\0b", "/a\nb")
    with TrialWriter(path) as writer:
        for topic in topics:
            writer.add_channel(topic, IMAGE_TYPE)
            writer.write(topic, image_to_cdr(smooth(0), 100), 100)
    names = [image.name for image in open_frames(path).images() if isinstance(image, StoredImage)]
    assert sorted(names) == ["_../100", "_/100", "a_b/100", "a_b/100_2"]
    assert main(["distort", str(path), "--distortion", "10:3", "--out", str(out), "--workers", "1"]) == 0
    assert sorted(file.relative_to(out / "10_3").as_posix() for file in out.rglob("*.png")) == [
        f"{name}.png" for name in sorted(names)
    ]


def test_a_data_set_gives_tasks_and_one_clock_for_all_episodes(tmp_path: Path) -> None:
    found = images_of(write_dataset(tmp_path / "set", Layout("v3.0")), TOP)
    assert {one.task for one in found} == set(TASKS)
    stamps = [one.stamp_ns for one in found]
    assert stamps == sorted(set(stamps))


@pytest.mark.parametrize(
    ("name", "codec"),
    [
        ("a.mp4", "libx264"),
        ("a.MOV", "libx264"),
        ("a.mkv", "libx264"),
        ("a.webm", "libvpx-vp9"),
        ("a.avi", "mpeg4"),
    ],
)
def test_frames_of_videos_are_within_the_codec_and_have_their_times(
    tmp_path: Path, name: str, codec: str
) -> None:
    times = TIMES if codec != "mpeg4" else tuple(range(5))
    path = write_video(tmp_path / name, codec, times)
    found = images_of(path)
    assert open_frames(path).count() == len(found) == len(times)
    assert [one.name for one in found] == [f"frame_{number:06d}" for number in range(len(times))]
    assert [one.stamp_ns for one in found] == [time * 10**6 for time in times]
    for number, one in enumerate(found):
        assert np.abs(one.rgb.astype(int) - smooth(number)).mean() < 6


def test_stamps_of_a_video_begin_at_zero(tmp_path: Path) -> None:
    found = images_of(write_video(tmp_path / "late.mkv", start_ms=4000))
    assert [one.stamp_ns for one in found] == [time * 10**6 for time in TIMES]


@pytest.mark.parametrize(
    ("matrix", "quarters", "mirrored"),
    [
        ((0, 1, -1, 0), 3, False),
        ((-1, 0, 0, -1), 2, False),
        ((0, -1, 1, 0), 1, False),
        ((-1, 0, 0, 1), 0, True),  # as phones store their front camera
        ((1, 0, 0, -1), 2, True),
        ((0, 1, 1, 0), 1, True),
        ((0, -1, -1, 0), 3, True),
    ],
)
def test_a_video_is_turned_as_a_viewer_shows_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], matrix: tuple[int, ...], quarters: int, mirrored: bool
) -> None:
    plain, turned = write_video(tmp_path / "plain.mp4"), tmp_path / "turned.mp4"
    content, (a, b, c, d) = bytearray(plain.read_bytes()), matrix
    place = content.index(b"tkhd") + 44  # of the matrix in the header of the track
    rows = (a << 16, b << 16, 0, c << 16, d << 16, 0, 0, 0, 1 << 30)
    content[place : place + 36] = struct.pack(">9i", *rows)
    turned.write_bytes(content)
    for before, after in zip(open_frames(plain).images(), open_frames(turned).images(), strict=True):
        assert isinstance(before, StoredImage)
        assert isinstance(after, StoredImage)
        seen = before.rgb[:, ::-1] if mirrored else before.rgb
        assert np.array_equal(np.rot90(seen, quarters), after.rgb)
    assert main(["recording", "info", str(turned), "--json"]) == 0
    tree = json.loads(capsys.readouterr().out)
    size = (WIDTH_PX, HEIGHT_PX) if quarters % 2 == 0 else (HEIGHT_PX, WIDTH_PX)
    assert (tree["width_px"], tree["height_px"]) == size


def test_what_is_no_video_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "text.mp4").write_text("ffconcat version 1.0\nfile /etc/passwd\n")
    (tmp_path / "empty.mkv").write_bytes(b"")
    whole = write_video(tmp_path / "whole.mp4").read_bytes()
    (tmp_path / "short.mp4").write_bytes(whole[: len(whole) // 2])
    (tmp_path / "other.mkv").write_bytes(whole)
    for name in ("text.mp4", "empty.mkv", "short.mp4", "other.mkv", "absent.avi"):
        with pytest.raises(InputError, match=name) as error:
            open_frames(tmp_path / name)
        assert "\n" not in str(error.value)


def test_damaged_frames_of_a_video_are_named_and_the_rest_is_read(tmp_path: Path) -> None:
    path = write_video(tmp_path / "v.mkv")
    data = bytearray(path.read_bytes())
    with av.open(str(path)) as container:
        (packet,) = [one for one in container.demux(video=0) if one.size and one.pts == TIMES[2]]
        place = bytes(data).index(bytes(packet))
        data[place + 4 : place + packet.size] = bytes(packet.size - 4)
    path.write_bytes(data)
    found = list(open_frames(path).images())
    readable = [one for one in found if isinstance(one, StoredImage)]
    assert len(readable) == 4
    assert [TIMES.index(round((one.stamp_ns or 0) / 10**6)) for one in readable] == [0, 1, 3, 4]
    (lost,) = [one for one in found if isinstance(one, UnreadableImage)]
    assert str(lost.error).startswith(f"{path} frame_000002 ")


def test_frames_predicted_from_a_damaged_one_are_named_up_to_the_next_key_frame(tmp_path: Path) -> None:
    """The decoder conceals what is damaged, and the frames after it show that."""
    path = tmp_path / "v.mkv"
    with av.open(str(path), "w") as container:
        stream = container.add_stream("libx264", rate=10, options={"g": "10", "bf": "0"})
        stream.width, stream.height, stream.pix_fmt = 128, 96, "yuv420p"
        for number in range(30):
            shown = np.roll(cv2.resize(smooth(1), (128, 96)), 2 * number, axis=1)
            container.mux(stream.encode(av.VideoFrame.from_ndarray(np.ascontiguousarray(shown))))
        container.mux(stream.encode(None))
    before = [one.rgb.copy() for one in open_frames(path).images() if isinstance(one, StoredImage)]
    with av.open(str(path)) as container:
        packets = [bytes(one) for one in container.demux(video=0) if one.size]
    data, changed = path.read_bytes(), bytearray(packets[12])
    changed[len(changed) // 3 :: 3] = bytes(len(changed[len(changed) // 3 :: 3]))
    path.write_bytes(data.replace(packets[12], bytes(changed)))
    after = [one for one in open_frames(path).images() if isinstance(one, StoredImage)]
    assert len(before) == 30
    assert 20 <= len(after) <= 24
    whole = {rgb.tobytes() for rgb in before}
    assert all(one.rgb.tobytes() in whole for one in after)


def test_a_video_that_was_cut_short_says_so_after_its_last_frame(tmp_path: Path) -> None:
    path = write_video(tmp_path / "v.mkv", times=range(0, 2000, 100))
    assert not [one for one in open_frames(path).images() if isinstance(one, UnreadableImage)]
    data = path.read_bytes()
    path.write_bytes(data[: len(data) // 2])
    *frames, last = open_frames(path).images()
    assert 0 < sum(isinstance(one, StoredImage) for one in frames) < 15
    assert isinstance(last, UnreadableImage)
    assert f"{path} was cut short: its last frame is at" in str(last.error)


def test_a_video_is_distorted_judged_measured_and_listed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write_video(tmp_path / "clip.mp4", times=range(0, 2500, 100))
    out, gate = tmp_path / "out", tmp_path / "gate.yaml"
    assert main(["distort", str(path), "--distortion", "10:3", "--workers", "1", "--out", str(out)]) == 0
    assert len(list(out.rglob("*.png"))) == 25
    records = json.loads((out / "manifest.json").read_text())
    assert "frame_000003" in json.dumps(records)
    assert main(["gate", "calibrate", str(path), "--view", "top", "--out", str(gate)]) == 0
    assert "top   64x48 from 25 frames" in capsys.readouterr().out
    check = ["gate", "check", str(path), "--view", "top", "--calibration", str(gate), "--json"]
    assert main(check) == 0
    assert sum(json.loads(capsys.readouterr().out)["counts"].values()) == 25
    assert main(["metrics", "score", "psnr", str(out), "--reference", str(path), "--json"]) == 0
    tree = json.loads(capsys.readouterr().out)
    assert len(tree["images"]) == 25
    clean, distorted = images_of(path)[3].rgb, read_image(out / "10_3/frame_000003.png")
    expected = 10 * np.log10(255**2 / np.mean((clean.astype(float) - distorted) ** 2))
    (row,) = [row for row in tree["images"] if row["image"].endswith("frame_000003.png")]
    assert row["value"] == pytest.approx(expected, abs=1e-6)
    assert main(["recording", "info", str(path), "--json"]) == 0
    tree = json.loads(capsys.readouterr().out)
    assert (tree["frames"], tree["width_px"], tree["rate_hz"]) == (25, WIDTH_PX, pytest.approx(10))
    assert main(["recording", "info", str(path)]) == 0
    assert "25 frames" in capsys.readouterr().out


def test_a_recording_is_measured_against_another_by_topic_and_stamp(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write_recording(tmp_path / "trial.mcap")
    words = ["metrics", "score", "psnr", str(path), "--reference", str(path), "--json"]
    assert main([*words, "--only-topic", "/camera/top/image_raw"]) == 0
    tree = json.loads(capsys.readouterr().out)
    assert [row["value"] for row in tree["images"]] == ["inf"] * 3
    assert main([*words[:-1]]) == 1
    assert "/eye" in capsys.readouterr().err


def test_images_without_a_reference_cost_one_pass_of_the_references(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[StoredImage | UnreadableImage] = []
    images = VideoFrames.images

    def counted(self: VideoFrames, topics: Sequence[str] = ()) -> Iterator[StoredImage | UnreadableImage]:
        for image in images(self, topics):
            read.append(image)
            yield image

    monkeypatch.setattr(VideoFrames, "images", counted)
    references = References(write_video(tmp_path / "a.mp4"), tmp_path)
    for number in range(7, 27):
        with pytest.raises(InputError, match="has no reference"):
            references.find(f"frame_{number:06d}")
    assert len(read) == len(TIMES)
    found = references.find("frame_000003")
    assert isinstance(read[-1], StoredImage)
    assert np.array_equal(found, read[-1].rgb)


def test_a_video_needs_the_name_of_its_camera_and_has_no_topics(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write_video(tmp_path / "clip.mp4")
    with pytest.raises(UsageError, match="--view"):
        CameraFrames(path, [], {})
    words = [
        "distort",
        str(path),
        "--distortion",
        "10:3",
        "--only-topic",
        "/eye",
        "--out",
        str(tmp_path / "out"),
    ]
    assert main(words) == 2
    assert "no topics" in capsys.readouterr().err
