"""What the chapters of a benchmark's report share: short names, lookup of rows, axes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from embodied_iqa.pages.reports.kit.formatting import plural
from embodied_iqa.quality.metrics.benchmark.benchmark_plan import Target
from embodied_iqa.quality.metrics.benchmark.benchmark_results import BenchmarkResults, ScoreRow
from embodied_iqa.quality.metrics.benchmark.benchmark_statistics import FEWEST_PAIRS

SRCC_RANGE: Final = (0.0, 1.0)

Key = tuple[Target, str, str, str]


def by_key(results: BenchmarkResults) -> Mapping[Key, ScoreRow]:
    """Return the rows by score, property, value and metric."""
    return {(row.target, row.by, row.value, row.metric): row for row in results.scores}


def targets_of(results: BenchmarkResults) -> tuple[Target, ...]:
    """Return the scores of a benchmark, in order."""
    return tuple(dict.fromkeys(row.target for row in results.scores))


def whole_scores(results: BenchmarkResults) -> tuple[Target, ...]:
    """Return the scores that are no parts of another one; all if there is none."""
    found = targets_of(results)
    whole = (Target.DECISION, Target.WRONG_MOTION, Target.COGNITION)
    return tuple(target for target in whole if target in found) or found


def splits_in_words(results: BenchmarkResults, target: Target) -> str:
    """Return how many splits the means of a score are of, and why the others have no part in them."""
    of_metrics = [row.splits for row in results.scores if row.target is target and row.by == "all"]
    used = max(of_metrics, default=0)
    missing, whole = results.repeats - used, plural(results.repeats, "split")
    if not missing:
        return whole
    verb = "holds" if missing == 1 else "hold"
    reason = f"{missing} {verb} out fewer than {FEWEST_PAIRS} pairs with a score, or equal ones"
    return f"{used} of {whole} ({reason})"
