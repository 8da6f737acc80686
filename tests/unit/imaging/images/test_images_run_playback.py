"""Stored images in a trial: the first until a run begins, all of them in each run, then the last."""

from __future__ import annotations

from itertools import count
from pathlib import Path

import numpy as np
import pytest

from embodied_iqa.base.errors import InputError
from embodied_iqa.data.recording.bag_camera import BagCamera
from embodied_iqa.imaging.images.codecs import write_image
from embodied_iqa.imaging.images.file_camera import EndOfFramesError, FileCamera, intrinsics_of_fov
from embodied_iqa.imaging.images.frame import View
from embodied_iqa.imaging.images.run_playback import RunPlayback, StoredCamera
from trial_recording import write_trial

IMAGES = 3
LENS = intrinsics_of_fov(8, 6, 1.0)


@pytest.fixture(params=["files", "bag"])
def stored(request: pytest.FixtureRequest, tmp_path: Path) -> StoredCamera:
    if request.param == "bag":
        return BagCamera(write_trial(tmp_path / "trial.mcap"), View.TOP)
    files = [tmp_path / f"{number}.png" for number in range(IMAGES)]
    for number, path in enumerate(files):
        write_image(path, np.full((6, 8, 3), 10 * number, np.uint8))
    return FileCamera(files, View.TOP, LENS)


def contents(stored: StoredCamera) -> list[bytes]:
    """The images of a camera, which is rewound."""
    found: list[bytes] = []
    while True:
        try:
            frame = stored.read(0.0)
        except EndOfFramesError:
            stored.rewind()
            return found
        assert frame is not None
        found.append(frame.rgb.tobytes())


def take(playback: RunPlayback, number: int) -> list[bytes]:
    frames = [playback.read(0.0) for _ in range(number)]
    return [frame.rgb.tobytes() for frame in frames if frame is not None]


def test_every_run_plays_all_images(stored: StoredCamera) -> None:
    expected = contents(stored)
    assert len(set(expected)) >= IMAGES
    ticks = count(10**12)
    playback = RunPlayback(stored, lambda: next(ticks))
    assert take(playback, 4) == [expected[0]] * 4
    assert playback.repeated == 3
    for _run in range(2):
        playback.play()
        assert take(playback, len(expected) + 2) == [*expected, expected[-1], expected[-1]]
        playback.rewind()
        assert take(playback, 2) == [expected[0]] * 2
    playback.close()


def test_a_repeated_image_has_a_new_stamp(stored: StoredCamera) -> None:
    ticks = count(10**12)
    playback = RunPlayback(stored, lambda: next(ticks))
    assert playback.read(0.0) is not None
    stamps = [frame.stamp_ns for _ in range(3) if (frame := playback.read(0.0)) is not None]
    assert stamps == [10**12, 10**12 + 1, 10**12 + 2]
    playback.close()


def test_an_image_that_cannot_be_read_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "0.png"
    path.write_bytes(b"not an image")
    with pytest.raises(InputError, match=r"0\.png"):
        RunPlayback(FileCamera([path], View.TOP, LENS), lambda: 0).read(0.0)
