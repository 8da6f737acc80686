"""Training of metrics, one for each fold: jobs that are done once."""

from __future__ import annotations

import multiprocessing
import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, redirect_stderr
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.base.errors import InputError
from embodied_iqa.base.files import write_json_whole
from embodied_iqa.base.jobs.engine import BlockReport, Job
from embodied_iqa.base.jobs.plan import digest_of
from embodied_iqa.base.records import read_json
from embodied_iqa.data.analysis.grid import PairTable, pair_kinds
from embodied_iqa.models.subjects.constants_files import file_stem
from embodied_iqa.quality.metrics.benchmark.resolving import trainable_of
from embodied_iqa.quality.metrics.image_set import ImageSet
from embodied_iqa.quality.metrics.trainable import TrainingSet

Array = NDArray[np.float64]
_SEED: Final = 0
_DONE: Final = "trained.json"
_METRIC: Final = "metric"
_HERE: Final = "{folder}"
"""In names of trained metrics, the folder of the metric: a benchmark can be moved."""


@dataclass(frozen=True, slots=True)
class Trained:
    """Record of a finished training.

    Attributes:
        digest: Hash of everything that it depends on.
        metric: Name of the metric, with `_HERE` for its folder.
    """

    digest: str
    metric: str


@dataclass(frozen=True, slots=True)
class Training:
    """A training of the benchmark.

    Attributes:
        recipe: Name of the metric to train.
        fold: Name of the fold.
        trained_on: Name of the score.
        samples: What it learns from.
    """

    recipe: str
    fold: str
    trained_on: str
    samples: TrainingSet

    def folder(self, benchmark: Path) -> Path:
        """Return where the metric is kept."""
        name = f"{file_stem(self.recipe)}-on-{file_stem(self.trained_on)}"
        return benchmark / "models" / name / self.fold

    def digest(self) -> str:
        """Return the hash of recipe, images and labels."""
        recipe = trainable_of(self.recipe)
        own = self.samples
        labels = [round(label, 9) for label in own.labels.tolist()]
        return digest_of(
            "training",
            recipe.name,
            recipe.version,
            _SEED,
            own.images.digest(own.pair_ids),
            labels,
            own.kinds,
        )

    def metric(self, benchmark: Path) -> str:
        """Return the name of the trained metric.

        Raises:
            InputError: It is not trained.
        """
        folder = self.folder(benchmark)
        found = read_json(Trained, folder / _DONE, "the training").metric
        return found.replace(_HERE, str(folder / _METRIC))


def training_set(
    images: ImageSet,
    pair_ids: NDArray[np.str_],
    reference_ids: NDArray[np.str_],
    labels: Array,
    pairs: PairTable | None = None,
) -> TrainingSet:
    """Return the rows with a finite label as a training set; `pairs` of a database give their kinds.

    Raises:
        InputError: There is none.
    """
    chosen = np.isfinite(labels)
    if not chosen.any():
        raise InputError("nothing to train on", expected="pairs with a score among the training references")
    names, owners = tuple(pair_ids[chosen].tolist()), tuple(reference_ids[chosen].tolist())
    kinds = () if pairs is None else pair_kinds(pairs, chosen)
    return TrainingSet(images, names, owners, labels[chosen], kinds)


def training_jobs(benchmark: Path, trainings: Sequence[Training]) -> list[Job]:
    """Return a job for each training that is not done."""
    jobs: list[Job] = []
    for number, training in enumerate(trainings):
        file = training.folder(benchmark) / _DONE
        digest = training.digest()
        if not file.is_file() or read_json(Trained, file, "the training").digest != digest:
            jobs.append(partial(_train, benchmark, number, training, digest))
    return jobs


def _train(benchmark: Path, number: int, training: Training, digest: str) -> BlockReport:
    started = time.perf_counter()
    folder = training.folder(benchmark)
    with _quiet():
        metric = trainable_of(training.recipe).train(training.samples, folder / _METRIC, _SEED)
    name = metric.replace(str(folder / _METRIC), _HERE)
    write_json_whole(folder / _DONE, {"digest": digest, "metric": name})
    return BlockReport(number, len(training.samples.pair_ids), busy_s=time.perf_counter() - started)


@contextmanager
def _quiet() -> Iterator[None]:
    """Hide the progress of a worker process: several of them would write over each other."""
    if multiprocessing.parent_process() is None:
        yield
        return
    with Path(os.devnull).open("w", encoding="utf-8") as nowhere, redirect_stderr(nowhere):
        yield
