"""What a benchmark has to train and to measure, and its entries once that is done."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.base.errors import UsageError
from embodied_iqa.data.analysis.grid import PairTable, ScoreGrid
from embodied_iqa.quality.metrics.benchmark.benchmark_images import DatabaseImages
from embodied_iqa.quality.metrics.benchmark.benchmark_plan import BenchmarkPlan, Target, Unseen
from embodied_iqa.quality.metrics.benchmark.entries import Entry
from embodied_iqa.quality.metrics.benchmark.fold_training import Training, training_set
from embodied_iqa.quality.metrics.benchmark.folds import Fold, split_folds, unseen_folds
from embodied_iqa.quality.metrics.benchmark.resolving import described
from embodied_iqa.quality.metrics.benchmark.targets import TargetScores, target_scores
from embodied_iqa.quality.metrics.benchmark.values import Values, ValueStore, Want, blocks_of, finite_values
from embodied_iqa.quality.metrics.human.database import HumanDatabase
from embodied_iqa.quality.metrics.metric import MetricInfo, Needs

Array = NDArray[np.float64]
_WHOLE: Final = "whole"
"""Fold of a training on a whole human database."""


@dataclass(frozen=True, slots=True)
class Line:
    """A metric of the plan, with what it is trained on.

    Attributes:
        name: Of its rows.
        metric: Name; empty for a metric to train.
        recipe: Name of a metric to train; else empty.
        trained_on: Score or human database; else empty.
    """

    name: str
    metric: str = ""
    recipe: str = ""
    trained_on: str = ""


class BenchmarkWork:
    """The plan on a database.

    Args:
        path: The database.
        grid: Its scores.
        plan: The plan.
        human: Its human databases.
        out: Folder of the benchmark.

    Raises:
        UsageError: A metric is to be trained on something that is not there.
    """

    def __init__(
        self, path: Path, grid: ScoreGrid, plan: BenchmarkPlan, human: Sequence[HumanDatabase], out: Path
    ) -> None:
        self.pairs: PairTable = grid.pairs
        self.human = {one.name: one for one in human}
        self.images = DatabaseImages(path)
        self.targets = target_scores(grid, plan.targets)
        self.folds = split_folds(grid.pairs, plan.repeats)
        self._plan = plan
        self.out = out
        self._check_training()
        learned = [Target(name) for name in plan.train_on if name in set(Target)]
        self.learned = target_scores(grid, learned) if plan.recipes or plan.unseen else ()
        self.studies: Mapping[tuple[Unseen, Target], tuple[Fold, ...]] = {
            (study, scores.target): unseen_folds(study, grid.pairs, scores.subjects)
            for study in plan.unseen
            for scores in self.learned
        }

    @cached_property
    def lines(self) -> tuple[Line, ...]:
        """All metrics of the plan, trained ones once for each thing that they are trained on."""
        trained = [
            Line(f"{recipe} on {name}", recipe=recipe, trained_on=name)
            for recipe in self._plan.recipes
            for name in self._plan.train_on
        ]
        return (*(Line(name, metric=name) for name in self._plan.zero_shot), *trained)

    def trainings(self) -> Iterator[Training]:
        """Yield every training of the plan."""
        for line in self.lines:
            if line.trained_on in self.human:
                human = self.human[line.trained_on]
                samples = training_set(human, human.pair_ids, human.reference_ids, human.opinions)
                yield Training(line.recipe, _WHOLE, line.trained_on, samples)
            elif line.recipe:
                yield from self._trainings(line)

    def _trainings(self, line: Line) -> Iterator[Training]:
        scores = self._learned_by(line)
        for fold in self._folds_of(line):
            labels = np.where(fold.train, scores.opinion(fold.train_subjects), np.nan)
            samples = training_set(
                self.images, self.pairs.pair_ids, self.pairs.reference_ids, labels, self.pairs
            )
            yield Training(line.recipe, fold.name, line.trained_on, samples)

    @cached_property
    def wants(self) -> Mapping[Line, Mapping[str, Want]]:
        """The values that are needed by line and fold; all metrics must be trained."""
        names = (self.pairs.pair_ids.tolist(), self.pairs.reference_ids.tolist())
        whole = blocks_of(*names)
        found: dict[Line, dict[str, Want]] = {}
        trainings = {(one.recipe, one.trained_on, one.fold): one for one in self.trainings()}
        for line in self.lines:
            if line.recipe and line.trained_on not in self.human:
                found[line] = {
                    fold.name: _want(
                        trainings[line.recipe, line.trained_on, fold.name].metric(self.out),
                        f"{line.name} {fold.name}",
                        blocks_of(*names, fold.measured),
                    )
                    for fold in self._folds_of(line)
                }
            else:
                metric = line.metric or trainings[line.recipe, line.trained_on, _WHOLE].metric(self.out)
                found[line] = {"": _want(metric, line.name, whole)}
        return found

    def human_wants(self, human: HumanDatabase) -> dict[Line, Want]:
        """Return the values that are needed on a human database; of trained metrics those of split 0.

        Metrics that were trained on it are left out, and full-reference ones where it has no references.
        """
        blocks = blocks_of(human.pair_ids.tolist(), human.reference_ids.tolist())
        found = {}
        for line, wants in self.wants.items():
            want = _any(wants)
            fits = human.has_references or want.info.needs is Needs.NOTHING
            if fits and line.trained_on != human.name:
                found[line] = replace(want, key=line.name, blocks=blocks)
        return found

    def entries(self) -> tuple[Entry, ...]:
        """Return the metrics with their values; everything must be measured."""
        values, names = ValueStore(self.out, self.images), self.pairs.pair_ids.tolist()
        return tuple(
            self._entry(
                line,
                _any(wants).info,
                {fold: values.read(want, names) for fold, want in wants.items()},
            )
            for line, wants in self.wants.items()
        )

    def _entry(self, line: Line, info: MetricInfo, measured: Mapping[str, Values]) -> Entry:
        failures: dict[str, int] = {}
        for one in measured.values():
            for reason, count in one.failures.items():
                failures[reason] = failures.get(reason, 0) + count
        times = [one.milliseconds for one in measured.values()]
        values = {fold: finite_values(one.values, info.sign) for fold, one in measured.items()}
        return Entry(line.name, info, line.trained_on, float(np.median(times)), failures, values)

    def tested_on(self, learned: Target) -> tuple[TargetScores, ...]:
        """Return a learned score, and wrong motion beside a score of the same subjects."""
        own = next(scores for scores in self.learned if scores.target is learned)
        wrong = (scores for scores in self.targets if scores.target is Target.WRONG_MOTION)
        others = (scores for scores in wrong if scores.group is own.group and learned is not scores.target)
        return own, *others

    def _folds_of(self, line: Line) -> tuple[Fold, ...]:
        target = self._learned_by(line).target
        studies = [folds for (_, learned), folds in self.studies.items() if learned is target]
        return (*self.folds, *(fold for folds in studies for fold in folds))

    def _learned_by(self, line: Line) -> TargetScores:
        return next(scores for scores in self.learned if str(scores.target) == line.trained_on)

    def _check_training(self) -> None:
        available = {*map(str, Target), *self.human}
        unknown = [name for name in self._plan.train_on if name not in available]
        if unknown:
            raise UsageError("unknown score to train on", got=unknown[0], available=sorted(available))
        if self._plan.unseen and not set(self._plan.train_on) & set(map(str, Target)):
            raise UsageError("unseen studies need a score of the database to train on")


def _want(metric: str, key: str, blocks: Mapping[int, tuple[str, ...]]) -> Want:
    return Want(metric, *described(metric), key, blocks)


def _any(wants: Mapping[str, Want]) -> Want:
    """Return the first, of trained metrics that of split 0."""
    return next(iter(wants.values()))
