"""Labels of machine-vision quality: hand-computed cases, clean images, oracles, edge cases."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from coco_cases import all_images, instances
from embodied_iqa.base.errors import InputError
from embodied_iqa.models.vision.labels import agreement, machine_labels, model_weights, pseudo_truth, weighted
from embodied_iqa.models.vision.predictions import Classification, Instances, VisionTask

CLS, DET, INS = VisionTask.CLASSIFICATION, VisionTask.DETECTION, VisionTask.SEGMENTATION
CUBE = (2.0, 2.0, 12.0, 12.0)
BALL = (20.0, 5.0, 30.0, 25.0)
NOTHING = instances([])


def one(*rows: tuple[str, float, tuple[float, float, float, float]]) -> Instances:
    """Return instances of (label, score, box)."""
    return instances([(*row, False) for row in rows])


def test_three_images_by_hand() -> None:
    """Two classifiers of performance .6 and .9 on three distorted images of a red cube."""
    truth = Classification("cube")
    clean = [Classification("cube", 0.8), Classification("ball", 0.7)]
    predicted = [["cube", "ball"], ["ball", "ball"], ["ball", "cube"]]
    tables = [
        [
            [agreement(Classification(label, 0.5), one, CLS) for label, one in zip(row, them, strict=True)]
            for row in predicted
        ]
        for them in ([pseudo_truth(given, CLS) for given in clean], [truth, truth])
    ]
    labels = machine_labels(np.array(tables[0]), np.array(tables[1]), [0.6, 0.9])
    assert labels.weighted_consistency.tolist() == pytest.approx([1.0, 0.6, 0.0])
    assert labels.weighted_accuracy.tolist() == pytest.approx([0.4, 0.0, 0.6])
    assert labels.composite.tolist() == pytest.approx([0.7, 0.3, 0.3])
    assert labels.mean_consistency.tolist() == [1.0, 0.5, 0.0]
    assert labels.std_consistency.tolist() == [0.0, 0.5, 0.0]
    assert labels.mean_accuracy.tolist() == [0.5, 0.0, 0.5]
    assert labels.std_accuracy.tolist() == [0.5, 0.0, 0.5]


def test_a_constant_model_is_consistent_and_mostly_wrong() -> None:
    """Its consistency is 1 on every image; its accuracy is the share of its class."""
    same = Classification("cube")
    truths = [Classification(label) for label in ("cube", "ball", "cup", "cube")]
    assert {agreement(same, pseudo_truth(same, CLS), CLS) for _ in truths} == {1.0}
    assert [agreement(same, truth, CLS) for truth in truths] == [1.0, 0.0, 0.0, 1.0]


@pytest.mark.parametrize("task", [DET, INS])
@pytest.mark.parametrize("threshold", [0.0, 0.3, 0.9, 1.0])
def test_the_clean_image_is_exactly_consistent(task: VisionTask, threshold: float) -> None:
    """Whatever a model predicts: nothing, nothing certain, empty boxes, doubles, over 100 of a class."""
    for case in all_images():
        clean = replace(case.predicted, crowd=None)
        assert agreement(clean, pseudo_truth(clean, task, threshold), task, threshold) == 1.0


@pytest.mark.parametrize("task", [DET, INS])
def test_an_oracle_is_exactly_accurate(task: VisionTask) -> None:
    """It predicts the truth, and nothing in crowd regions."""
    for case in all_images():
        crowd = case.truth.crowd
        assert crowd is not None
        kept = [i for i in range(len(case.truth)) if not crowd[i]]
        truth = case.truth
        assert truth.masks is not None
        if not truth.masks[kept].any(axis=(1, 2)).all():
            continue  # too thin an object for a mask
        oracle = Instances(
            tuple(truth.labels[i] for i in kept), truth.scores[kept], truth.boxes_px[kept], truth.masks[kept]
        )
        assert agreement(oracle, truth, task) == 1.0


def test_uncertain_predictions_are_no_pseudo_truth() -> None:
    """A prediction at the threshold is."""
    clean = one(("cube", 0.3, CUBE), ("ball", 0.29, BALL))
    kept = pseudo_truth(clean, DET)
    assert isinstance(kept, Instances)
    assert kept.labels == ("cube",)
    assert agreement(one(("cube", 0.01, CUBE)), kept, DET) == 1.0


def test_without_a_reference_only_certain_predictions_are_wrong() -> None:
    """A detector that is sure of nothing agrees with an empty image."""
    assert agreement(one(("cube", 0.2, CUBE)), NOTHING, DET) == 1.0
    assert agreement(one(("cube", 0.4, CUBE)), NOTHING, DET) == 0.0
    assert agreement(one(("cube", 0.4, CUBE)), NOTHING, DET, threshold=0.5) == 1.0


def test_segmenters_are_compared_by_masks() -> None:
    """Equal boxes with other masks do not agree."""
    truth = one(("cube", 1.0, CUBE))
    assert truth.masks is not None
    other = replace(truth, masks=~truth.masks)
    assert agreement(other, truth, DET) == 1.0
    assert agreement(other, truth, INS) == 0.0


def test_predictions_of_two_tasks_are_refused() -> None:
    """In one line."""
    with pytest.raises(InputError, match="expected Instances; got 'Classification'"):
        agreement(Classification("cube"), NOTHING, DET)


def test_weights_are_shares() -> None:
    """Of the performance; a model of performance 0 does not count."""
    assert model_weights([0.2, 0.6, 0.0]).tolist() == pytest.approx([0.25, 0.75, 0.0])


@pytest.mark.parametrize("performance", [[], [0.0, 0.0], [0.5, -0.1], [float("nan"), 0.5], [1.5]])
def test_performances_without_weights(performance: list[float]) -> None:
    """Are refused."""
    with pytest.raises(InputError, match="give no weights"):
        model_weights(performance)


@pytest.mark.parametrize("models", range(1, 40))
def test_full_agreement_is_exactly_one(models: int) -> None:
    """Whatever the weights are."""
    weights = model_weights(np.random.default_rng(models).random(models).tolist())
    assert weighted(np.ones((3, models)), weights).tolist() == [1.0] * 3
    assert weighted(np.asfortranarray(np.ones((3, models))), weights).tolist() == [1.0] * 3
