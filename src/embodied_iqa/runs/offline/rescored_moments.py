"""Moments of stored images of any source: one image of each camera, and the task at that time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.base.errors import InputError
from embodied_iqa.base.units import SECOND_NS
from embodied_iqa.imaging.distortions.image import checked
from embodied_iqa.imaging.images.frame import Frame, View
from embodied_iqa.imaging.images.stored_images import Frames, StoredImage, UnreadableImage
from embodied_iqa.runs.offline.rescoring_plan import RescoringPlan

_TOGETHER_NS: Final = SECOND_NS // 10
"""Images of other cameras that are further away in time belong to another moment."""


@dataclass(frozen=True, slots=True, eq=False)
class Moment:
    """Images of one instant: all have the stamp of the first camera, whenever they were taken.

    Attributes:
        number: Counted from 0.
        task: What the robot was asked to do.
        stamp_ns: Of the first camera's image.
        images: ``(H, W, 3)`` uint8 by camera.
        taken_ns: Their own stamps.
    """

    number: int
    task: str
    stamp_ns: int
    images: Mapping[View, NDArray[np.uint8]]
    taken_ns: Mapping[View, int]

    def frames(self, images: Mapping[View, NDArray[np.uint8]], plan: RescoringPlan) -> dict[View, Frame]:
        """Return images of this moment, as they are or distorted, with what is known of their cameras."""
        return {
            view: Frame(view, self.stamp_ns, rgb, plan.intrinsics.get(view), plan.poses.get(view))
            for view, rgb in images.items()
        }


class Moments:
    """The moments of a source that are rescored, in one pass; keeps two images of each camera.

    Args:
        frames: The source.
        plan: Cameras, tasks, and how far moments are apart.
        lost: Counts what was left out, by its reason.

    Attributes:
        seen: Tasks of images of the first camera, asked about or not.
    """

    def __init__(self, frames: Frames, plan: RescoringPlan, lost: Counter[str]) -> None:
        self._frames, self._plan, self._lost = frames, plan, lost
        self.seen: dict[str, None] = {}

    def each(self, progress: Callable[[int], None]) -> Iterator[Moment]:
        """Iterate over the moments.

        Args:
            progress: Called with the number of images read, after each.
        """
        first, *others = self._plan.cameras.values()
        newest: dict[View, tuple[int, NDArray[np.uint8]]] = {}
        next_ns, number = None, 0
        for done, image in enumerate(self._images(), start=1):
            progress(done)
            fault = self._fault(image, newest)
            if isinstance(image, UnreadableImage) or image.stamp_ns is None or fault:
                self._lost[f"left out: {fault}"] += 1
                continue
            view, stamp_ns = self._plan.cameras[image.topic], image.stamp_ns
            newest[view] = stamp_ns, image.rgb
            task = self._plan.task_of(image)
            if task and view == first:
                self.seen[task] = None
            if view != first or (next_ns is not None and stamp_ns < next_ns):
                continue
            next_ns = stamp_ns + round(self._plan.every_s * SECOND_NS)
            far = [
                one for one in others if one not in newest or abs(stamp_ns - newest[one][0]) > _TOGETHER_NS
            ]
            if far:
                within_s = _TOGETHER_NS / SECOND_NS
                self._lost[f"left out: no image of camera {far[0]} within {within_s:g} s"] += 1
                continue
            if not task:
                self._lost["left out: an image without a task"] += 1
                continue
            views = (first, *others)
            images = {one: newest[one][1] for one in views}
            yield Moment(number, task, stamp_ns, images, {one: newest[one][0] for one in views})
            number += 1

    def _images(self) -> Iterator[StoredImage | UnreadableImage]:
        """Iterate over the images; of one stamp, that of the camera that sets the pace comes last."""
        cameras = tuple(self._plan.cameras)
        together: dict[str, StoredImage] = {}
        for image in self._frames.images(cameras):
            if isinstance(image, UnreadableImage):
                yield image
                continue
            if image.topic in together or any(one.stamp_ns != image.stamp_ns for one in together.values()):
                yield from sorted(together.values(), key=lambda one: one.topic == cameras[0])
                together.clear()
            together[image.topic] = image
        yield from sorted(together.values(), key=lambda one: one.topic == cameras[0])

    def _fault(
        self,
        image: StoredImage | UnreadableImage,
        newest: Mapping[View, tuple[int, NDArray[np.uint8]]],
    ) -> str:
        """Return why an image cannot be used; empty if it can."""
        if isinstance(image, UnreadableImage):
            return str(image.error)
        if image.stamp_ns is None or (image.stamp_ns <= 0 and self._frames.kind == "recording"):
            return f"an image of {image.topic or self._frames.path} has no stamp"
        view = self._plan.cameras[image.topic]
        if view in newest and image.stamp_ns <= newest[view][0]:
            return f"an image of {image.topic or view} is no newer than one before"
        try:
            checked(image.rgb)
        except InputError as error:
            return f"{image.title}: {error}"
        return ""
