"""Opens whatever holds stored images."""

from __future__ import annotations

from pathlib import Path

from embodied_iqa.base.lazy import load
from embodied_iqa.data.frames.image_folder import FolderFrames
from embodied_iqa.data.frames.video_frames import VideoFrames, is_video
from embodied_iqa.data.lerobot.info import is_lerobot
from embodied_iqa.data.recording.recording_names import is_recording
from embodied_iqa.imaging.images.stored_images import Frames


def open_frames(path: Path) -> Frames:
    """Open an image, a folder of images, a video, a recording, or a LeRobot data set.

    A folder is a data set where it holds `meta/info.json`, and a recording where it holds files of one and no
    images beside them.

    Raises:
        InputError: It does not exist, cannot be read, or holds no images.
        MissingDependencyError: It is a video, recording or data set, and what reads it is not installed.
    """
    if is_lerobot(path):
        return _opened("dataset_frames:DatasetFrames", path)
    if is_recording(path):
        return _opened("recording_frames:RecordingFrames", path)
    return VideoFrames(path) if is_video(path) else FolderFrames(path)


def _opened(kind: str, path: Path) -> Frames:
    """Open what needs libraries that image files do not need."""
    frames: Frames = load(f"embodied_iqa.data.frames.{kind}")(path)
    return frames


def is_played_by_messages(path: Path) -> bool:
    """Return whether a camera plays a path as a recording; a file of no known kind is refused as one."""
    if is_lerobot(path) or is_video(path):
        return False
    return is_recording(path) or not path.is_dir()
