"""Full-reference metrics against independent implementations, and their identities."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import ndimage
from skimage import data
from skimage.metrics import peak_signal_noise_ratio, structural_similarity

from embodied_iqa.errors import InputError, UsageError
from embodied_iqa.metrics import FULL_REFERENCE, full_reference_metric, gmsd, psnr, ssim

Pair = tuple[NDArray[np.uint8], NDArray[np.uint8]]


@pytest.fixture(scope="module")
def pair():
    reference = data.chelsea()
    noise = np.random.default_rng(5).normal(0, 20, reference.shape)
    return reference, np.clip(reference + noise, 0, 255).astype(np.uint8)


def test_psnr_equals_scikit_image(pair: Pair):
    assert psnr(*pair) == pytest.approx(peak_signal_noise_ratio(*pair, data_range=255), abs=1e-9)


def test_ssim_equals_scikit_image(pair: Pair):
    expected = structural_similarity(
        *pair, channel_axis=2, gaussian_weights=True, sigma=1.5, use_sample_covariance=False, data_range=255
    )
    assert ssim(*pair) == pytest.approx(expected, abs=1e-4)


def test_gmsd_equals_its_definition(pair: Pair):
    prewitt = np.array([[1, 0, -1]] * 3) / 3

    def magnitude(channel: NDArray[np.uint8]) -> NDArray[np.floating]:
        even = channel[: channel.shape[0] // 2 * 2, : channel.shape[1] // 2 * 2].astype(float)
        small = even.reshape(even.shape[0] // 2, 2, even.shape[1] // 2, 2).mean(axis=(1, 3))
        gradients = [ndimage.correlate(small, kernel)[1:-1, 1:-1] for kernel in (prewitt, prewitt.T)]
        return np.hypot(*gradients)

    deviations = []
    for channel in range(3):
        first, second = (magnitude(picture[..., channel]) for picture in pair)
        deviations.append(np.std((2 * first * second + 170) / (first**2 + second**2 + 170)))
    assert gmsd(*pair) == pytest.approx(np.mean(deviations), abs=1e-5)


@pytest.mark.parametrize("name", FULL_REFERENCE)
def test_metric_prefers_the_reference_and_is_symmetric(name: str, pair: Pair):
    metric = full_reference_metric(name)
    reference, distorted = pair
    same, worse = metric.measure(reference, reference), metric.measure(reference, distorted)
    assert (same > worse) is metric.higher_is_better
    assert metric.measure(distorted, reference) == pytest.approx(worse, rel=1e-6)


def test_equal_pictures_are_perfect(pair: Pair):
    picture = pair[0]
    assert psnr(picture, picture) == math.inf
    assert ssim(picture, picture) == pytest.approx(1.0, abs=1e-6)
    assert gmsd(picture, picture) == pytest.approx(0.0, abs=1e-6)


def test_errors_name_what_is_wrong(pair: Pair):
    picture = pair[0]
    with pytest.raises(InputError, match="differ in size"):
        ssim(picture, picture[1:])
    with pytest.raises(InputError, match="uint8"):
        psnr(picture, picture.astype(float))
    with pytest.raises(InputError, match="too small"):
        ssim(picture[:10, :10], picture[:10, :10])
    with pytest.raises(UsageError, match="available: psnr, ssim, gmsd"):
        full_reference_metric("fsim")
