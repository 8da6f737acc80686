"""Rendered images with exact truth."""

from __future__ import annotations

import numpy as np
import pytest

from embodied_iqa.base.errors import UsageError
from embodied_iqa.imaging.images.frame import View
from embodied_iqa.models.vision.samples.rendered import VisionSample, rendered_sample
from embodied_iqa.models.vision.samples.truth import (
    COLOURED_CLASSES,
    KIND_CLASSES,
    box_of,
    crop_of,
    instances_of,
    square_around,
)
from embodied_iqa.world.scenes.dimensions import CELL_VIEWS
from embodied_iqa.world.scenes.scene import SceneObject
from embodied_iqa.world.tasks.vocabulary import Colour, Kind


@pytest.fixture(scope="module", params=list(CELL_VIEWS))
def sample(request: pytest.FixtureRequest) -> VisionSample:
    return rendered_sample(7, request.param)


def masks_of(sample: VisionSample) -> np.ndarray:
    assert sample.instances.masks is not None
    return sample.instances.masks


def test_boxes_are_the_bounds_of_the_masks(sample: VisionSample) -> None:
    for box, mask in zip(sample.instances.boxes_px, masks_of(sample), strict=True):
        left, top, right, bottom = box.astype(int)
        assert mask[top:bottom, left:right].sum() == mask.sum() > 0
        assert mask[top, left:right].any()
        assert mask[bottom - 1, left:right].any()
        assert mask[top:bottom, left].any()
        assert mask[top:bottom, right - 1].any()


def test_masks_are_those_of_the_visible_pixels_and_disjoint(sample: VisionSample) -> None:
    masks = masks_of(sample)
    assert masks.sum(0).max() == 1
    np.testing.assert_array_equal(masks.any(0), sample.labels >= 0)
    for mask, number in zip(masks, sample.object_of_instance, strict=True):
        np.testing.assert_array_equal(mask, sample.labels == number)


def test_pixels_of_an_object_have_its_colour(sample: VisionSample) -> None:
    """The mask is aligned with the image: paint is more saturated than the rest of the image."""
    saturation = np.ptp(sample.rgb.astype(int), axis=2)
    inside = masks_of(sample).any(0)
    assert np.median(saturation[inside]) > 3 * np.median(saturation[~inside])


def test_classes_are_known_and_the_main_object_is_that_of_the_task(sample: VisionSample) -> None:
    assert set(sample.instances.labels) <= set(KIND_CLASSES)
    assert sample.main_class in COLOURED_CLASSES
    assert sample.main_class == f"{sample.task.object.colour} {sample.task.object.kind}"
    assert sample.object_of_instance[sample.main_index] == 0
    assert sample.instances.crowd is not None
    assert not sample.instances.crowd[sample.main_index]


def test_crop_shows_the_whole_object(sample: VisionSample) -> None:
    crop = sample.crop()
    assert crop.rgb.shape == (160, 160, 3)
    assert crop.mask.shape == (160, 160)
    x, y, side = crop.square_px
    mask = masks_of(sample)[sample.main_index]
    assert mask[y : y + side, x : x + side].sum() == mask.sum()
    assert crop.mask.mean() == pytest.approx(mask.sum() / side**2, rel=0.05)
    assert crop.label == sample.main_class


def test_same_seed_gives_the_same_bytes() -> None:
    first, other = rendered_sample(3, View.TOP, (160, 120)), rendered_sample(4, View.TOP, (160, 120))
    again = rendered_sample(3, View.TOP, (160, 120))
    assert first.rgb.tobytes() == again.rgb.tobytes()
    assert first.labels.tobytes() == again.labels.tobytes()
    assert first.rgb.tobytes() != other.rgb.tobytes()


def test_negative_seed_is_an_error() -> None:
    with pytest.raises(UsageError, match="negative"):
        rendered_sample(-1, View.TOP)


def test_hidden_pixels_are_outside_and_small_objects_are_marked() -> None:
    items = [SceneObject(Kind.CUBE, Colour.RED, 0, 0, 0, (1, 0, 0)) for _ in range(3)]
    labels = np.full((100, 200), -1, np.int16)
    labels[10:40, 20:60] = 0
    labels[20:30, 30:90] = 2  # in front of the first
    labels[99, 199] = 1
    truth, objects = instances_of(labels, items)
    assert objects == (0, 1, 2)
    assert truth.masks is not None
    assert truth.masks[0].sum() == 30 * 40 - 10 * 30
    np.testing.assert_array_equal(truth.boxes_px[1], [199, 99, 200, 100])
    assert truth.crowd is not None
    assert truth.crowd.tolist() == [False, True, False]


def test_image_without_objects_has_no_instances() -> None:
    truth, objects = instances_of(np.full((8, 8), -1, np.int16), [])
    assert (len(truth), objects) == (0, ())


def test_square_stays_in_the_image() -> None:
    assert square_around((0, 0, 40, 20), 480, 640) == (0, 0, 80)
    assert square_around((600, 460, 640, 480), 480, 640) == (560, 400, 80)
    assert square_around((100, 100, 110, 110), 480, 640) == (81, 81, 48)
    assert square_around((0, 0, 640, 480), 480, 640) == (80, 0, 480)


def test_empty_mask_has_neither_box_nor_crop() -> None:
    empty = np.zeros((64, 64), bool)
    with pytest.raises(UsageError, match="empty mask"):
        box_of(empty)
    with pytest.raises(UsageError, match="empty mask"):
        crop_of(np.zeros((64, 64, 3), np.uint8), empty, "red cube")
