"""A recording as a camera: images, intrinsics and poses as they were."""

from __future__ import annotations

import math
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from recording_samples import type_store
from scipy.spatial.transform import Rotation

from embodied_iqa.data.recording.bag_camera import BagCamera, BagCameraOptions
from embodied_iqa.data.recording.errors import RecordingReadError, WrongPoseError
from embodied_iqa.data.recording.transforms import TransformTree
from embodied_iqa.data.recording.writer import TrialWriter
from embodied_iqa.imaging.images.file_camera import EndOfFramesError
from embodied_iqa.imaging.images.frame import Camera, Intrinsics, UnknownCameraError, View
from embodied_iqa.imaging.images.image_cdr import IMAGE_TYPE, image_to_cdr

STAMPS_NS = (1_000, 1_100, 1_210)
INTRINSICS = Intrinsics(5, 4, 7.0, 8.0, 2.0, 1.5)
POSE = "geometry_msgs/msg/Pose"


def pixels(index: int) -> NDArray[np.uint8]:
    return np.random.default_rng(index).integers(0, 256, (4, 5, 3), dtype=np.uint8)


def transform(seed: int) -> NDArray[np.float64]:
    T = np.eye(4)
    T[:3, :3] = Rotation.random(random_state=seed).as_matrix()
    T[:3, 3] = np.random.default_rng(seed).normal(size=3)
    return T


def parts(T: NDArray[np.float64]) -> tuple[dict[str, float], dict[str, float]]:
    quaternion = Rotation.from_matrix(T[:3, :3]).as_quat()
    return (
        dict(zip("xyz", map(float, T[:3, 3]), strict=True)),
        dict(zip("xyzw", map(float, quaternion), strict=True)),
    )


class Bag:
    """Writes parts of a recording."""

    def __init__(self, path: Path) -> None:
        self.types = type_store()
        self.writer = TrialWriter(path, types=self.types)

    def put(self, topic: str, type_name: str, time_ns: int, **fields: object) -> None:
        self.writer.add_channel(topic, type_name)
        self.writer.write(topic, self.types.serialise(self.types.new(type_name, **fields)), time_ns)

    def images(self, count: int = 3) -> None:
        self.writer.add_channel("/camera/top/image_raw", IMAGE_TYPE)
        for index, stamp_ns in enumerate(STAMPS_NS[:count]):
            cdr = image_to_cdr(pixels(index), stamp_ns, "top_camera_optical_frame")
            self.writer.write("/camera/top/image_raw", cdr, stamp_ns + 5)

    def info(self, width: int = 5, scale: float = 1.0) -> None:
        k = [scale * value for value in (7.0, 0.0, 2.0, 0.0, 8.0, 1.5, 0.0, 0.0, 1.0)]
        self.put("/camera/top/camera_info", "sensor_msgs/msg/CameraInfo", 1_001, width=width, height=4, k=k)

    def poses(self, *, wrong: dict[int, float] | None = None) -> None:
        """Write a pose for each image; `wrong` gives the numbers of a quaternion, and NaN those of all."""
        for index, stamp_ns in enumerate(STAMPS_NS):
            point, quaternion = parts(transform(index))
            if wrong and index in wrong:
                quaternion = dict.fromkeys("xyzw", wrong[index])
                point = dict.fromkeys("xyz", wrong[index]) if math.isnan(wrong[index]) else point
            pose = self.types.new(
                POSE,
                position=self.types.new("geometry_msgs/msg/Point", **point),
                orientation=self.types.new("geometry_msgs/msg/Quaternion", **quaternion),
            )
            header = self.types.header(stamp_ns, "base")
            self.put("/camera/top/pose", "geometry_msgs/msg/PoseStamped", stamp_ns, header=header, pose=pose)

    def tf(
        self,
        topic: str,
        parent: str,
        child: str,
        stamp_ns: int,
        T: NDArray[np.float64],
        *,
        wrong: bool = False,
    ) -> None:
        vector, quaternion = parts(T)
        if wrong:
            quaternion["x"] = math.nan
        entry = self.types.new(
            "geometry_msgs/msg/TransformStamped",
            header=self.types.header(stamp_ns, parent),
            child_frame_id=child,
            transform=self.types.new(
                "geometry_msgs/msg/Transform",
                translation=self.types.new("geometry_msgs/msg/Vector3", **vector),
                rotation=self.types.new("geometry_msgs/msg/Quaternion", **quaternion),
            ),
        )
        self.put(topic, "tf2_msgs/msg/TFMessage", stamp_ns, transforms=[entry])


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "trial.mcap"


@pytest.fixture
def bag(path: Path) -> Bag:
    return Bag(path)


def test_frames_come_back_as_they_were(path: Path, bag: Bag) -> None:
    bag.images()
    bag.info()
    bag.poses()
    bag.writer.close()
    camera: Camera = BagCamera(path, View.TOP)
    for index, stamp_ns in enumerate(STAMPS_NS):
        frame = camera.read(0.0)
        assert frame is not None
        assert (frame.view, frame.stamp_ns, frame.intrinsics) == (View.TOP, stamp_ns, INTRINSICS)
        assert np.array_equal(frame.rgb, pixels(index))
        assert np.allclose(frame.T_base_camera, transform(index), atol=1e-12)
    with pytest.raises(EndOfFramesError):
        camera.read(0.0)
    camera.close()
    camera.close()


def test_pose_from_a_chain_of_transforms(path: Path, bag: Bag) -> None:
    bag.images()
    bag.info()
    bag.tf("/tf_static", "tool0", "top_camera_optical_frame", 0, transform(9))
    for index, stamp_ns in enumerate(STAMPS_NS):
        bag.tf("/tf", "base", "tool0", stamp_ns - 1, transform(index))
    bag.writer.close()
    with closing(BagCamera(path, View.TOP)) as camera:
        for index in range(3):
            frame = camera.read(0.0)
            assert frame is not None
            assert np.allclose(frame.T_base_camera, transform(index) @ transform(9), atol=1e-12)


def test_looping_stamps_go_on_growing(path: Path, bag: Bag) -> None:
    bag.images()
    bag.writer.close()
    options = BagCameraOptions(intrinsics=INTRINSICS, T_base_camera=np.eye(4), loop=True)
    with closing(BagCamera(path, View.TOP, options)) as camera:
        frames = [camera.read(0.0) for _ in range(7)]
    stamps = [frame.stamp_ns for frame in frames if frame is not None]
    assert stamps[:3] == list(STAMPS_NS)
    period_ns = (STAMPS_NS[2] - STAMPS_NS[0]) // 2
    assert stamps[3:6] == [stamp + STAMPS_NS[2] - STAMPS_NS[0] + period_ns for stamp in STAMPS_NS]
    assert np.all(np.diff(stamps) > 0)
    assert np.array_equal(frames[6].rgb, pixels(0))


def test_stamps_from_a_clock_and_another_topic(path: Path, bag: Bag) -> None:
    bag.images()
    bag.writer.close()
    options = BagCameraOptions(
        topic="/camera/top/image_raw",
        intrinsics=INTRINSICS,
        T_base_camera=np.eye(4),
        clock_ns=lambda: 42,
    )
    with closing(BagCamera(path, View.SIDE, options)) as camera:
        frame = camera.read(0.0)
    assert frame is not None
    assert (frame.view, frame.stamp_ns) == (View.SIDE, 42)


def test_what_is_missing_is_told(path: Path, bag: Bag) -> None:
    bag.images()
    bag.writer.close()
    with pytest.raises(RecordingReadError, match="no such image topic; got '/camera/side/image_raw'"):
        BagCamera(path, View.SIDE)
    with pytest.raises(RecordingReadError, match=r"no intrinsics of camera top.*/camera/top/camera_info"):
        BagCamera(path, View.TOP)
    with pytest.raises(RecordingReadError, match="where camera top was at 1000 ns"):
        BagCamera(path, View.TOP, BagCameraOptions(intrinsics=INTRINSICS))


def test_image_of_another_size_is_told(path: Path, bag: Bag) -> None:
    bag.images()
    bag.info(width=6)
    bag.poses()
    bag.writer.close()
    message = "expected 6 x 4 px; got '5 x 4 px'"
    with closing(BagCamera(path, View.TOP)) as camera, pytest.raises(RecordingReadError, match=message):
        camera.read(0.0)


def test_transform_tree_takes_the_newest_that_is_not_in_the_future() -> None:
    tree = TransformTree()
    for stamp_ns in (30, 10, 20):
        tree.add("base", "tool", stamp_ns, transform(stamp_ns))
    for stamp_ns, expected in ((5, 10), (10, 10), (19, 10), (20, 20), (99, 30)):
        assert np.array_equal(tree.lookup("base", "tool", stamp_ns), transform(expected))
    assert tree.lookup("world", "tool", 5) is None
    assert np.array_equal(tree.lookup("tool", "tool", 5), np.eye(4))
    tree.add("tool", "base", 0, transform(1))
    assert tree.lookup("world", "tool", 5) is None, "a ring of frames ends"


@pytest.mark.parametrize(("count", "period_ns"), [(2, 100), (3, 105)])
def test_a_loop_begins_a_period_after_its_end(path: Path, bag: Bag, count: int, period_ns: int) -> None:
    bag.images(count)
    bag.writer.close()
    options = BagCameraOptions(intrinsics=INTRINSICS, T_base_camera=np.eye(4), loop=True)
    with closing(BagCamera(path, View.TOP, options)) as camera:
        frames = [camera.read(0.0) for _ in range(count + 1)]
    stamps = [frame.stamp_ns for frame in frames if frame is not None]
    assert stamps == [*STAMPS_NS[:count], STAMPS_NS[count - 1] + period_ns]


def test_base_beside_the_camera_under_a_common_frame(path: Path, bag: Bag) -> None:
    bag.images()
    bag.info()
    bag.tf("/tf_static", "base_link", "base", 0, transform(7))
    bag.tf("/tf_static", "base_link", "top_camera_optical_frame", 0, transform(9))
    bag.writer.close()
    expected = np.linalg.inv(transform(7)) @ transform(9)
    for options in (BagCameraOptions(), BagCameraOptions(geometry_optional=True)):
        with closing(BagCamera(path, View.TOP, options)) as camera:
            frame = camera.read(0.0)
            assert frame is not None
            assert np.allclose(frame.T_base_camera, expected, atol=1e-12)


@pytest.mark.parametrize("optional", [False, True])
def test_wrong_pose_is_named_when_its_image_comes(path: Path, bag: Bag, *, optional: bool) -> None:
    bag.images()
    bag.info()
    bag.poses(wrong={2: 0.0})
    bag.writer.close()
    with closing(BagCamera(path, View.TOP, BagCameraOptions(geometry_optional=optional))) as camera:
        camera.read(0.0)
        camera.read(0.0)
        with pytest.raises(RecordingReadError, match=r"trial\.mcap.*1210 ns on /camera/top/pose.*quaternion"):
            camera.read(0.0)


def test_wrong_transform_is_named_with_its_frames(path: Path, bag: Bag) -> None:
    bag.images()
    bag.info()
    bag.tf("/tf_static", "tool0", "top_camera_optical_frame", 0, transform(9))
    bag.tf("/tf", "base", "tool0", 0, transform(1), wrong=True)
    bag.writer.close()
    message = (
        r"trial\.mcap.*pose base -> top_camera_optical_frame at 1000 ns: transform base -> tool0: .*finite"
    )
    with pytest.raises(RecordingReadError, match=message):
        BagCamera(path, View.TOP, BagCameraOptions(T_base_camera=np.eye(4)))
    with closing(BagCamera(path, View.TOP, BagCameraOptions(geometry_optional=True))) as camera:
        for stamp_ns in STAMPS_NS:
            with pytest.raises(WrongPoseError) as error:
                camera.read(0.0)
            assert error.value.stamp_ns == stamp_ns
        with pytest.raises(EndOfFramesError):
            camera.read(0.0)


@pytest.mark.parametrize("topic", ["/camera/top/camera_info", "/camera/top/pose", "/tf_static", "/tf"])
def test_a_topic_of_another_type_is_named(path: Path, bag: Bag, topic: str) -> None:
    bag.images()
    bag.put(topic, "std_msgs/msg/String", 1_001, data="of somebody else")
    bag.writer.close()
    with pytest.raises(RecordingReadError, match=rf"topic {topic} is of another type.*got 'std_msgs/msg/Str"):
        BagCamera(path, View.TOP, BagCameraOptions(geometry_optional=True))


@pytest.mark.parametrize("said", [0.0, math.nan, None])
def test_what_is_not_known_stays_unknown_or_is_refused(path: Path, bag: Bag, said: float | None) -> None:
    bag.images()
    if said is not None:
        bag.info(scale=said)
        bag.poses(wrong=dict.fromkeys(range(3), math.nan))
    bag.writer.close()
    with closing(BagCamera(path, View.TOP, BagCameraOptions(geometry_optional=True))) as camera:
        frame, faults = camera.read(0.0), camera.faults
    assert frame is not None
    assert (frame.intrinsics, frame.T_base_camera) == (None, None)
    said_wrong = ["/camera/top/camera_info has k = [nan" in fault for fault in faults]
    assert said_wrong == [True] * (said not in {0.0, None})
    with pytest.raises(UnknownCameraError, match="the pose of the top camera is not known"):
        frame.needed_pose()
    with pytest.raises(UnknownCameraError, match="the intrinsics of the top camera are not known"):
        frame.needed_intrinsics()
    message = "no intrinsics of camera top" if said is None else "calibrated"
    with pytest.raises(RecordingReadError, match=message):
        BagCamera(path, View.TOP)
    with pytest.raises(RecordingReadError, match="where camera top was at 1000 ns"):
        BagCamera(path, View.TOP, BagCameraOptions(intrinsics=INTRINSICS))


def test_wrong_intrinsics_are_never_unknown(path: Path, bag: Bag) -> None:
    bag.images()
    bag.info(scale=-1.0)
    bag.poses()
    bag.writer.close()
    with pytest.raises(RecordingReadError, match=r"camera top on /camera/top/camera_info: .*not calibrated"):
        BagCamera(path, View.TOP, BagCameraOptions(geometry_optional=True))
