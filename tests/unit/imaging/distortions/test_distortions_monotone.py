"""Levels rank: over natural images the mean PSNR falls from level to level."""

from __future__ import annotations

import numpy as np
import pytest

from embodied_iqa.imaging.distortions import catalogue, distort, miqd_catalogue
from embodied_iqa.imaging.distortions.entry import Entry
from embodied_iqa.imaging.distortions.image import Image
from embodied_iqa.quality.metrics import psnr


@pytest.mark.parametrize("line", catalogue(), ids=lambda line: line.id)
def test_mean_psnr_falls_strictly_with_the_level(line: Entry, photographs: list[Image]):
    means = []
    for level in range(1, 6):
        values = [
            psnr(image, distort(image, line.id, level, np.random.default_rng(number)))
            for number, image in enumerate(photographs)
        ]
        means.append(np.mean(values))
    assert np.all(np.diff(means) < 0), means
    assert means[0] < 50


@pytest.mark.parametrize("line", miqd_catalogue(), ids=lambda line: line.id)
def test_mean_psnr_of_the_machine_vision_types_falls(line: Entry, photographs: list[Image]):
    means = []
    for level in range(1, 6):
        values = [
            psnr(image, distort(image, line.id, level, np.random.default_rng(number)))
            for number, image in enumerate(photographs)
        ]
        means.append(np.mean(values))
    assert np.all(np.diff(means) < 0), means
