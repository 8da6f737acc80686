"""Measures the inputs of a training set, in several processes, through the cache."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass
from hashlib import sha256
from itertools import groupby
from typing import Any, Final, Protocol

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.images.frame import View
from embodied_iqa.metrics.metric import MetricContext, Picture
from embodied_iqa.metrics.picture_set import PictureSet
from embodied_iqa.metrics.training.cache import InputCache
from embodied_iqa.progress import ProgressBars
from embodied_iqa.workers import Workers, result_of

Measured = list[tuple[str, NDArray[Any], View | None]]
_GROUP: Final = 60
"""Pairs of a job, about; those of one reference stay together."""
_AHEAD: Final = 4
"""Jobs that wait for each worker."""
_VIEWS: Final = tuple(View)


class Measurable(Protocol):
    """What can be measured of a picture, such as a `NetworkInput`. Can be pickled."""

    @property
    def size_px(self) -> tuple[int, int]:
        """Width and height of a measured picture; does not matter for vectors."""
        ...

    def version(self) -> str:
        """Return text that changes whenever a number can change."""
        ...

    def measure(
        self, distorted: Picture, reference: Picture | None = None, context: MetricContext | None = None
    ) -> NDArray[Any]:
        """Return ``(D,)`` numbers, or ``(H, W, 3)`` uint8.

        Raises:
            InputError: Not a picture, too small, or a reference is missing.
        """
        ...


@dataclass(frozen=True, slots=True)
class MeasuredInputs:
    """Inputs of pairs, in the order of the request.

    Attributes:
        values: ``(N, D)`` float32, or ``(N, H, W, 3)`` uint8.
        views: ``(N,)`` int64, index in `View`; ``len(View)`` where the camera is not known.
    """

    values: NDArray[Any]
    views: NDArray[np.int64]


def measure_inputs(
    pictures: PictureSet,
    pair_ids: Sequence[str],
    reference_ids: Sequence[str],
    wanted: Measurable,
    cache: InputCache,
    *,
    workers: int = 1,
    title: str = "measure",
) -> MeasuredInputs:
    """Return the inputs of pairs; those that the cache lacks are measured and stored.

    Args:
        pictures: Where the pictures come from.
        pair_ids: ``(N,)``; pairs of one reference are neighbours.
        reference_ids: ``(N,)``.
        wanted: What is measured.
        cache: Of earlier measurements.
        workers: Number of processes; 1 for this one.
        title: Of the progress bar.

    Raises:
        InputError: A picture is missing or damaged, or too small.
    """
    version = wanted.version()
    keys = {pair: sha256(f"{version} {pictures.digest([pair])}".encode()).hexdigest() for pair in pair_ids}
    known = cache.get(list(keys.values()))
    missing = [
        [pair for _, pair in group]
        for _, group in groupby(
            (item for item in zip(reference_ids, pair_ids, strict=True) if keys[item[1]] not in known),
            lambda item: item[0],
        )
    ]
    jobs = _together(missing)
    with ProgressBars() as bars:
        done, total = 0, sum(map(len, missing))
        for measured in _all(pictures, wanted, jobs, workers):
            stored = [(keys[pair], _with_view(values, view)) for pair, values, view in measured]
            cache.put(stored)
            known.update(stored)
            done += len(measured)
            bars.update(title, done, total)
    flat = [known[keys[pair]] for pair in pair_ids]
    return _unpacked(flat, wanted)


def _together(groups: Sequence[list[str]]) -> list[list[str]]:
    """Join groups of pairs to jobs."""
    jobs: list[list[str]] = []
    for group in groups:
        if not jobs or len(jobs[-1]) >= _GROUP:
            jobs.append([])
        jobs[-1].extend(group)
    return jobs


def _all(
    pictures: PictureSet, wanted: Measurable, jobs: Sequence[list[str]], workers: int
) -> Iterator[Measured]:
    if workers <= 1 or len(jobs) <= 1:
        yield from (_measure(pictures, wanted, job) for job in jobs)
        return
    waiting, running = iter(jobs), set[Future[Measured]]()
    with Workers(min(workers, len(jobs))) as pool:
        while True:
            while len(running) < workers * _AHEAD and (job := next(waiting, None)) is not None:
                running.add(pool.submit(_measure, pictures, wanted, job))
            if not running:
                return
            finished, running = wait(running, return_when=FIRST_COMPLETED)
            yield from map(result_of, finished)


def _measure(pictures: PictureSet, wanted: Measurable, pair_ids: Sequence[str]) -> Measured:
    return [
        (pair.pair_id, wanted.measure(pair.distorted, pair.reference, pair.context), pair.context.view)
        for pair in pictures.read(pair_ids)
    ]


def _with_view(values: NDArray[Any], view: View | None) -> NDArray[Any]:
    """Return the input flat, with the camera in front."""
    number = _VIEWS.index(view) if view is not None else len(_VIEWS)
    return np.concatenate([np.array([number], values.dtype), values.ravel()])


def _unpacked(flat: Sequence[NDArray[Any]], wanted: Measurable) -> MeasuredInputs:
    dtype, size = (flat[0].dtype, len(flat[0]) - 1) if flat else (np.dtype(np.float32), 0)
    values = np.empty((len(flat), size), dtype)
    for row, item in zip(values, flat, strict=True):
        row[:] = item[1:]
    views = np.array([item[0] for item in flat], np.int64)
    if dtype == np.uint8:
        width, height = wanted.size_px
        values = values.reshape(-1, height, width, 3)
    return MeasuredInputs(values, views)
