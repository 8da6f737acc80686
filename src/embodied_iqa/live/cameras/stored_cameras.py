"""Stored images as cameras: image files and recordings."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from embodied_iqa_msgs.msg import TrialEvent

from embodied_iqa.data.frames.any_frames import is_played_by_messages
from embodied_iqa.data.frames.frames_camera import FramesCamera
from embodied_iqa.data.frames.recording_frames import RecordingFrames
from embodied_iqa.data.recording.bag_camera import BagCamera, BagCameraOptions
from embodied_iqa.imaging.images.codecs import read_image
from embodied_iqa.imaging.images.file_camera import FileCamera, images_of_view, intrinsics_of_fov
from embodied_iqa.imaging.images.frame import View
from embodied_iqa.imaging.images.run_playback import RunPlayback, StoredCamera
from embodied_iqa.live.cameras.camera_poses import stated_pose
from embodied_iqa.live.cameras.camera_rig import CameraRig, open_views
from embodied_iqa.live.cameras.timed_cameras import TimedCameras
from embodied_iqa.live.ros.node import Health
from embodied_iqa.live.ros.qos import EVENT
from embodied_iqa.runs.graph.camera_parameters import CameraParameters
from embodied_iqa.runs.graph.topic_parameters import Transport, image_topics


def open_files(rig: CameraRig) -> TimedCameras:
    """Open the source ``files``: a folder of images, or of one folder for each view."""
    return _open(rig, file_camera)


def open_bag(rig: CameraRig) -> TimedCameras:
    """Open the source ``bag``: a recording, ours or of ``ros2 bag``."""
    return _open(rig, bag_camera)


def _open(
    rig: CameraRig, camera_of: Callable[[CameraParameters, View, Callable[[], int]], StoredCamera]
) -> TimedCameras:
    clock = RoundClock(rig.now_ns)
    cameras = open_views(rig.config, lambda view: camera_of(rig.config, view, clock.now_ns))
    for camera in cameras:
        for fault in camera.faults if isinstance(camera, BagCamera) else ():
            rig.node.get_logger().warning(fault)
    if not rig.config.in_runs:
        return TimedCameras(rig, cameras, clock.begin)
    return RunCameras(rig, [RunPlayback(camera, clock.now_ns) for camera in cameras], clock.begin)


class RoundClock:
    """Stamps of stored images: those of all cameras of one round are the same.

    A policy of several cameras decides on images of one stamp.

    Args:
        now_ns: ROS time.
    """

    def __init__(self, now_ns: Callable[[], int]) -> None:
        self._clock_ns = now_ns
        self._begun_ns: int | None = None

    def begin(self) -> None:
        """Begin a round."""
        self._begun_ns = self._clock_ns()

    def now_ns(self) -> int:
        """Return when the round began; before the first one, the time."""
        return self._clock_ns() if self._begun_ns is None else self._begun_ns


class RunCameras(TimedCameras):
    """Plays stored images in each run of a trial."""

    def __init__(self, rig: CameraRig, playbacks: list[RunPlayback], begin: Callable[[], None]) -> None:
        super().__init__(rig, playbacks, begin)
        self._playbacks = playbacks
        rig.node.create_subscription(TrialEvent, "trial/events", self._follow_trial, EVENT)

    def health(self) -> Health:
        """Return the number of repeated images of each camera."""
        return Health(values={f"{camera.view} repeated": camera.repeated for camera in self._playbacks})

    def _follow_trial(self, event: TrialEvent) -> None:
        for camera in self._playbacks:
            if event.kind == TrialEvent.KIND_RUN_START:
                camera.play()
            elif event.kind in {TrialEvent.KIND_TRIAL_START, TrialEvent.KIND_RUN_END}:
                camera.rewind()


def bag_camera(config: CameraParameters, view: View, clock_ns: Callable[[], int]) -> BagCamera | FramesCamera:
    """Open a camera of a recording, folder, video or data set; what nothing says stays unknown.

    Args:
        config: The source, its image topics, and the pose of a fixed camera where the source has none.
        view: The camera.
        clock_ns: ROS time of an image that is read.

    Raises:
        UsageError: No path is given, or the pose is invalid.
        InputError: The source cannot be used.
    """
    path, pose, topic = Path(config.needed_path()), stated_pose(config, view), _topic(config, view)
    if not is_played_by_messages(path):
        return FramesCamera(path, view, topic, T_base_camera=pose, loop=config.loop, clock_ns=clock_ns)
    options = BagCameraOptions(
        topic=topic or _only_topic(path, config.views),
        T_base_camera=pose,
        geometry_optional=True,
        loop=config.loop,
        clock_ns=clock_ns,
    )
    return BagCamera(path, view, options)


def _topic(config: CameraParameters, view: View) -> str:
    """Return the topic that ``topic.image`` names for a camera; empty where it names none."""
    if not config.topic.image:
        return ""
    topics = image_topics(config.topic.image, Transport.RAW, config.views)
    return topics[config.views.index(view)]


def _only_topic(path: Path, views: Sequence[View]) -> str:
    """Return the image topic of a recording that has one only, for one camera; empty for those with names."""
    if len(views) != 1:
        return ""
    frames = RecordingFrames(path)
    return next(iter(frames.topics)) if len(frames.topics) == 1 and not frames.views() else ""


def file_camera(config: CameraParameters, view: View, clock_ns: Callable[[], int]) -> FileCamera:
    """Open image files as a camera; arguments as in `bag_camera`.

    Raises:
        UsageError: No path is given, or the pose is invalid.
        InputError: No images found at the path.
    """
    files = images_of_view(Path(config.needed_path()), view).files
    height_px, width_px, _ = read_image(files[0]).shape
    return FileCamera(
        files,
        view,
        intrinsics_of_fov(width_px, height_px, config.horizontal_fov_rad),
        T_base_camera=stated_pose(config, view),
        clock_ns=clock_ns,
        loop=config.loop,
    )
