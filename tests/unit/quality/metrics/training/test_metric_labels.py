"""Labels of a database: what is learned, refusal and wrong motion apart, and the split by reference."""

from __future__ import annotations

import numpy as np
import pytest

from database_grids import grid
from embodied_iqa.base.errors import InputError, UsageError
from embodied_iqa.data.analysis.grid import LOSSES, Group, ScoreGrid
from embodied_iqa.data.analysis.opinion import mean_opinion
from embodied_iqa.data.database.splits import training_references
from embodied_iqa.quality.metrics.image_set import PairImages
from embodied_iqa.quality.metrics.metric import MetricContext
from embodied_iqa.quality.metrics.training.labels import metric_labels, split_samples, target_labels


class NoImages:
    """A set of images that are never read."""

    name = "none"


def lossy_grid() -> ScoreGrid:
    scores = grid(10)
    decisions = scores.groups[Group.DECISION]
    rng = np.random.default_rng(0)
    decisions.losses.update({name: rng.uniform(0, 2, decisions.total.shape) for name in LOSSES})  # type: ignore[attr-defined]
    return scores


def test_targets_are_the_mean_opinions_and_what_was_not_lost() -> None:
    scores = lossy_grid()
    decisions = scores.groups[Group.DECISION]
    np.testing.assert_array_equal(target_labels(scores, "decision"), mean_opinion(decisions.total).raw)
    np.testing.assert_array_equal(
        target_labels(scores, "rotation"), mean_opinion(decisions.parts["rotation"]).raw
    )
    lost = decisions.losses["wrong_motion_loss"].mean(axis=1)
    np.testing.assert_allclose(target_labels(scores, "wrong-motion"), 5 - lost)
    np.testing.assert_allclose(target_labels(scores, "refusal"), 5 - decisions.losses["refused"].mean(axis=1))
    with pytest.raises(
        UsageError, match=r"no such scores; got .miqa.; available: .*wrong-motion.*metric:NAME"
    ):
        target_labels(scores, "miqa")


def test_the_split_is_that_of_the_benchmark_and_pairs_without_label_are_left_out() -> None:
    pairs = grid(10).pairs
    labels = np.arange(len(pairs), dtype=float)
    labels[3] = np.nan
    samples = split_samples(NoImages(), pairs, labels, 4)  # type: ignore[arg-type]
    chosen = training_references(pairs.reference_ids.tolist(), 4)
    assert set(samples.training.reference_ids) == chosen
    assert set(samples.held_out.reference_ids) == set(pairs.reference_ids.tolist()) - chosen
    assert len(samples.training.pair_ids) + len(samples.held_out.pair_ids) == len(pairs) - 1
    place = {name: at for at, name in enumerate(pairs.pair_ids.tolist())}
    assert [place[name] for name in samples.held_out.pair_ids] == samples.held_out.labels.tolist()
    at = place[samples.training.pair_ids[0]]
    assert samples.training.kinds[0] == f"{pairs.distortion_ids[at]}:{pairs.levels[at]}"
    with pytest.raises(UsageError, match="no such split"):
        split_samples(NoImages(), pairs, labels, 10)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="no pair has a label"):
        split_samples(NoImages(), pairs, np.full(len(pairs), np.nan), 0)  # type: ignore[arg-type]


def test_a_metric_gives_labels_in_its_better_direction() -> None:
    class Grays:
        name = "grays"

        def read(self, pair_ids: list[str]) -> list[PairImages]:
            clean = np.full((16, 16, 3), 100, np.uint8)
            return [PairImages(name, clean + np.uint8(name), clean, MetricContext()) for name in pair_ids]

    psnr = metric_labels(Grays(), ["1", "4", "0"], "psnr")  # type: ignore[arg-type]
    assert psnr[0] > psnr[1]
    assert np.isnan(psnr[2])  # infinite
    assert np.all(np.diff(metric_labels(Grays(), ["1", "4", "9"], "gmsd")) <= 0)  # type: ignore[arg-type]
