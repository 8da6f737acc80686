"""Metrics against other implementations; write_peer_values.py made their values and names their versions."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from peer_images import pairs

from embodied_iqa.base.errors import InputError
from embodied_iqa.quality.metrics import BUILT_IN, Needs
from embodied_iqa.quality.metrics.niqe import fit, niqe

VALUES = json.loads(Path(__file__).with_name("peer_values.json").read_text())
TOLERANCE = {
    "ms-ssim": 2e-6, "gmsd": 2e-6, "vif": 1e-5, "fsim": 2e-6, "vsi": 2e-6, "piqe": 1e-9,
    "brisque": 0.02,  # the peer starts a root search for the shape of every distribution
    "niqe": 0.03,  # about 0.15 %: the peer rounds that shape to a thousandth
}  # fmt: skip
NO_REFERENCE = [name for name, metric in BUILT_IN.items() if metric.info.needs is Needs.NOTHING]


@pytest.mark.parametrize(("name", "tolerance"), TOLERANCE.items())
def test_a_metric_equals_its_peer(name: str, tolerance: float):
    for word, (reference, distorted) in pairs().items():
        assert BUILT_IN[name].measure(distorted, reference) == pytest.approx(
            VALUES[name][word], abs=tolerance
        ), word


@pytest.mark.parametrize("name", BUILT_IN)
def test_an_extreme_image_has_a_value_within_the_range(name: str):
    metric = BUILT_IN[name]
    black, white = (np.full((200, 232, 3), value, np.uint8) for value in (0, 255))
    checks = np.kron(np.indices((25, 29)).sum(axis=0) % 2 * 255, np.ones((8, 8)))
    pattern = np.repeat(checks[..., None], 3, axis=2).astype(np.uint8)
    for reference in (black, white, pattern):
        for distorted in (black, white, pattern):
            value = metric.measure(distorted, reference)
            assert metric.info.lowest - 1e-6 <= value <= metric.info.highest + 1e-6


@pytest.mark.parametrize("name", BUILT_IN)
def test_the_smallest_image_is_measured_and_a_smaller_one_is_not(name: str):
    metric = BUILT_IN[name]
    side = metric.info.smallest_px
    image = np.random.default_rng(1).integers(0, 256, (side, side + 3, 3), dtype=np.uint8)
    assert not np.isnan(metric.measure(image, 255 - image))
    if side > 1:
        with pytest.raises(InputError, match=f"at least {side} x {side}"):
            metric.measure(image[1:], image[1:])


@pytest.mark.parametrize("name", NO_REFERENCE)
def test_a_metric_without_reference_ignores_it(name: str):
    reference, distorted = pairs()["noise"]
    metric = BUILT_IN[name]
    assert metric.measure(distorted) == metric.measure(distorted, reference)
    with pytest.raises(InputError, match="not an image"):
        metric.measure(distorted[..., 0])


def test_niqe_prefers_the_images_that_it_was_fitted_on():
    reference, noisy = pairs()["noise"]
    _, blurred = pairs()["blur"]
    model = fit([reference, pairs()["blur"][0]])
    values = [niqe(image, model) for image in (reference, noisy, blurred)]
    assert values[0] == min(values)
    assert niqe(noisy) > niqe(reference)
