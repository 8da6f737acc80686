"""Stored images as cameras: the pose is the recorded or the stated one, else unknown, never assumed."""

from __future__ import annotations

import math
from collections.abc import Mapping
from contextlib import ExitStack, closing
from pathlib import Path

import numpy as np
import pytest

from embodied_iqa.base.config import build
from embodied_iqa.base.errors import InputError, UsageError
from embodied_iqa.data.recording.errors import OneImageError, WrongPoseError
from embodied_iqa.data.recording.writer import TrialWriter
from embodied_iqa.imaging.images.codecs import write_image
from embodied_iqa.imaging.images.frame import Frame, UnknownCameraError, View
from embodied_iqa.imaging.images.image_cdr import IMAGE_TYPE, image_to_cdr
from embodied_iqa.live.cameras.camera_poses import stated_pose
from embodied_iqa.live.cameras.stored_cameras import bag_camera
from embodied_iqa.runs.graph.camera_parameters import CameraParameters
from embodied_iqa.world.scenes.dimensions import CELL_VIEWS
from lerobot_samples import LENGTHS, Layout, pixels, write_dataset
from lerobot_samples import TOP as TOP_KEY
from trial_recording import VIEWS, image, write_trial

TOP = np.array([[0, -1, 0, -0.8], [-1, 0, 0, 0.1], [0, 0, -1, 0.7], [0, 0, 0, 1.0]])
UNKNOWN = {(0, frame, view): math.nan for frame in range(4) for view in VIEWS}


def parameters(**values: object) -> CameraParameters:
    named = {name.replace("__", "."): value for name, value in values.items()}
    given = {"source": "bag", "views": [str(view) for view in VIEWS]}
    return build(CameraParameters, given | named, "test")


def first_frames(
    path: Path, poses: Mapping[tuple[int, int, View], float | None], **values: object
) -> dict[View, Frame]:
    recording = write_trial(path / "trial.mcap", (None,), poses=poses)
    with ExitStack() as held:
        config = parameters(path=str(recording), **values)
        opened = (bag_camera(config, view, lambda: 7) for view in config.views)
        cameras = [held.enter_context(closing(camera)) for camera in opened]
        read = [camera.read(0.0) for camera in cameras]
    return {frame.view: frame for frame in read if frame is not None}


def test_a_recording_with_unknown_poses_is_a_camera(tmp_path: Path) -> None:
    frames = first_frames(tmp_path, UNKNOWN)
    assert set(frames) == set(VIEWS)
    for view, frame in frames.items():
        assert (frame.stamp_ns, frame.T_base_camera) == (7, None)
        assert frame.needed_intrinsics().width_px == 64
        with pytest.raises(UnknownCameraError, match=f"the pose of the {view} camera is not known"):
            frame.needed_pose()


def test_a_stated_pose_is_that_of_a_recording_that_has_none(tmp_path: Path) -> None:
    frames = first_frames(tmp_path, UNKNOWN, hand_eye__T_base_camera_top=TOP.ravel().tolist())
    assert np.allclose(frames[View.TOP].needed_pose(), TOP)
    assert frames[View.WRIST].T_base_camera is None, "the wrist camera moves"


def test_a_recorded_pose_comes_before_the_stated_one(tmp_path: Path) -> None:
    frames = first_frames(tmp_path, {}, hand_eye__T_base_camera_top=TOP.ravel().tolist())
    assert frames[View.TOP].needed_pose()[0, 3] == 0.5


def test_an_invalid_pose_is_never_unknown(tmp_path: Path) -> None:
    with pytest.raises(WrongPoseError, match="quaternion of length 1"):
        first_frames(tmp_path, {(0, 0, View.TOP): 0.0})


@pytest.mark.parametrize("view", [View.TOP, View.SIDE])
def test_a_fixed_camera_has_the_stated_pose(view: View) -> None:
    stated = {f"hand_eye__T_base_camera_{view}": TOP.ravel().tolist()}
    config = parameters(views=[*CELL_VIEWS], **stated)
    pose = stated_pose(config, view)
    assert pose is not None
    assert np.allclose(pose, TOP)
    assert [other for other in CELL_VIEWS if stated_pose(config, other) is not None] == [view]


def test_a_camera_without_a_stated_pose_has_none() -> None:
    config = parameters(hand_eye__T_flange_camera_wrist=[*np.eye(4).ravel().tolist()[:11], 0.05, 0, 0, 0, 1])
    assert [stated_pose(config, view) for view in CELL_VIEWS] == [None] * len(CELL_VIEWS)


def test_an_invalid_stated_pose_is_refused() -> None:
    config = parameters(hand_eye__T_base_camera_top=[1.0] * 16)
    with pytest.raises(UsageError, match="T_base_camera of the top camera"):
        stated_pose(config, View.TOP)


def test_a_recording_of_others_is_a_camera_by_its_topic_or_its_only_one(tmp_path: Path) -> None:
    path, topic = tmp_path / "bag.mcap", "/camera/camera/color/image_raw"
    with TrialWriter(path) as writer:
        writer.add_channel(topic, IMAGE_TYPE)
        for number in range(3):
            writer.write(topic, image_to_cdr(image(View.TOP, number), 100 + number), 100 + number)
    for given in ({}, {"topic__image": topic}):
        config = parameters(path=str(path), views=["eye"], **given)
        with closing(bag_camera(config, View("eye"), lambda: 7)) as camera:
            frames = [camera.read(0.0) for _ in range(3)]
        assert [frame.rgb.tobytes() for frame in frames if frame is not None] == [
            image(View.TOP, number).tobytes() for number in range(3)
        ]


def test_videos_and_data_sets_are_cameras(tmp_path: Path) -> None:
    folder = write_dataset(tmp_path / "set", Layout("v3.0"))
    config = parameters(path=str(folder), views=["top"], loop=True)
    with closing(bag_camera(config, View.TOP, lambda: 7)) as camera:
        frames = [camera.read(0.0) for _ in range(sum(LENGTHS) + 1)]
        assert [frame.rgb.tobytes() for frame in frames if frame is not None][::22] == [
            pixels(0, 0).tobytes()
        ] * 2
    config = parameters(path=str(folder), views=["eye"], topic__image=TOP_KEY.replace(".", "_"))
    with pytest.raises(InputError, match="no image topic"):
        bag_camera(config, View("eye"), lambda: 7)


def test_a_damaged_image_of_a_data_set_is_named_and_the_next_one_is_shown(tmp_path: Path) -> None:
    folder = write_dataset(tmp_path / "set", Layout("v2.1", beside=True))
    sorted(folder.glob(f"images/{TOP_KEY}/*/*.png"))[1].write_bytes(b"no image")
    with closing(bag_camera(parameters(path=str(folder), views=["top"]), View.TOP, lambda: 7)) as camera:
        camera.read(0.0)
        with pytest.raises(OneImageError, match="frame_000001"):
            camera.read(0.0)
        frame = camera.read(0.0)
    assert frame is not None
    assert frame.rgb.tobytes() == pixels(0, 2).tobytes()


def test_a_folder_is_a_camera_and_a_damaged_file_costs_one_image(tmp_path: Path) -> None:
    for number in range(3):
        write_image(tmp_path / f"top/{number}.png", image(View.TOP, number))
    (tmp_path / "top/1.png").write_bytes(b"no image")
    with closing(bag_camera(parameters(path=str(tmp_path), views=["top"]), View.TOP, lambda: 7)) as camera:
        camera.read(0.0)
        with pytest.raises(OneImageError, match=r"1\.png"):
            camera.read(0.0)
        frame = camera.read(0.0)
    assert frame is not None
    assert frame.rgb.tobytes() == image(View.TOP, 2).tobytes()
