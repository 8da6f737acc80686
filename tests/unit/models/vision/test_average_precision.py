"""Average precision equals that of pycocotools; its edge cases; matching as COCOeval's."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coco_cases import IMAGES, Case, all_images, all_sets, instances
from embodied_iqa.base.errors import InputError
from embodied_iqa.models.vision.average_precision import average_precision, dataset_average_precision
from embodied_iqa.models.vision.predictions import Instances

ANSWERS = json.loads((Path(__file__).parent / "coco_average_precision.json").read_text())
NOTHING = instances([])
CUBE = (2.0, 2.0, 12.0, 12.0)
BALL = (20.0, 5.0, 30.0, 25.0)


def one(*rows: tuple[str, float, tuple[float, float, float, float]]) -> Instances:
    """Return instances of (label, score, box)."""
    return instances([(*row, False) for row in rows])


def both(predicted: Instances, truth: Instances) -> set[float]:
    """Return the precisions of boxes and of masks."""
    return {average_precision(predicted, truth, masks=masks) for masks in (False, True)}


@pytest.mark.parametrize("masks", [False, True])
def test_images_equal_pycocotools(masks: bool) -> None:
    """Random and adversarial images: ties, doubles, crowd regions, empty boxes, over 100 predictions."""
    compared = 0
    for case, answers in zip(all_images(), ANSWERS["images"], strict=True):
        if answers[masks] >= 0:
            assert average_precision(case.predicted, case.truth, masks=masks) == pytest.approx(
                answers[masks], abs=1e-9
            )
            compared += 0 < answers[masks] < 1
    assert compared > 100


@pytest.mark.parametrize("masks", [False, True])
def test_sets_of_images_equal_pycocotools(masks: bool) -> None:
    """Predictions of several images are ranked together."""
    for cases, answers in zip(all_sets(), ANSWERS["sets"], strict=True):
        found, truth = [case.predicted for case in cases], [case.truth for case in cases]
        precision = dataset_average_precision(found, truth, masks=masks)
        assert precision == pytest.approx(answers[masks], abs=1e-9)


def test_nothing_there() -> None:
    """Without truth, predicting nothing is right and anything else is wrong."""
    assert both(NOTHING, NOTHING) == {1.0}
    assert both(one(("cube", 0.1, CUBE)), NOTHING) == {0.0}


def test_nothing_predicted() -> None:
    """Nothing is found."""
    assert both(NOTHING, one(("cube", 1.0, CUBE))) == {0.0}


def test_the_truth_itself_is_exactly_one() -> None:
    """Not 1 - 2e-16: labels of clean images are exactly 1."""
    truth = one(("cube", 1.0, CUBE), ("ball", 1.0, BALL), ("cube", 1.0, BALL))
    assert both(truth, truth) == {1.0}


def test_a_class_that_is_not_there_does_not_count() -> None:
    """As in COCO, precision is the mean over classes with an object in the truth."""
    truth = one(("cube", 1.0, CUBE))
    assert both(one(("cube", 0.5, CUBE), ("cup", 0.9, BALL)), truth) == {1.0}


def test_the_same_box_with_another_class_finds_nothing() -> None:
    """Matches are within a class."""
    assert both(one(("ball", 0.9, CUBE)), one(("cube", 1.0, CUBE))) == {0.0}


def test_equal_scores_count_in_the_given_order() -> None:
    """A right prediction first is worth 1, behind a wrong one of equal score one half."""
    truth = one(("cube", 1.0, CUBE))
    right, wrong = ("cube", 0.5, CUBE), ("cube", 0.5, BALL)
    assert both(one(right, wrong), truth) == {1.0}
    assert both(one(wrong, right), truth) == {0.5}


def test_an_object_is_found_once() -> None:
    """The second prediction of an object is wrong: recall 1/2 at precision 1, the rest at 2/4."""
    truth = one(("cube", 1.0, CUBE), ("cube", 1.0, BALL))
    twice, late = ("cube", 0.8, CUBE), ("cube", 0.7, BALL)
    assert both(one(("cube", 0.9, CUBE), twice, twice, late), truth) == {(51 + 50 / 2) / 101}


def test_predictions_in_a_crowd_count_neither_way() -> None:
    """They are not wrong; a crowd region need not be found."""
    truth = instances([("cube", 1.0, CUBE, False), ("cube", 1.0, BALL, True)])
    inside = ("cube", 0.9, (21.0, 10.0, 29.0, 20.0))
    assert both(one(inside, ("cube", 0.8, CUBE)), truth) == {1.0}


def test_only_crowd() -> None:
    """A region that counts neither way is like nothing there."""
    truth = instances([("cube", 1.0, BALL, True)])
    assert both(NOTHING, truth) == {1.0}
    assert both(one(("cube", 0.9, (23.0, 12.0, 27.0, 18.0))), truth) == {1.0}
    assert both(one(("cube", 0.9, CUBE)), truth) == {0.0}
    assert both(one(("ball", 0.9, BALL)), truth) == {0.0}


def test_boxes_without_area_and_empty_masks_find_nothing() -> None:
    """Also not each other: there is nothing that could overlap."""
    flat = one(("cube", 1.0, (5.0, 5.0, 5.0, 9.0)))
    assert both(flat, flat) == {0.0}
    assert both(one(("cube", 0.5, (9.0, 9.0, 4.0, 4.0))), one(("cube", 1.0, CUBE))) == {0.0}


def test_huge_boxes_are_not_nan() -> None:
    """Areas that overflow overlap nothing."""
    huge = Instances(("cube",), np.ones(1), np.array([[-1e300, -1e300, 1e300, 1e300]]))
    assert average_precision(huge, huge, masks=False) == 0.0


def test_more_than_one_hundred_predictions() -> None:
    """The right prediction counts as the hundredth, not as the one behind it."""
    truth = one(("cube", 1.0, CUBE))
    wrong = [("cube", 0.9, BALL)]
    assert both(one(*wrong * 99, ("cube", 0.5, CUBE)), truth) == {0.01}
    assert both(one(*wrong * 100, ("cube", 0.5, CUBE)), truth) == {0.0}


def test_thresholds_can_be_chosen() -> None:
    """AP50 and AP75 of a box that covers 60 % of the object."""
    part = one(("cube", 0.9, (2.0, 2.0, 12.0, 8.0)))
    values = [
        average_precision(part, one(("cube", 1.0, CUBE)), masks=False, iou_thresholds=(iou,))
        for iou in (0.5, 0.6, 0.75)
    ]
    assert values == [1.0, 1.0, 0.0]


def test_masks_must_be_there_and_agree_in_size() -> None:
    """Errors are one line."""
    bare = Instances(("cube",), np.ones(1), np.array([CUBE]))
    truth = one(("cube", 1.0, CUBE))
    with pytest.raises(InputError, match="needs masks"):
        average_precision(bare, truth, masks=True)
    small = Instances(bare.labels, bare.scores, bare.boxes_px, np.ones((1, 4, 5), bool))
    with pytest.raises(InputError, match="expected 40 x 30; got '5 x 4'"):
        average_precision(small, truth, masks=True)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, IMAGES - 1), st.randoms(use_true_random=False), st.booleans())
def test_only_the_ranking_counts(number: int, draw: object, masks: bool) -> None:
    """Scores that keep their order change nothing; the precision is in [0, 1]."""
    case: Case = all_images()[number]
    before = average_precision(case.predicted, case.truth, masks=masks)
    found = case.predicted
    scaled = Instances(found.labels, found.scores**3 / 2, found.boxes_px, found.masks, found.crowd)
    assert average_precision(scaled, case.truth, masks=masks) == before
    assert 0.0 <= before <= 1.0
