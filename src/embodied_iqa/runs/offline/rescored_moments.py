"""Moments of stored images of any source: one image of each camera, and the task at that time."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.base.errors import InputError
from embodied_iqa.base.units import SECOND_NS
from embodied_iqa.imaging.distortions.image import checked
from embodied_iqa.imaging.images.frame import Frame, View
from embodied_iqa.imaging.images.pairing import nearest_ns
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


@dataclass(frozen=True, slots=True, eq=False)
class _Anchor:
    stamp_ns: int
    rgb: NDArray[np.uint8]
    task: str | None


class Moments:
    """The moments of a source that are rescored, in one pass.

    Each camera gives its image of the nearest stamp, as in a trial (see `images.pairing`). A moment waits
    until every camera has shown an image as new as its own, or until the time in which one belongs to it has
    passed: the images of that time are in memory.

    Args:
        frames: The source.
        plan: Cameras, tasks, and how far moments are apart.
        lost: Counts what was left out, by its reason.

    Attributes:
        seen: Tasks of images of the first camera, asked about or not.
        is_incomplete: Whether an image that was to be asked about is damaged, or lacks one of another camera.
    """

    def __init__(self, frames: Frames, plan: RescoringPlan, lost: Counter[str]) -> None:
        self._frames, self._plan, self._lost = frames, plan, lost
        self._newest_ns: dict[View, int] = {}
        self._waiting: deque[_Anchor] = deque()
        self._others: dict[View, dict[int, NDArray[np.uint8]]] = {}
        self._number = 0
        self.seen: dict[str, None] = {}
        self.is_incomplete = False

    def each(self, progress: Callable[[int], None]) -> Iterator[Moment]:
        """Iterate over the moments; to be called once.

        Args:
            progress: Called with the number of images read, after each.
        """
        first, *others = self._plan.cameras.values()
        self._others = {view: {} for view in others}
        next_ns = None
        for done, image in enumerate(self._frames.images(tuple(self._plan.cameras)), start=1):
            progress(done)
            fault = self._fault(image)
            if isinstance(image, UnreadableImage) or image.stamp_ns is None or fault:
                self._lost[f"left out: {fault}"] += 1
                continue
            view, stamp_ns = self._plan.cameras[image.topic], image.stamp_ns
            self._newest_ns[view] = stamp_ns
            if view != first:
                self._others[view][stamp_ns] = image.rgb
            else:
                task = self._plan.task_of(image)
                if task:
                    self.seen[task] = None
                if next_ns is None or stamp_ns >= next_ns:
                    next_ns = stamp_ns + round(self._plan.every_s * SECOND_NS)
                    self._waiting.append(_Anchor(stamp_ns, image.rgb, task))
            yield from self._settled(first)
        yield from self._settled(first, at_end=True)

    def _settled(self, first: View, *, at_end: bool = False) -> Iterator[Moment]:
        """Yield the moments of which no nearer image can come, and forget what belongs to none."""
        while self._waiting:
            anchor, now_ns = self._waiting[0], max(self._newest_ns.values())
            may_come = any(self._newest_ns.get(view, -1) < anchor.stamp_ns for view in self._others)
            if may_come and now_ns <= anchor.stamp_ns + _TOGETHER_NS and not at_end:
                break
            self._waiting.popleft()
            moment = self._moment(first, anchor)
            if moment is not None:
                yield moment
        oldest_ns = self._waiting[0].stamp_ns if self._waiting else max(self._newest_ns.values(), default=0)
        for images in self._others.values():
            for stamp_ns in [one_ns for one_ns in images if one_ns < oldest_ns - _TOGETHER_NS]:
                del images[stamp_ns]

    def _moment(self, first: View, anchor: _Anchor) -> Moment | None:
        taken_ns = {first: anchor.stamp_ns}
        for view, images in self._others.items():
            near_ns = nearest_ns(anchor.stamp_ns, list(images), _TOGETHER_NS)
            if near_ns is None:
                within_s = _TOGETHER_NS / SECOND_NS
                self._lost[f"left out: no image of camera {view} within {within_s:g} s"] += 1
                self.is_incomplete = True
                return None
            taken_ns[view] = near_ns
        if not anchor.task:
            self._lost["left out: an image without a task"] += 1
            return None
        seen = {
            view: anchor.rgb if view == first else self._others[view][its_ns]
            for view, its_ns in taken_ns.items()
        }
        self._number += 1
        return Moment(self._number - 1, anchor.task, anchor.stamp_ns, seen, taken_ns)

    def _fault(self, image: StoredImage | UnreadableImage) -> str:
        """Return why an image cannot be used; empty if it can."""
        fault = self._damage(image)
        self.is_incomplete |= bool(fault)
        if fault or isinstance(image, UnreadableImage) or image.stamp_ns is None:
            return fault
        view = self._plan.cameras[image.topic]
        is_newer = view not in self._newest_ns or image.stamp_ns > self._newest_ns[view]
        return "" if is_newer else f"an image of {image.topic or view} is no newer than one before"

    def _damage(self, image: StoredImage | UnreadableImage) -> str:
        if isinstance(image, UnreadableImage):
            return str(image.error)
        if image.stamp_ns is None or (image.stamp_ns <= 0 and self._frames.kind == "recording"):
            return f"an image of {image.topic or self._frames.path} has no stamp"
        try:
            checked(image.rgb)
        except InputError as error:
            return f"{image.title}: {error}"
        return ""
