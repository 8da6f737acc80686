"""Measures the inputs of a training set, in several processes, into a file that may exceed the memory.

Trainings that run at the same time need nearly the same inputs. Each begins at another place of its list, and
asks the cache again before each job, so that together they measure each image about once.
"""

from __future__ import annotations

import json
import os
import random
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from hashlib import sha256
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any, Final, Protocol, Self

import numpy as np
from numpy.lib.format import open_memmap
from numpy.typing import NDArray

from embodied_iqa.base.errors import InputError
from embodied_iqa.base.files import write_json_whole
from embodied_iqa.base.jobs.engine import EngineOptions, run_jobs
from embodied_iqa.base.progress import ProgressBars
from embodied_iqa.imaging.images.frame import View
from embodied_iqa.quality.metrics.image_set import ImageSet
from embodied_iqa.quality.metrics.metric import Image, MetricContext
from embodied_iqa.quality.metrics.training.cache import InputCache
from embodied_iqa.world.scenes.dimensions import CELL_VIEWS

_VALUES, _VIEWS, _RECORD = "values.npy", "views.npy", "record.json"
_MISSING: Final = -1
"""Camera of a row that is not measured yet."""


class InputStore:
    """Rows of measured inputs; those that an interrupted process wrote are kept.

    Attributes:
        values: ``(N, ...)`` mapped into memory, writable.
        views: ``(N,)`` int64; a row counts as measured once its camera is written, after its values.
    """

    def __init__(self, values: NDArray[Any], views: NDArray[np.int64]) -> None:
        self.values, self.views = values, views

    @classmethod
    def opened(cls, folder: Path, digest: str, shape: Sequence[int], dtype: np.dtype[Any]) -> Self:
        """Open a store, or begin a new one where the folder holds other inputs or none.

        Args:
            folder: Of the files.
            digest: Of everything that the rows depend on, and of their order.
            shape: Of all rows, such as ``(N, H, W, 3)``.
            dtype: Of a number.

        Raises:
            InputError: The folder cannot be written, or holds something else.
        """
        files = (_RECORD, _VALUES, _VIEWS)
        other = [item.name for item in folder.iterdir() if item.name not in files] if folder.is_dir() else []
        if other:
            raise InputError(f"{folder} holds no measured inputs", expected="a new folder", got=other[0])
        record = {"digest": digest, "shape": list(shape), "dtype": dtype.str}
        try:
            if _recorded(folder) != record:
                shutil.rmtree(folder, ignore_errors=True)
                folder.mkdir(parents=True)
                open_memmap(folder / _VALUES, "w+", dtype, tuple(shape)).flush()
                _reserve(folder / _VALUES)
                np.save(folder / _VIEWS, np.full(shape[0], _MISSING, np.int64))
                write_json_whole(folder / _RECORD, record)
            return cls(open_memmap(folder / _VALUES, "r+"), open_memmap(folder / _VIEWS, "r+"))
        except (OSError, ValueError) as error:
            raise InputError(
                f"cannot keep inputs in {folder}: {error}", expected="space there, or delete the folder"
            ) from error

    def write(self, row: int, flat: NDArray[Any]) -> None:
        """Write a measured row: the camera, then its values."""
        self.values[row] = flat[1:].reshape(self.values.shape[1:])
        self.views[row] = flat[0]

    def missing(self) -> NDArray[np.int64]:
        """Return the rows that are not measured."""
        return np.flatnonzero(self.views == _MISSING)


def _reserve(file: Path) -> None:
    """Reserve the space: writing to a mapped file on a full disk would end the process."""
    with file.open("r+b") as opened:
        os.posix_fallocate(opened.fileno(), 0, file.stat().st_size)


def _recorded(folder: Path) -> object:
    try:
        return json.loads((folder / _RECORD).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None


_GROUP: Final = 60
"""Pairs of a job, about; those of one reference stay together."""
_FEWEST_JOBS: Final = 20
"""Of a small set, whose progress shows otherwise only after most of the work."""
_ROWS_AT_ONCE: Final = 1000
"""Of the cache, in memory."""


class Measurable(Protocol):
    """What can be measured of an image, such as a `NetworkInput`. Can be pickled."""

    @property
    def size_px(self) -> tuple[int, int]:
        """Width and height of a measured image; does not matter for vectors."""
        ...

    def version(self) -> str:
        """Return text that changes whenever a number can change."""
        ...

    def measure(
        self, distorted: Image, reference: Image | None = None, context: MetricContext | None = None
    ) -> NDArray[Any]:
        """Return ``(D,)`` numbers, or ``(H, W, 3)`` uint8.

        Raises:
            InputError: Not an image, too small, or a reference is missing.
        """
        ...


@dataclass(frozen=True, slots=True)
class MeasuredInputs:
    """Inputs of pairs, in the order of the request.

    Attributes:
        values: ``(N, D)`` float32, or ``(N, H, W, 3)`` uint8; of a store mapped into memory.
        views: ``(N,)`` int64, index in `CELL_VIEWS`; their number for any other camera.
    """

    values: NDArray[Any]
    views: NDArray[np.int64]


def measure_inputs(
    images: ImageSet,
    pair_ids: Sequence[str],
    reference_ids: Sequence[str],
    wanted: Measurable,
    cache: InputCache,
    *,
    workers: int = 1,
    title: str = "measure",
    store: Path | None = None,
) -> MeasuredInputs:
    """Return the inputs of pairs; those that the cache lacks are measured and stored.

    Args:
        images: Where the images come from.
        pair_ids: ``(N,)``; pairs of one reference are neighbours.
        reference_ids: ``(N,)``.
        wanted: What is measured.
        cache: Of earlier measurements.
        workers: Number of processes; 1 for this one.
        title: Of the progress bar.
        store: Folder for the values of images, which are then mapped into memory; not for vectors. A
            folder of an interrupted call with the same pairs is continued. The caller removes it.

    Raises:
        InputError: An image is missing or damaged, or too small, or the store cannot be written.
    """
    work = _Work(images, wanted, cache, _keys(images, pair_ids, wanted), workers, title)
    pairs = list(zip(reference_ids, pair_ids, strict=True))
    if store is not None:
        return work.stored(pairs, store)
    known = cache.get(list(work.keys.values()))
    known.update(work.measured([item for item in pairs if work.keys[item[1]] not in known]))
    return _unpacked([known[work.keys[pair]] for pair in pair_ids], wanted)


def _keys(images: ImageSet, pair_ids: Sequence[str], wanted: Measurable) -> dict[str, str]:
    version = wanted.version()
    return {pair: sha256(f"{version} {images.digest([pair])}".encode()).hexdigest() for pair in pair_ids}


@dataclass(frozen=True, slots=True)
class _Work:
    """What is measured, and how; `keys` are those of the cache by pair."""

    images: ImageSet
    wanted: Measurable
    cache: InputCache
    keys: Mapping[str, str]
    workers: int
    title: str

    def measured(self, pairs: Sequence[tuple[str, str]]) -> Iterator[tuple[str, NDArray[Any]]]:
        """Measure pairs (reference, pair); yield each by its key, flat, with the camera in front."""
        groups = [[pair for _, pair in group] for _, group in groupby(pairs, itemgetter(0))]
        jobs = _together(groups, min(_GROUP, len(pairs) // _FEWEST_JOBS))
        first = random.SystemRandom().randrange(len(jobs)) if jobs else 0
        with ProgressBars() as bars:
            done = 0
            if pairs:  # shown before the first job ends
                bars.update(self.title, done, len(pairs))
            for found in self._all([*jobs[first:], *jobs[:first]]):
                yield from found.items()
                done += len(found)
                bars.update(self.title, done, len(pairs))

    def job(self, pair_ids: Sequence[str]) -> dict[str, NDArray[Any]]:
        """Return the inputs of some pairs, flat, by key; what is not in the cache by now is measured."""
        known = self.cache.get([self.keys[pair] for pair in pair_ids])
        missing = [pair for pair in pair_ids if self.keys[pair] not in known]
        fresh = {
            self.keys[pair.pair_id]: _with_view(
                self.wanted.measure(pair.distorted, pair.reference, pair.context), pair.context.view
            )
            for pair in (self.images.read(missing) if missing else ())
        }
        self.cache.put(fresh.items())
        return known | fresh

    def _all(self, jobs: Sequence[list[str]]) -> Iterator[dict[str, NDArray[Any]]]:
        own = (replace(self, keys={pair: self.keys[pair] for pair in job}) for job in jobs)
        calls = (partial(work.job, job) for work, job in zip(own, jobs, strict=True))
        return run_jobs(calls, EngineOptions(workers=max(1, min(self.workers, len(jobs)))))

    def stored(self, pairs: Sequence[tuple[str, str]], folder: Path) -> MeasuredInputs:
        """Return images in a store; only some are in memory at a time."""
        keys = [self.keys[pair] for _, pair in pairs]
        (width, height), places = self.wanted.size_px, {key: row for row, key in enumerate(keys)}
        digest = sha256(" ".join(keys).encode()).hexdigest()
        store = InputStore.opened(folder, digest, (len(pairs), height, width, 3), np.dtype(np.uint8))
        missing = store.missing()
        for rows in np.array_split(missing, len(missing) // _ROWS_AT_ONCE + 1):
            for key, flat in self.cache.get([keys[row] for row in rows]).items():
                store.write(places[key], flat)
        missing = store.missing()
        for key, flat in self.measured([pairs[row] for row in missing]):
            store.write(places[key], flat)
        return MeasuredInputs(store.values, np.array(store.views))


def _together(groups: Sequence[list[str]], most: int) -> list[list[str]]:
    """Join groups of pairs to jobs of about ``most`` pairs."""
    jobs: list[list[str]] = []
    for group in groups:
        if not jobs or len(jobs[-1]) >= most:
            jobs.append([])
        jobs[-1].extend(group)
    return jobs


def _with_view(values: NDArray[Any], view: View | None) -> NDArray[Any]:
    """Return the input flat, with the camera in front."""
    number = CELL_VIEWS.index(view) if view in CELL_VIEWS else len(CELL_VIEWS)
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
