"""Full-reference metrics against independent implementations, and their identities."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import ndimage
from skimage import data
from skimage.metrics import peak_signal_noise_ratio, structural_similarity

from embodied_iqa.base.errors import InputError, UsageError
from embodied_iqa.quality.metrics import built_in, gmsd, psnr, ssim
from embodied_iqa.quality.metrics.gmsd import gmsd_colour

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


def test_gmsd_of_colours_equals_its_definition(pair: Pair):
    prewitt = np.array([[1, 0, -1]] * 3) / 3

    def magnitude(channel: NDArray[np.uint8]) -> NDArray[np.floating]:
        even = channel[: channel.shape[0] // 2 * 2, : channel.shape[1] // 2 * 2].astype(float)
        small = even.reshape(even.shape[0] // 2, 2, even.shape[1] // 2, 2).mean(axis=(1, 3))
        gradients = [ndimage.correlate(small, kernel)[1:-1, 1:-1] for kernel in (prewitt, prewitt.T)]
        return np.hypot(*gradients)

    deviations = []
    for channel in range(3):
        first, second = (magnitude(image[..., channel]) for image in pair)
        deviations.append(np.std((2 * first * second + 170) / (first**2 + second**2 + 170)))
    assert gmsd_colour(*pair) == pytest.approx(np.mean(deviations), abs=1e-5)


@pytest.mark.parametrize("name", ["psnr", "ssim", "ms-ssim", "gmsd", "gmsd-colour", "fsim", "vsi"])
def test_metric_prefers_the_reference_and_is_symmetric(name: str, pair: Pair):
    metric = built_in(name)
    reference, distorted = pair
    same, worse = metric.measure(reference, reference), metric.measure(distorted, reference)
    assert (same > worse) is metric.info.higher_is_better
    assert metric.measure(reference, distorted) == pytest.approx(worse, rel=1e-6)


def test_equal_images_are_perfect(pair: Pair):
    image = pair[0]
    assert psnr(image, image) == math.inf
    assert ssim(image, image) == pytest.approx(1.0, abs=1e-6)
    assert gmsd(image, image) == pytest.approx(0.0, abs=1e-6)


def test_errors_name_what_is_wrong(pair: Pair):
    image = pair[0]
    with pytest.raises(InputError, match="differ in size"):
        ssim(image, image[1:])
    with pytest.raises(InputError, match="uint8"):
        psnr(image, image.astype(float))
    with pytest.raises(InputError, match="too small"):
        ssim(image[:10, :10], image[:10, :10])
    with pytest.raises(UsageError, match="available: psnr, ssim, ms-ssim"):
        built_in("sssim")


@pytest.mark.parametrize(("metric", "smallest_px"), [(psnr, 1), (ssim, 11), (gmsd, 8)])
def test_the_smallest_image_is_measured_and_the_next_smaller_is_not(
    metric: Callable[[NDArray[np.uint8], NDArray[np.uint8]], float], smallest_px: int
):
    black, white = (np.full((smallest_px, smallest_px + 1, 3), value, np.uint8) for value in (0, 255))
    assert math.isfinite(metric(black, white))
    for small in (black[1:], black.transpose(1, 0, 2)[:, 1:]):
        with pytest.raises(InputError, match=f"at least {smallest_px} x {smallest_px}"):
            metric(small, small)


def test_worked_values():
    """Black and white: no signal over noise, and the structure that the constants alone leave."""
    black, white = (np.full((16, 16, 3), value, np.uint8) for value in (0, 255))
    assert psnr(black, white) == pytest.approx(0.0, abs=1e-12)
    assert psnr(black, black + np.uint8(1)) == pytest.approx(20 * math.log10(255))
    assert ssim(black, white) == pytest.approx(2.55**2 / (255**2 + 2.55**2), rel=1e-3)
    assert gmsd_colour(black, white) == 0.0


@pytest.mark.parametrize("shape", [(16, 16), (16, 16, 1), (16, 16, 4), (1, 16, 16, 3), (16, 3)])
def test_what_is_not_an_image_is_refused(shape: tuple[int, ...]):
    wrong = np.zeros(shape, np.uint8)
    for metric in (psnr, ssim, gmsd):
        for images in ((wrong, wrong), (np.zeros((16, 16, 3), np.uint8), wrong)):
            with pytest.raises(InputError, match="not an image"):
                metric(*images)
