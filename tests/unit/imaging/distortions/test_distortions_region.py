"""Region modes: exact away from the seam, smooth across it."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import cv2
import numpy as np
import pytest

from embodied_iqa.base.errors import InputError, UsageError
from embodied_iqa.imaging.distortions import (
    RegionMode,
    distort,
    distort_region,
    mask_of_labels,
    region_combinations,
    region_mode,
)
from embodied_iqa.imaging.distortions.image import Image
from embodied_iqa.imaging.distortions.region import FEATHER_PX, feathered, read_mask


def box() -> np.ndarray:
    mask = np.zeros((240, 320), dtype=bool)
    mask[70:200, 90:250] = True
    return mask


def test_there_are_25_combinations_of_three_modes():
    counts = Counter(region_mode(inside, outside) for inside, outside in region_combinations())
    assert counts == {RegionMode.UNIFORM: 5, RegionMode.ROI: 10, RegionMode.BACKGROUND: 10}
    assert (region_mode(5, 1), region_mode(1, 5)) == (RegionMode.ROI, RegionMode.BACKGROUND)
    assert region_combinations()[:7] == ((1, 1), (1, 2), (1, 3), (1, 4), (1, 5), (2, 1), (2, 2))


def test_the_weight_is_one_in_the_core_zero_far_outside_and_soft_between():
    mask = box()
    weight = feathered(mask)
    inside_px = cv2.distanceTransform(mask.astype(np.uint8), cv2.DIST_L2, cv2.DIST_MASK_PRECISE)
    outside_px = cv2.distanceTransform((~mask).astype(np.uint8), cv2.DIST_L2, cv2.DIST_MASK_PRECISE)
    assert np.all(weight[inside_px > FEATHER_PX] == 1)
    assert np.all(weight[outside_px > FEATHER_PX * 1.5] == 0)
    assert weight[70, 170] == pytest.approx(0.5, abs=0.03)
    assert np.abs(np.diff(weight, axis=0)).max() < 0.06


@pytest.mark.parametrize("distortion_id", ["01", "12", "19", "24", "03", "miqd:fog"])
@pytest.mark.parametrize(("inside", "outside"), [(5, 1), (1, 5), (3, 4)])
def test_composition_is_exact_away_from_the_seam(
    distortion_id: str, inside: int, outside: int, photograph: Image
):
    mask = box()
    out = distort_region(
        photograph, distortion_id, mask, inside=inside, outside=outside, rng=np.random.default_rng(3)
    )
    weight = feathered(mask)
    of_inside = distort(photograph, distortion_id, inside, np.random.default_rng(3))
    of_outside = distort(photograph, distortion_id, outside, np.random.default_rng(3))
    assert np.array_equal(out[weight == 1], of_inside[weight == 1])
    assert np.array_equal(out[weight == 0], of_outside[weight == 0])
    low, high = np.minimum(of_inside, of_outside), np.maximum(of_inside, of_outside)
    assert np.all((out >= low) & (out <= high))


@pytest.mark.parametrize(("inside", "outside"), region_combinations())
def test_every_combination_works_and_equal_levels_are_the_plain_distortion(
    inside: int, outside: int, photograph: Image
):
    def rng() -> np.random.Generator:
        return np.random.default_rng(9)

    out = distort_region(photograph, "13", box(), inside=inside, outside=outside, rng=rng())
    assert (inside == outside) == np.array_equal(out, distort(photograph, "13", inside, rng()))


@pytest.mark.parametrize(("inside", "outside"), [(4, 0), (0, 4)])
def test_level_0_leaves_its_side_of_the_seam_as_it_is(inside: int, outside: int, photograph: Image) -> None:
    rng = np.random.default_rng(3)
    out = distort_region(photograph, "12", box(), inside=inside, outside=outside, rng=rng)
    expected = np.random.default_rng(3)
    distorted, weight = distort(photograph, "12", 4, expected), feathered(box())
    plain, changed = (weight == 0, weight == 1) if inside else (weight == 1, weight == 0)
    assert np.array_equal(out[plain], photograph[plain])
    assert np.array_equal(out[changed], distorted[changed])
    assert rng.bit_generator.state == expected.bit_generator.state
    same = distort_region(photograph, "12", box(), inside=0, outside=0, rng=rng)
    assert np.array_equal(same, photograph)
    assert not np.may_share_memory(same, photograph)


def test_empty_and_full_masks_are_the_levels_themselves(photograph: Image):
    nothing = np.zeros(photograph.shape[:2], np.uint8)
    for mask, level in ((nothing, 2), (nothing + 255, 4)):
        out = distort_region(photograph, "10", mask, inside=4, outside=2, rng=np.random.default_rng(0))
        assert np.array_equal(out, distort(photograph, "10", level, np.random.default_rng(0)))


def test_masks_come_from_segmentations_and_files(tmp_path: Path):
    labels = np.array([[-1, 0], [2, 0]])
    assert mask_of_labels(labels, [0, 2]).tolist() == [[False, True], [True, True]]
    cv2.imwrite(str(tmp_path / "mask.png"), box().astype(np.uint8) * 255)
    assert np.array_equal(read_mask(tmp_path / "mask.png"), box())
    (tmp_path / "text.png").write_text("no image")
    with pytest.raises(InputError, match="is not an image"):
        read_mask(tmp_path / "text.png")
    with pytest.raises(InputError, match="cannot be read"):
        read_mask(tmp_path / "nothing.png")
    cv2.imwrite(str(tmp_path / "photo.png"), np.full((*box().shape, 3), (200, 220, 120), np.uint8))
    with pytest.raises(InputError, match=r"photo\.png' has colours; expected white inside"):
        read_mask(tmp_path / "photo.png")


def test_wrong_masks_and_levels_are_refused(photograph: Image):
    rng = np.random.default_rng(0)
    with pytest.raises(InputError, match="differs in size"):
        distort_region(photograph, "01", box()[1:], inside=1, outside=2, rng=rng)
    with pytest.raises(UsageError, match="level"):
        distort_region(photograph, "01", box(), inside=1, outside=6, rng=rng)
    with pytest.raises(UsageError, match="unknown distortion"):
        distort_region(photograph, "none", box(), inside=0, outside=0, rng=rng)
