"""Depth beside the images of a LeRobot data set: as files in Parquet, or as videos of 12-bit codes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import cv2
import numpy as np
from numpy.typing import NDArray

from embodied_iqa.base.errors import InputError
from embodied_iqa.data.lerobot.dataset import LeRobotDataset, image_name
from embodied_iqa.data.lerobot.episodes import Episode
from embodied_iqa.data.lerobot.info import DepthCamera, DepthCodes
from embodied_iqa.data.lerobot.steps import Step
from embodied_iqa.data.lerobot.video import Video
from embodied_iqa.imaging.images.codecs import decode
from embodied_iqa.imaging.images.encodings import depth_mm_of_metres

_MOST_CODE: Final = 4095
"""Twelve bits."""


class DatasetDepth:
    """Depth of one camera at the times of steps that rise, read in step with them.

    Args:
        dataset: The data set; its episodes follow each other without a pause.
        camera: One of `DatasetInfo.depth`.

    Attributes:
        topic: Its key.

    Raises:
        InputError: It is a video that does not say what its codes are.
    """

    def __init__(self, dataset: LeRobotDataset, camera: DepthCamera) -> None:
        if camera.is_video and camera.codes is None:
            raise InputError(
                f"{dataset.path}: the depth video {camera.key} does not say what its values are",
                expected="video.depth_min, video.depth_max, video.shift and video.use_log",
            )
        self.topic = camera.key
        self._dataset, self._camera = dataset, camera
        self._starts_ns = dataset.starts_ns()
        self._steps = self._all_steps()
        self._at: tuple[int, Episode, Step, Any] | None = None
        self._open: tuple[str, Video] | None = None

    def at(self, stamp_ns: int, size_px: tuple[int, int]) -> NDArray[np.uint16]:
        """Return the depth of a step's image, ``(H, W)`` uint16 in mm, 0 for unknown.

        Args:
            stamp_ns: Of the step; no earlier than that of the call before.
            size_px: Width and height of the image, which depth in its pixels has too.

        Raises:
            InputError: There is none, or it is damaged or of another size.
        """
        known = self._camera.width_px, self._camera.height_px
        if known != size_px:
            expected, got = ("x".join(map(str, size)) for size in (size_px, known))
            raise InputError(f"{self.topic} is not aligned to its images", expected=expected, got=got)
        while self._at is None or self._at[0] < stamp_ns:
            self._at = next(self._steps, None)
            if self._at is None:
                break
        if self._at is None or self._at[0] != stamp_ns:
            raise InputError(f"{self.topic} has no step at {stamp_ns} ns")
        _, episode, step, cell = self._at
        return self._of_video(episode, step) if self._camera.is_video else self._of_file(step, cell)

    def close(self) -> None:
        """Close the video; may be called twice."""
        if self._open is not None:
            self._open[1].close()
            self._open = None

    def _all_steps(self) -> Iterator[tuple[int, Episode, Step, Any]]:
        key, cells = self.topic, () if self._camera.is_video else (self.topic,)
        for file, group in self._dataset.data_files():
            for episode, step, found in file.steps(group, cells):
                if not isinstance(step, Step):  # it has no images either, and they are reported
                    continue
                yield self._starts_ns[step.episode] + step.stamp_ns, episode, step, found.get(key)

    def _of_video(self, episode: Episode, step: Step) -> NDArray[np.uint16]:
        codes = self._camera.codes
        part = episode.videos.get(self.topic)
        if codes is None or part is None:
            raise InputError(f"{self.topic} has no video of episode {episode.index}")
        if self._open is None or self._open[0] != part.file:
            self.close()
            size = self._camera.width_px, self._camera.height_px
            self._open = part.file, Video(self._dataset.path / part.file, *size)
        return depth_mm_of_codes(self._open[1].gray_at(part.start_s + step.time_s), codes)

    def _of_file(self, step: Step, cell: Any) -> NDArray[np.uint16]:
        place = f"the depth of {image_name(self.topic, step)}"
        content = cell.get("bytes") if isinstance(cell, dict) else None
        if not isinstance(content, bytes):
            raise InputError(f"{place} is not in the Parquet file")
        values = decode(content, cv2.IMREAD_UNCHANGED, place)
        size = self._camera.height_px, self._camera.width_px
        if values.shape != size or values.dtype not in (np.uint16, np.float32):
            raise InputError(
                f"{place} has other values",
                expected=f"{size[1]}x{size[0]}, one channel, 16 bits in mm or floating-point m",
                got=f"{values.dtype} {values.shape}",
            )
        if values.dtype == np.uint16:
            return values.astype(np.uint16, copy=False)
        return depth_mm_of_metres(values.astype(np.float64))


def depth_mm_of_codes(codes: NDArray[np.uint16], scale: DepthCodes) -> NDArray[np.uint16]:
    """Return what 12-bit codes stand for, ``(H, W)`` uint16 in mm.

    Code 0 stands for unknown depth and for every depth up to the minimum, so it is read as unknown, 0. The
    highest code stands for every depth from the maximum on.
    """
    if codes.max(initial=0) > _MOST_CODE:
        raise InputError("a depth video has other values", expected="12 bits", got=int(codes.max()))
    share = codes / _MOST_CODE
    if scale.is_log:
        low, high = np.log(scale.min_m + scale.shift_m), np.log(scale.max_m + scale.shift_m)
        metres = np.exp(low + share * (high - low)) - scale.shift_m
    else:
        metres = scale.min_m + share * (scale.max_m - scale.min_m)
    return depth_mm_of_metres(np.where(codes > 0, metres, 0.0))
