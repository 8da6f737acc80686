"""Distorted images of a reference."""

from __future__ import annotations

import numpy as np
import pytest

from embodied_iqa.base.errors import InputError
from embodied_iqa.imaging.distortions.region import distort_region
from embodied_iqa.suites.miqa.distorting import Distorter, drawn_names, image_generator
from embodied_iqa.suites.miqa.names import TYPES, ImageName, all_names


def image(height_px: int = 72, width_px: int = 96) -> np.ndarray:
    return np.random.default_rng(5).integers(0, 256, (height_px, width_px, 3), np.uint8)


def region(height_px: int = 72, width_px: int = 96) -> np.ndarray:
    mask = np.zeros((height_px, width_px), bool)
    mask[10:60, 20:70] = True
    return mask


@pytest.mark.parametrize("kind", TYPES)
def test_images_are_those_of_the_region_modes(kind: str) -> None:
    distorter = Distorter(image(), region(), seed=3)
    for inside, outside in ((2, 2), (5, 1), (1, 4)):
        expected = distort_region(
            image(),
            TYPES[kind],
            region(),
            inside=inside,
            outside=outside,
            rng=image_generator(3, "r", kind),
        )
        assert np.array_equal(distorter.image(ImageName("r", kind, inside, outside)), expected)


def test_an_image_does_not_depend_on_the_ones_before() -> None:
    names = [ImageName("r", "snow", 2, 1), ImageName("r", "fog", 3, 3), ImageName("r", "snow", 5, 2)]
    together = list(Distorter(image(), region(), 0).images(names))
    alone = [Distorter(image(), region(), 0).image(name) for name in names]
    assert all(np.array_equal(one, other) for one, other in zip(together, alone, strict=True))


def test_a_share_is_drawn_by_seed_and_reference() -> None:
    names = drawn_names("r", 1, 0.2)
    assert len(set(names)) == 50
    assert list(names) == [name for name in all_names("r") if name in set(names)]
    assert drawn_names("r", 1, 0.2) == names
    assert drawn_names("r", 2, 0.2) != names
    assert [name.file[1:] for name in drawn_names("s", 1, 0.2)] != [name.file[1:] for name in names]
    assert drawn_names("r", 1, 1.0) == all_names("r")


def test_a_mask_of_another_size_is_refused() -> None:
    with pytest.raises(InputError, match="mask differs"):
        Distorter(image(), region(70, 96), 0)
