"""Blurs against SciPy and against the geometry of their kernels."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import ndimage

from embodied_iqa.imaging.distortions import distort, entry
from embodied_iqa.imaging.distortions.blur import disk_kernel, gaussian_blur, line_kernel
from embodied_iqa.imaging.distortions.convolution import convolve
from embodied_iqa.imaging.distortions.image import Image
from embodied_iqa.imaging.distortions.miqd_blur import defocus_kernel, trail_kernel


def correlate(image: Image, kernel: NDArray[np.float32]) -> NDArray[np.float64]:
    channels = [ndimage.correlate(image[..., c].astype(float), kernel.astype(float)) for c in range(3)]
    return np.stack(channels, axis=-1)


@pytest.mark.parametrize("sigma_px", [0.7, 1.3, 4.0])
def test_gaussian_blur_equals_scipy(sigma_px: float, photograph: Image):
    ours = gaussian_blur(photograph, np.random.default_rng(0), sigma_px).astype(float)
    reference = ndimage.gaussian_filter(photograph.astype(float), (sigma_px, sigma_px, 0), truncate=3.0)
    assert np.abs(ours - reference).mean() < 0.4
    assert np.abs(ours - reference).max() < 4


@pytest.mark.parametrize(
    "kernel",
    [
        disk_kernel(2.0),
        disk_kernel(6.0),
        disk_kernel(8.0),
        line_kernel(21.0, 30.0),
        line_kernel(40.5, 100.0),
        trail_kernel(35, 14, -20.0),
        defocus_kernel(12, 0.9),
    ],
    ids=["disk 2", "disk 6", "disk 8", "line 21", "line 40", "trail 35", "defocus 12"],
)
def test_every_way_to_convolve_equals_scipy(kernel: NDArray[np.float32], photograph: Image):
    assert kernel.sum() == pytest.approx(1.0, abs=1e-5)
    assert all(side % 2 == 1 for side in kernel.shape)
    exact = correlate(photograph, kernel)
    error = np.abs(convolve(photograph, kernel) - exact)
    assert error.max() <= 0.75
    assert error.mean() < 0.3


@pytest.mark.parametrize("radius_px", [1.0, 2.0, 4.0, 6.5, 8.0])
def test_a_disk_has_the_area_of_a_circle_and_its_symmetry(radius_px: float):
    kernel = disk_kernel(radius_px)
    assert 1.0 / kernel.max() == pytest.approx(math.pi * radius_px**2, rel=0.02)
    assert np.allclose(kernel, kernel.T)
    assert np.allclose(kernel, kernel[::-1])


@pytest.mark.parametrize("angle_deg", [0.0, 37.0, 90.0, 143.0])
@pytest.mark.parametrize("length_px", [3.0, 9.0, 30.0])
def test_a_line_has_its_length_and_angle(length_px: float, angle_deg: float):
    kernel = line_kernel(length_px, angle_deg).astype(float)
    reach = kernel.shape[0] // 2
    y, x = np.mgrid[-reach : reach + 1, -reach : reach + 1]
    assert abs((kernel * x).sum()) < 1e-6
    along = x * math.cos(math.radians(angle_deg)) - y * math.sin(math.radians(angle_deg))
    across = x * math.sin(math.radians(angle_deg)) + y * math.cos(math.radians(angle_deg))
    assert math.sqrt(12 * (kernel * along**2).sum()) == pytest.approx(length_px, rel=0.2, abs=0.8)
    assert (kernel * across**2).sum() < 0.35


def test_motion_blur_draws_all_angles(photograph: Image):
    line = np.zeros((101, 101, 3), np.uint8)
    line[50, 50] = 255
    angles = []
    for seed in range(60):
        out = distort(line, "03", 5, np.random.default_rng(seed))[..., 0].astype(float)
        y, x = np.mgrid[-50:51, -50:51]
        cross, xx, yy = ((out * product).sum() for product in (x * y, x * x, y * y))
        angles.append(math.degrees(0.5 * math.atan2(-2 * cross, xx - yy)) % 180)
    assert np.all(np.histogram(angles, bins=4, range=(0, 180))[0] >= 6)


def test_lens_blur_of_a_point_is_its_kernel():
    point = np.zeros((41, 41, 3), np.uint8)
    point[20, 20] = 255
    radius_px = entry("02").parameters[2][0]
    out = distort(point, "02", 3, np.random.default_rng(0))
    kernel = disk_kernel(radius_px)
    reach = kernel.shape[0] // 2
    cut = out[20 - reach : 21 + reach, 20 - reach : 21 + reach, 1]
    assert np.abs(cut - 255 * kernel).max() <= 1
