"""Chrominance and luminance against scikit-image's colour spaces and SciPy's splines."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.interpolate import CubicSpline
from skimage import color

from embodied_iqa.imaging.distortions import distort, entry
from embodied_iqa.imaging.distortions.chrominance import edge_mask
from embodied_iqa.imaging.distortions.image import Image, lab_of, rgb_of_lab
from embodied_iqa.imaging.distortions.luminance import tone_curve
from embodied_iqa.imaging.distortions.sharpness_contrast import contrast_curve

pytestmark = pytest.mark.filterwarnings("ignore:Conversion from CIE-LAB")
RNG = np.random.default_rng(0)
TONES = np.repeat(np.arange(256, dtype=np.uint8), 16).reshape(64, 64)[..., None].repeat(3, axis=2)


def mean_error(ours: Image, expected: np.ndarray) -> float:
    return float(np.abs(ours - np.clip(expected, 0, 1) * 255).mean())


def test_lab_is_that_of_scikit_image_and_goes_back(photograph: Image):
    assert np.abs(lab_of(photograph) - color.rgb2lab(photograph)).mean() < 0.2
    assert np.abs(rgb_of_lab(lab_of(photograph)).astype(int) - photograph).max() <= 2


@pytest.mark.parametrize("level", range(1, 6))
def test_hsv_saturation_is_a_product_in_hsv(level: int, photograph: Image):
    (factor,) = entry("07").parameters[level - 1]
    hsv = color.rgb2hsv(photograph)
    value, saturation = hsv[..., 2:], hsv[..., 1:2]
    pure = color.hsv2rgb(np.concatenate([hsv[..., :1], np.ones_like(saturation), value], axis=-1))
    expected = value - factor * saturation * (value - pure)
    assert mean_error(distort(photograph, "07", level, RNG), expected) < 0.6
    if factor >= 0:
        hsv[..., 1] *= factor
        assert mean_error(distort(photograph, "07", level, RNG), color.hsv2rgb(hsv)) < 0.6


@pytest.mark.parametrize("level", range(1, 6))
def test_lab_saturation_is_a_product_in_lab(level: int, photograph: Image):
    (factor,) = entry("08").parameters[level - 1]
    lab = color.rgb2lab(photograph)
    lab[..., 1:] *= factor
    expected = color.lab2rgb(lab)
    seen = np.all((expected > 0.02) & (expected < 0.98), axis=-1)
    assert seen.sum() > 20
    assert np.abs(distort(photograph, "08", level, RNG)[seen] - 255 * expected[seen]).mean() < 1.0


@pytest.mark.parametrize("level", range(1, 6))
def test_color_diffusion_leaves_gray_gray_and_spreads_colour(level: int, photograph: Image):
    gray = np.repeat(photograph[..., :1], 3, axis=2)
    assert np.abs(distort(gray, "04", level, RNG).astype(int) - gray).max() <= 3
    spot = np.full((121, 121, 3), 128, np.uint8)
    spot[50:71, 50:71] = (150, 110, 128)
    out = lab_of(distort(spot, "04", level, RNG))
    assert abs(out[60, 45, 1]) > 0.5
    assert abs(out[0, 0, 1]) < abs(out[60, 60, 1])


@pytest.mark.parametrize("level", range(1, 6))
def test_color_shift_moves_green_only_and_only_near_edges(level: int, photograph: Image):
    out = distort(photograph, "05", level, np.random.default_rng(4))
    assert np.array_equal(out[..., [0, 2]], photograph[..., [0, 2]])
    quiet = edge_mask(photograph) == 0
    assert quiet.any()
    assert np.array_equal(out[quiet], photograph[quiet])
    assert not np.array_equal(out[..., 1], photograph[..., 1])


@pytest.mark.parametrize("level", range(1, 6))
def test_color_quantization_keeps_its_number_of_colours_and_the_mean(level: int, photograph: Image):
    (colors,) = entry("06").parameters[level - 1]
    out = distort(photograph, "06", level, RNG)
    assert colors / 2 < len(np.unique(out.reshape(-1, 3), axis=0)) <= colors
    assert np.abs(out.mean(axis=(0, 1)) - photograph.mean(axis=(0, 1))).max() < 4


@pytest.mark.parametrize("level", range(1, 6))
def test_gray_quantization_is_a_staircase_from_black_to_white(level: int):
    (levels,) = entry("28").parameters[level - 1]
    out = distort(TONES, "28", level, RNG)
    assert len(np.unique(out)) == levels
    assert (out.min(), out.max()) == (0, 255)
    assert np.all(np.diff(out[..., 0].ravel().astype(int)) >= 0)
    assert np.abs(out.astype(int) - TONES).max() <= 256 / levels


@pytest.mark.parametrize("level", range(1, 6))
def test_darkening_follows_the_spline_through_three_points(level: int):
    (amount,) = entry("19").parameters[level - 1]
    curve = CubicSpline([0, 0.5, 1], [0, 0.5 - amount / 2, 1])(TONES / 255)
    assert np.abs(distort(TONES, "19", level, RNG) - np.clip(curve, 0, 1) * 255).max() <= 0.51


@pytest.mark.parametrize("level", range(1, 6))
def test_brightening_blends_rgb_and_lightness(level: int, photograph: Image):
    (amount,) = entry("18").parameters[level - 1]
    linear, square = tone_curve(0.5 + amount / 2)
    lab = color.rgb2lab(photograph)
    lightness = lab[..., 0] / 100
    lab[..., 0] = 100 * np.clip(linear * lightness + square * lightness**2, 0, 1)
    rgb = photograph / 255
    curved = np.clip(linear * rgb + square * rgb**2, 0, 1)
    expected = (2 * curved + np.clip(color.lab2rgb(lab), 0, 1)) / 3
    assert mean_error(distort(photograph, "18", level, RNG), expected) < 1.0


@pytest.mark.parametrize(("distortion_id", "sign"), [("20", 1), ("21", -1)])
@pytest.mark.parametrize("level", range(1, 6))
def test_mean_shifts_are_shifts(distortion_id: str, sign: int, level: int):
    (shift,) = entry(distortion_id).parameters[level - 1]
    expected = np.clip(TONES + sign * 255 * shift, 0, 255)
    assert np.abs(distort(TONES, distortion_id, level, RNG) - expected).max() <= 0.51


@pytest.mark.parametrize("amount", [-0.6, -0.2, 0.3, 0.6])
def test_contrast_passes_its_five_points(amount: float):
    points = np.array([0, 0.3, 0.5, 0.7, 1.0])
    expected = np.array([0, 0.25 - amount / 4, 0.5, 0.75 + amount / 4, 1.0])
    table = contrast_curve(amount).astype(float)
    assert np.interp(points * 255, np.arange(256), table) / 255 == pytest.approx(expected, abs=0.004)
    if amount == -0.2:
        assert np.array_equal(table, np.arange(256))


def test_sharpening_adds_what_smoothing_takes_away(photograph: Image):
    (amount,) = entry("29").parameters[0]
    before, after = (lab_of(image)[..., 0] for image in (photograph, distort(photograph, "29", 1, RNG)))
    from scipy.ndimage import gaussian_filter

    expected = np.clip(before + amount * (before - gaussian_filter(before, 3.0)), 0, 100)
    assert np.abs(after - expected)[20:-20, 20:-20].mean() < 1.5
