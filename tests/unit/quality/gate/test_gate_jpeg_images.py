"""`embodied-iqa gate calibrate` says of which cameras the images are JPEG, or of a lossy video."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import av
import cv2
import numpy as np
import pytest
from numpy.typing import NDArray

import lerobot_samples
from embodied_iqa.cli.main import main
from embodied_iqa.data.frames.any_frames import open_frames
from embodied_iqa.data.recording.writer import TrialWriter
from embodied_iqa.imaging.images.image_cdr import COMPRESSED_TYPE
from embodied_iqa.imaging.images.stored_images import Coding, StoredImage
from lerobot_samples import TOP, WRIST, Layout, write_dataset
from trial_recording import type_store

TOPIC = "/camera/top/image_raw/compressed"
COUNT = 24


def encoded(seed: int, *, jpeg: bool) -> bytes:
    return packed(scene(seed), jpeg=jpeg)


def scene(seed: int) -> NDArray[np.uint8]:
    """Soft blobs with fine grain: every seed looks alike, none is equal to another."""
    generator = np.random.default_rng(seed)
    coarse = cv2.resize(generator.uniform(40, 215, (8, 12, 3)).astype(np.float32), (96, 64))
    image: NDArray[np.uint8] = (coarse + generator.normal(0, 3, coarse.shape)).clip(0, 255).astype(np.uint8)
    return image


def packed(image: NDArray[np.uint8], *, jpeg: bool) -> bytes:
    options = [cv2.IMWRITE_JPEG_QUALITY, 90] if jpeg else []
    return cv2.imencode(".jpg" if jpeg else ".png", image, options)[1].tobytes()


def folder(path: Path, jpegs: int) -> Path:
    """Files whose names say nothing of their content."""
    path.mkdir()
    for number in range(COUNT):
        (path / f"{number:03d}.png").write_bytes(encoded(number, jpeg=number < jpegs))
    return path


def recording(path: Path, jpegs: int) -> Path:
    """Compressed images whose formats say nothing of their content."""
    types = type_store()
    with TrialWriter(path.with_suffix(".mcap")) as writer:
        writer.add_channel(TOPIC, COMPRESSED_TYPE)
        for number in range(COUNT):
            content = np.frombuffer(encoded(number, jpeg=number < jpegs), np.uint8)
            header = types.header(number + 1)
            message = types.new(COMPRESSED_TYPE, header=header, format="png", data=content)
            writer.write(TOPIC, types.serialise(message), number + 1)
    return path.with_suffix(".mcap")


@pytest.mark.parametrize("written", [folder, recording])
def test_jpeg_images_are_named_by_their_content(
    written: Callable[[Path, int], Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output = tmp_path / "gate.yaml"

    def said(clean: Path, *words: str) -> str:
        output.unlink(missing_ok=True)
        assert main(["gate", "calibrate", str(clean), "--view", "top", "--out", str(output), *words]) == 0
        return capsys.readouterr().out

    raw = written(tmp_path / "raw", 0)
    assert "JPEG" not in said(raw)
    mixed = "    10 of 24 from JPEG images: JPEG, video and raw images need separate calibrations"
    assert mixed in said(written(tmp_path / "mixed", 10)).splitlines()
    jpeg = written(tmp_path / "jpeg", COUNT)
    assert "    from JPEG images: raw images of this camera will be rejected" in said(jpeg).splitlines()
    assert [one["jpeg_images"] for one in json.loads(said(jpeg, "--json"))["cameras"]] == [COUNT]
    assert main(["gate", "check", str(raw), "--view", "top", "--calibration", str(output)]) == 1
    assert "0 pass, 0 hold, 24 reject" in capsys.readouterr().out, "as it says"


def video(path: Path, codec: str) -> Path:
    with av.open(str(path), "w") as container:
        stream = container.add_stream(codec, 10)
        stream.width, stream.height, stream.pix_fmt = 96, 64, "bgr0" if codec == "ffv1" else "yuv420p"
        for number in range(COUNT):
            container.mux(stream.encode(av.VideoFrame.from_ndarray(scene(number), format="rgb24")))
        container.mux(stream.encode())
    return path


def test_images_of_a_lossy_video_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    output, note = tmp_path / "gate.yaml", "    from a video: raw images of this camera will be rejected"

    def said(clean: Path, *words: str) -> str:
        output.unlink(missing_ok=True)
        assert main(["gate", "calibrate", str(clean), "--view", "top", "--out", str(output), *words]) == 0
        return capsys.readouterr().out

    assert "from a video" not in said(video(tmp_path / "whole.mkv", "ffv1"))
    lossy = video(tmp_path / "lossy.mp4", "libx264")
    assert [one["video_images"] for one in json.loads(said(lossy, "--json"))["cameras"]] == [COUNT]
    assert note in said(lossy).splitlines()
    raw = folder(tmp_path / "raw", 0)
    assert main(["gate", "check", str(raw), "--view", "top", "--calibration", str(output)]) == 1
    assert "0 pass, 0 hold, 24 reject" in capsys.readouterr().out, "as it says"


def test_a_data_set_says_which_of_its_images_are_of_a_video(tmp_path: Path) -> None:
    images = open_frames(write_dataset(tmp_path / "made", Layout(codec="libx264"))).images()
    found = {(one.topic, one.coding) for one in images if isinstance(one, StoredImage)}
    assert found == {(TOP, Coding.LOSSLESS), (WRIST, Coding.VIDEO)}


@pytest.mark.parametrize("beside", [False, True])
def test_a_data_set_says_which_of_its_images_are_jpeg(
    beside: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def kinds(path: Path) -> Sequence[bool]:
        images = open_frames(path).images()
        return [image.coding is Coding.JPEG for image in images if isinstance(image, StoredImage)]

    layout = Layout("v3.0", beside=beside)
    raw = kinds(write_dataset(tmp_path / "raw", layout))
    monkeypatch.setattr(lerobot_samples, "png", lambda rgb: packed(rgb, jpeg=True))
    jpeg = kinds(write_dataset(tmp_path / "jpeg", layout))
    assert (set(raw), set(jpeg)) == ({False}, {True})
    assert len(raw) == len(jpeg) > 0
