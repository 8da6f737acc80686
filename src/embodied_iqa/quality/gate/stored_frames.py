"""Images of the cameras that the gate judges, from anything that yields stored images."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.base.errors import InputError
from embodied_iqa.data.database.clean_frames import open_clean
from embodied_iqa.data.frames.cameras import cameras_of, topics_not_read
from embodied_iqa.data.frames.image_folder import FolderFrames
from embodied_iqa.imaging.images.frame import View
from embodied_iqa.imaging.images.stored_images import Coding, UnreadableImage


@dataclass(frozen=True, slots=True, eq=False)
class StoredFrame:
    """A stored image of a camera.

    Attributes:
        view: The camera.
        name: The file's name, topic and stamp, or camera, episode and step.
        stamp_ns: When it was taken, on the clock of its source; None where that is not known.
        rgb: ``(H, W, 3)`` uint8, red first. Read-only.
        coding: How it was stored, by its content: a file, or what a recording or data set holds.
    """

    view: View
    name: str
    stamp_ns: int | None
    rgb: NDArray[np.uint8]
    coding: Coding = Coding.LOSSLESS


class CameraFrames:
    """The images of some cameras.

    Args:
        source: An image, a folder of images, or one folder per camera with its name; a video; a recording; a
            LeRobot data set; an annotated database, of which the references are taken.
        views: The cameras; empty for all. Exactly one where the source does not name its only camera.
        topics: Topic, or name of its driver, by camera; by default those that name their camera, see
            `cameras_of`.

    Attributes:
        note: Which image topics or folders nobody chose, and what the source says of itself, in words.
        unreadable: Images that could not be read when they were last iterated, with the reasons.

    Raises:
        UsageError: The source has images of one camera, and ``views`` does not name it.
        InputError: It cannot be read, or has no images, or none of a camera or topic.
    """

    def __init__(self, source: Path, views: Sequence[View], topics: Mapping[View, str]) -> None:
        self._frames = open_clean(source)
        self._cameras = cameras_of(self._frames, views, topics)
        is_chosen = bool(topics) or (bool(views) and "" not in self._frames.topics)
        unchosen = "" if is_chosen else topics_not_read(self._frames, self._cameras)
        self.note = "; ".join(filter(None, (unchosen, self._frames.note)))
        self.unreadable: list[UnreadableImage] = []

    @property
    def are_of_a_cell(self) -> bool:
        """Whether a trial has the same cameras: those of a recording are named and described as there."""
        frames = self._frames
        if isinstance(frames, FolderFrames):
            return False
        from embodied_iqa.data.database.reference_frames import ReferenceFrames  # noqa: PLC0415 - the extra gate
        from embodied_iqa.data.frames.recording_frames import RecordingFrames  # noqa: PLC0415 - the extra gate

        if isinstance(frames, RecordingFrames):
            return all(frames.view_of(topic) and topic in frames.described for topic in self._cameras)
        return isinstance(frames, ReferenceFrames)

    @property
    def are_real(self) -> bool:
        """Whether a recording says that they are not of the simulated cell."""
        if isinstance(self._frames, FolderFrames):
            return False
        from embodied_iqa.data.frames.recording_frames import RecordingFrames  # noqa: PLC0415 - the extra gate

        return isinstance(self._frames, RecordingFrames) and self._frames.is_real

    @property
    def views(self) -> frozenset[View]:
        """The cameras."""
        return frozenset(self._cameras.values())

    @property
    def recording(self) -> Path | None:
        """The recording; None for another source."""
        if isinstance(self._frames, FolderFrames):
            return None
        from embodied_iqa.data.frames.recording_frames import RecordingFrames  # noqa: PLC0415 - the extra gate

        return self._frames.path if isinstance(self._frames, RecordingFrames) else None

    def __len__(self) -> int:
        return self._frames.count(tuple(self._cameras))

    def __iter__(self) -> Iterator[StoredFrame]:
        self.unreadable = []
        for image in self._frames.images(tuple(self._cameras)):
            if isinstance(image, UnreadableImage):
                self.unreadable.append(image)
                continue
            try:
                rgb, coding = image.rgb, image.coding
            except InputError as error:
                self.unreadable.append(UnreadableImage(image.name, error))
                continue
            yield StoredFrame(self._cameras[image.topic], image.title, image.stamp_ns, rgb, coding)
