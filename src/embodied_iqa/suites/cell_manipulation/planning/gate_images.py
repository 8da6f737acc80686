"""Front images of episodes for the learned gate, with what a detector loses on each distorted one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.base.errors import InputError
from embodied_iqa.base.files import sha256_of
from embodied_iqa.base.jobs.engine import EngineOptions, run_jobs
from embodied_iqa.base.jobs.folder import JobFolder
from embodied_iqa.base.progress import track
from embodied_iqa.base.records import read_json, write_record
from embodied_iqa.imaging.distortions import LEVELS, catalogue, parse_distortion
from embodied_iqa.imaging.distortions.stream import FrameDistorter
from embodied_iqa.imaging.images.codecs import read_image, write_image
from embodied_iqa.imaging.images.frame import Frame, Intrinsics, View
from embodied_iqa.quality.gate.fitting.frames import GateFrames
from embodied_iqa.quality.metrics.image_set import PairImages
from embodied_iqa.quality.metrics.metric import MetricContext
from embodied_iqa.suites.cell_manipulation.actions import position_bins
from embodied_iqa.suites.cell_manipulation.environment import Environment, Observation
from embodied_iqa.suites.cell_manipulation.episodes import Episode
from embodied_iqa.suites.cell_manipulation.planning.detecting import Detections, load_detector
from embodied_iqa.suites.cell_manipulation.planning.detection_error import NEAR_BINS

_FILE: Final = "images.json"
_MARK: Final = "|"
"""Between the name of an image and its distortion."""


_MOST_ACTIONS: Final = 4
"""Of the expert before the second image of an episode."""
_Row = tuple[str, str, str, bool, float, float, float]
"""A row of `GateFrames`."""


@dataclass(frozen=True, slots=True)
class WantedThing:
    """An object or area of an open goal.

    Attributes:
        name: Colour and kind, or the name of the area.
        position_m: Its true centre in the base frame.
    """

    name: str
    position_m: tuple[float, float, float]


@dataclass(frozen=True, slots=True)
class StoredImage:
    """A clean image of an episode.

    Attributes:
        name: Episode and number of actions before, such as ``base-007-2``.
        episode: Name of the episode, the exchangeable unit of a fit.
        things: What the plan of the open goals is about.
        intrinsics: Of the camera.
        pose: ``(4, 4)``, row by row: the camera's pose in the base frame.
    """

    name: str
    episode: str
    things: tuple[WantedThing, ...]
    intrinsics: Intrinsics
    pose: tuple[tuple[float, ...], ...]


@dataclass(frozen=True, slots=True)
class StoredImages:
    """The images of a folder."""

    images: tuple[StoredImage, ...]


def store_images(episodes: Sequence[Episode], folder: Path) -> StoredImages:
    """Write the first image of each episode, and one within the expert's plan.

    Args:
        episodes: The episodes; their names are unique.
        folder: Of the images and their list. A list that is there is read.

    Raises:
        InputError: The list is of other episodes, a file cannot be written, or another process draws them.
    """
    with JobFolder(folder, "drawing of images for a gate", resumes=False).locked():
        return _drawn(episodes, folder)


def _drawn(episodes: Sequence[Episode], folder: Path) -> StoredImages:
    if (folder / _FILE).is_file():
        stored = read_json(StoredImages, folder / _FILE, "the images of a gate")
        if {one.episode for one in stored.images} != {one.name for one in episodes}:
            raise InputError(f"{folder} holds images of other episodes", expected="another --out")
        return stored
    found: list[StoredImage] = []
    with Environment() as environment:
        for episode in track(episodes, "draw images", len(episodes)):
            observation = environment.reset(episode)
            found.append(_stored(environment, episode, observation, folder))
            later = _later(environment, 1 + episode.index % _MOST_ACTIONS)
            found += [] if later is None else [_stored(environment, episode, later, folder)]
    stored = StoredImages(tuple(found))
    write_record(stored, folder / _FILE)
    return stored


def _later(environment: Environment, actions: int) -> Observation | None:
    """Return the state after some actions of the expert; None where the episode is over."""
    observation = None
    for action in environment.expert_plan()[:actions]:
        result = environment.step(action)
        if result.done:
            return None
        observation = result.observation
    return observation


def _stored(environment: Environment, episode: Episode, seen: Observation, folder: Path) -> StoredImage:
    frame, name = seen.front, f"{episode.name}-{seen.step}"
    if frame is None:
        raise InputError("an environment without the front image")
    wanted = {step.about for step in environment.expert_steps()}
    things = tuple(WantedThing(one.name, one.position_m) for one in seen.objects if one.name in wanted)
    write_image(folder / f"{name}.png", frame.rgb)
    pose = tuple(tuple(row) for row in frame.needed_pose().tolist())
    return StoredImage(name, episode.name, things, frame.needed_intrinsics(), pose)


@dataclass(frozen=True, slots=True)
class PlannerImages:
    """Clean and distorted images by name, such as ``base-007-2`` and ``base-007-2|12:3``; an `ImageSet`.

    Attributes:
        folder: Of `store_images`.
    """

    folder: Path

    @property
    def name(self) -> str:
        """See `ImageSet`."""
        return "front images of cell-manipulation"

    def read(self, pair_ids: Sequence[str]) -> Iterator[PairImages]:
        """See `ImageSet`."""
        context = MetricContext(View.TOP)
        known: dict[str, NDArray[np.uint8]] = {}
        for pair in pair_ids:
            name, _, kind = pair.partition(_MARK)
            if name not in known:
                known = {name: read_image(self.folder / f"{name}.png")}
            clean = known[name]
            yield PairImages(pair, distorted(clean, name, kind), clean, context)

    def digest(self, pair_ids: Sequence[str]) -> str:
        """See `ImageSet`."""
        names = {pair.partition(_MARK)[0] for pair in pair_ids}
        files = {name: sha256_of(self.folder / f"{name}.png") for name in sorted(names)}
        return f"{files} {list(pair_ids)}"


def distorted(rgb: NDArray[np.uint8], name: str, kind: str) -> NDArray[np.uint8]:
    """Return an image with a distortion such as ``12:3``; without one as it is.

    Args:
        rgb: The clean image.
        name: Of the image; each has noise of its own.
        kind: Distortion and level, or nothing.
    """
    if not kind:
        return rgb
    stamp_ns = int.from_bytes(name.encode()[-7:], "big")
    return FrameDistorter(parse_distortion(kind)).apply(rgb, View.TOP, stamp_ns)


@dataclass(frozen=True, slots=True)
class LabelOptions:
    """How images are labelled.

    Attributes:
        detector: Name of the detector.
        distortions: Number of distortions of each image, at most 30.
        seed: Of their choice.
        workers: Processes that look for objects.
    """

    detector: str
    distortions: int
    seed: int = 0
    workers: int = 1


class PlannerSource:
    """A `FitSource`: what a planner that recognises by a detector loses on distorted images.

    Every image is shown clean, and with some distortions at one random level each. A thing of the open
    goals that the detector places in the clean image is lost if it is not recognised or if it is placed
    more than two bins away. A planner moves wrongly where everything is recognised and something misplaced.

    Args:
        folder: Of `store_images`.
        stored: Its list.
        options: Detector and mix.
    """

    def __init__(self, folder: Path, stored: StoredImages, options: LabelOptions) -> None:
        self._stored, self._options = stored, options
        self.images = PlannerImages(folder)

    @property
    def size_px(self) -> tuple[int, int]:
        """See `FitSource`."""
        camera = self._stored.images[0].intrinsics
        return camera.width_px, camera.height_px

    @property
    def record(self) -> Mapping[str, Any]:
        """See `FitSource`."""
        episodes = len({one.episode for one in self._stored.images})
        return {
            "episodes": episodes,
            "detector": self._options.detector,
            "distortions": self._options.distortions,
        }

    @property
    def conditions(self) -> str:
        """See `FitSource`."""
        return (
            f"scenes: episodes of cell-manipulation, at the beginning and within the expert's plan; mix: "
            f"{self._options.distortions} of the {len(catalogue())} distortions an image, one random level "
            "each, without clean frames"
        )

    def motions(self, predicted: object, rejected: object) -> None:
        """See `FitSource`: a planner reports no certainty, so that there is no second stage."""

    @cached_property
    def frames(self) -> GateFrames:
        """See `FitSource`."""
        rows = list[_Row]()
        for found in track(self._labelled(), "detect", len(self._stored.images)):
            rows += found
        columns: list[Any] = [np.array(column) for column in zip(*rows, strict=True)]
        return GateFrames(*columns)

    def _labelled(self) -> Iterator[list[_Row]]:
        """Return the rows of each image, in their order."""
        label = partial(_labels_of, self.images.folder, self._options.detector)
        jobs = [(one, self._kinds(one)) for one in self._stored.images]
        options = EngineOptions(workers=self._options.workers)
        return run_jobs([partial(label, *job) for job in jobs], options, in_order=True)

    def _kinds(self, stored: StoredImage) -> list[str]:
        rng = np.random.default_rng([self._options.seed, *stored.name.encode()])
        chosen = rng.permutation([line.id for line in catalogue()])[: self._options.distortions]
        return [f"{number}:{rng.choice(LEVELS)}" for number in chosen.tolist()]


def _labels_of(folder: Path, name: str, stored: StoredImage, kinds: Sequence[str]) -> list[_Row]:
    """Return the rows of an image and its distortions."""
    detector, rgb = load_detector(name), read_image(folder / f"{stored.name}.png")
    frame = Frame(View.TOP, 0, rgb, stored.intrinsics, np.array(stored.pose))
    clean = detector(frame)
    sure = [thing for thing in stored.things if off_bins(thing, clean) <= NEAR_BINS]
    rows: list[_Row] = [(stored.name, stored.episode, "", True, 0.0, 0.0, 0.0)]
    for kind in kinds:
        seen = detector(replace(frame, rgb=distorted(rgb, stored.name, kind)))
        loss, wrong = lost([off_bins(thing, seen) for thing in sure])
        rows.append(
            (f"{stored.name}{_MARK}{kind}", stored.episode, kind, False, loss, wrong, float(wrong > 0))
        )
    return rows


def off_bins(thing: WantedThing, seen: Detections) -> float:
    """Return how far a thing is recognised from its place, the larger of X and Y; infinite if it is not."""
    place = seen.place_of(thing.name)
    if place is None:
        return np.inf
    found, truth = position_bins((*place, 0.0)), position_bins(thing.position_m)
    return float(max(abs(found[0] - truth[0]), abs(found[1] - truth[1])))


def lost(off: Sequence[float]) -> tuple[float, float]:
    """Return the share of things that are lost, and of those that a planner misplaces; in [0, 1].

    Args:
        off: Distance of each thing in bins, see `off_bins`; a planner moves only if all are finite.
    """
    if not off:
        return 0.0, 0.0
    share = float(np.mean([one > NEAR_BINS for one in off]))
    return share, share if np.isfinite(off).all() else 0.0
