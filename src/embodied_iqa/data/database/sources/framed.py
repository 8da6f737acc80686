"""References from a LeRobot data set or a video: an image every few seconds of each episode."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.base.errors import InputError, UsageError
from embodied_iqa.base.units import SECOND_NS
from embodied_iqa.data.database.schema import SourceKind
from embodied_iqa.data.database.sources.candidate import Candidate, short_id
from embodied_iqa.data.database.sources.recorded import Sampling
from embodied_iqa.data.frames.any_frames import open_frames
from embodied_iqa.data.frames.cameras import cameras_of
from embodied_iqa.data.frames.dataset_frames import DatasetFrames
from embodied_iqa.data.frames.dataset_states import DatasetStates
from embodied_iqa.data.frames.video_frames import VideoFrames
from embodied_iqa.imaging.images.frame import Frame, View
from embodied_iqa.imaging.images.stored_images import Frames, StoredImage, UnreadableImage
from embodied_iqa.world.tasks.task import Task, TaskSource

_OPEN: Final = 8


@dataclass(frozen=True, slots=True)
class _Place:
    """An image: its name, camera, time if known and task, or why it cannot be read; likewise its state."""

    name: str
    view: View
    stamp_ns: int | None
    task: str
    fault: str = ""
    T_base_tool: tuple[float, ...] | None = None
    gripper: float | None = None


@dataclass(frozen=True, slots=True)
class FramesSource:
    """Images of one data set or video, with its tasks. Nothing is known of its cameras.

    The state of a data set's robot is in units of its own: it is a pose where the sampling says so.

    Attributes:
        path: The data set or video.
        sampling: How many images of an episode, and the task of all instead of those of the source.
        places: The images, in their order.
    """

    path: Path
    sampling: Sampling = field(default_factory=Sampling)
    places: tuple[_Place, ...] = field(init=False)

    def __post_init__(self) -> None:
        if self.sampling.states.libero:
            expected = "tool and gripper, or build --world of LIBERO itself"
            raise UsageError("a database keeps no state of LIBERO from a data set", expected=expected)
        frames = open_frames(self.path)
        if not isinstance(frames, DatasetFrames | VideoFrames):
            expected = "a LeRobot data set or a video"
            raise InputError(f"{self.path} is another source", expected=expected, got=frames.kind)
        places = tuple(_sampled(frames, _cameras_of(frames, self.sampling.topics), self.sampling))
        if isinstance(frames, DatasetFrames) and self.sampling.states.has_pose:
            states = DatasetStates(frames.dataset, self.sampling.states)
            places = tuple(_with_state(place, states) for place in places)
        if not any(place.task for place in places):
            raise InputError(f"{self.path} has no tasks", expected="--task WORDS")
        object.__setattr__(self, "places", places)

    @property
    def count(self) -> int | None:
        """Number of images."""
        return len(self.places)

    @property
    def description(self) -> str:
        """The source's name, and what is taken of it."""
        taken = f"images of {self.path.resolve().name} every {self.sampling.every_s:g} s"
        return ", ".join([taken, *self.sampling.words])

    @property
    def fingerprint(self) -> str:
        """Of the tasks that the source has for its images."""
        text = "\n".join(f"{place.name} {place.task}" for place in self.places)
        return hashlib.sha256(text.encode()).hexdigest()[:32]

    def name_of(self, index: int) -> str:
        """Return what lists call a candidate."""
        return self.places[index].name

    def read(self, index: int) -> Candidate:
        """Find an image by its name."""
        place = self.places[index]
        if place.fault:
            raise InputError(place.fault)
        if not place.task:
            raise InputError(f"no tasks: {place.name} has none")
        rgb = _reading(self.path, self.path.stat().st_mtime_ns, tuple(self.sampling.topics.items())).find(
            place.name
        )
        digest = hashlib.sha256(rgb.tobytes()).hexdigest()[:16]
        kind = SourceKind.VIDEO if self.path.is_file() else SourceKind.DATASET
        task = Task(short_id(f"{place.task}:{place.name}"), 1, place.task, source=TaskSource.FILE)
        return Candidate(
            source=kind,
            origin=f"{self.path.resolve().name} {place.name} {digest}",
            real=True,
            view=place.view,
            frames={place.view: Frame(place.view, place.stamp_ns or 0, rgb, None, None)},
            T_base_tool=None if place.T_base_tool is None else np.array(place.T_base_tool).reshape(4, 4),
            gripper=place.gripper,
            tasks=(task,),
            instruction=place.task,
            is_timed=place.stamp_ns is not None,
        )


def scene_of_name(name: str) -> str:
    """Return the scene of an image by its name: its episode without the camera; of a video, all are one."""
    return name.partition("/")[2].rpartition("/")[0]


def _cameras_of(frames: Frames, topics: Mapping[View, str]) -> dict[str, View]:
    views = [View.TOP] if len(frames.topics) == 1 and not frames.views() else []
    return cameras_of(frames, views, topics)


def _sampled(frames: Frames, cameras: Mapping[str, View], sampling: Sampling) -> Iterator[_Place]:
    """Yield the first image of each episode and camera, and one every few seconds after it."""
    step_ns, next_ns = round(sampling.every_s * SECOND_NS), dict[tuple[str, str], int]()
    for image in _listed(frames, tuple(cameras)):
        if isinstance(image, UnreadableImage):
            yield _Place(image.what, next(iter(cameras.values())), None, "", f"unusable: {image.error}")
            continue
        scene, stamp_ns = (image.topic, image.name.rpartition("/")[0]), image.stamp_ns or 0
        if stamp_ns < next_ns.get(scene, 0):
            continue
        next_ns[scene] = stamp_ns + max(1, step_ns)
        yield _Place(image.name, cameras[image.topic], image.stamp_ns, sampling.task or image.task or "")


def _with_state(place: _Place, states: DatasetStates) -> _Place:
    if place.fault or place.stamp_ns is None:
        return place
    state = states.at(place.stamp_ns)
    if state.T_base_tool is None or state.gripper is None:
        return place
    return replace(place, T_base_tool=tuple(state.T_base_tool.ravel().tolist()), gripper=state.gripper)


def _listed(frames: Frames, topics: Sequence[str]) -> Iterator[StoredImage | UnreadableImage]:
    """Iterate over images of which names, times and tasks are needed; those of data sets are not decoded."""
    return frames.listed(topics) if isinstance(frames, DatasetFrames) else frames.images(topics)


class _Reading:
    """Images by their names; in the order of the source, they are found in one pass."""

    def __init__(self, path: Path, topics: Mapping[View, str]) -> None:
        self._frames = open_frames(path)
        self._topics = tuple(_cameras_of(self._frames, topics))
        self._images: Iterator[StoredImage | UnreadableImage] = iter(())
        self._names: set[str] | None = None  # of all that can be read, once all were passed
        self._faults: dict[str, str] = {}
        self._shared: dict[str, None] = {}  # reasons of parts in which several images are lost

    def find(self, name: str) -> NDArray[np.uint8]:
        """Return the pixels of an image.

        Raises:
            InputError: It is damaged, or no longer there.
        """
        if self._names is None or name in self._names:
            passed = set()
            for again in (False, True):
                if again:
                    self._images = self._frames.images(self._topics)
                while (image := next(self._images, None)) is not None:
                    if isinstance(image, UnreadableImage):
                        self._note(image)
                        continue
                    if image.name == name:
                        return image.rgb
                    passed.add(image.name)
            self._names = passed  # so that others that are lost cost no pass of their own
        reason = self._faults.get(name) or "; ".join(self._shared)
        raise InputError(f"no image: {name}: {reason or f'{self._frames.path} has it no longer'}")

    def _note(self, lost: UnreadableImage) -> None:
        if lost.name:
            self._faults[lost.name] = str(lost.error)
        else:
            self._shared[f"{lost.what}: {lost.error}"] = None


@lru_cache(maxsize=_OPEN)
def _reading(path: Path, changed_ns: int, topics: tuple[tuple[View, str], ...]) -> _Reading:  # noqa: ARG001 - of the key
    return _Reading(path, dict(topics))
