"""Depth beside distorted images: files with the depth of each image, which no distortion changes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from embodied_iqa.base.errors import InputError
from embodied_iqa.base.files import write_whole
from embodied_iqa.base.lazy import INSTALL_DATA, Later
from embodied_iqa.data.frames.depth_beside import Depth, depths_of
from embodied_iqa.imaging.images.frame import View
from embodied_iqa.imaging.images.stored_images import Frames, StoredImage

cv2: Any = Later("cv2", INSTALL_DATA)


class DepthFiles:
    """Writes ``NAME.png`` with the depth of image NAME: 16 bits, mm, 0 for unknown, in the image's pixels.

    Args:
        frames: The images.
        topics: Those that are distorted; empty for all.
        folder: Of the files, apart from the images: who reads those wants colour.

    Raises:
        InputError: No topic has depth beside it.
    """

    def __init__(self, frames: Frames, topics: Sequence[str], folder: Path) -> None:
        cameras = dict.fromkeys(topics or frames.topics, View.TOP)
        self._depths: Mapping[str, Depth] = depths_of(frames, cameras)
        self._folder, self._written = folder, 0
        self._lost: Counter[str] = Counter()
        if not self._depths:
            expected = "a recording or data set with depth in the pixels of its images"
            raise InputError(f"{frames.path} has no depth beside its images", expected=expected)

    def keep(self, image: StoredImage) -> None:
        """Write the depth of an image, unless it is there; what has none is counted."""
        depth, path = self._depths.get(image.topic), self._folder / f"{image.name}.png"
        if depth is None or path.is_file():
            return
        height_px, width_px = image.rgb.shape[:2]
        try:
            depth_mm = depth.at(image.stamp_ns or 0, (width_px, height_px))
        except InputError as error:
            self._lost[str(error)] += 1
            return
        data = cv2.imencode(".png", depth_mm)[1].tobytes()
        write_whole(path, lambda fresh: fresh.write_bytes(data))
        self._written += 1

    def close(self) -> tuple[str, ...]:
        """Close the recording; return what was written, and of how many images it was not and why."""
        for depth in self._depths.values():
            depth.close()
        lost = [
            f"{count} image{'s' * (count > 1)} without depth: {reason}"
            for reason, count in self._lost.items()
        ]
        return (f"depth of {self._written} images: {self._folder}", *lost)
