"""Opens stored images of any origin, and of an annotated database its references."""

from __future__ import annotations

from pathlib import Path

from embodied_iqa.base.lazy import load
from embodied_iqa.data.database.database_folder import is_database
from embodied_iqa.data.frames.any_frames import open_frames
from embodied_iqa.data.frames.video_frames import is_video
from embodied_iqa.data.lerobot.info import is_lerobot
from embodied_iqa.data.recording.recording_names import is_recording
from embodied_iqa.imaging.images.stored_images import Frames


def open_clean(source: Path) -> Frames:
    """Open stored images as `open_frames`, and of an annotated database the references.

    Raises:
        InputError: It does not exist, cannot be read, or holds no images.
        MissingDependencyError: What reads it is not installed.
    """
    if not is_database(source):
        return open_frames(source)
    frames: Frames = load("embodied_iqa.data.database.reference_frames:ReferenceFrames")(source)
    return frames


def is_of_files(source: Path) -> bool:
    """Return whether `open_clean` takes a path for an image file or a folder of them."""
    return not (is_database(source) or is_lerobot(source) or is_recording(source) or is_video(source))
