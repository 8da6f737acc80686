"""Fine texture: each distortion that a small image hides moves the statistic that stands for it."""

from __future__ import annotations

import cv2
import numpy as np
import pytest
from numpy.typing import NDArray

from embodied_iqa.quality.metrics.learned import compiled_texture, fine_texture
from embodied_iqa.quality.metrics.learned.compiled_texture import use_compiled_texture
from embodied_iqa.quality.metrics.learned.fine_texture import FINE_SIZE_PX, fine_statistics
from embodied_iqa.quality.metrics.learned.input_statistics import image_statistics, small_image
from embodied_iqa.quality.metrics.learned.inputs import InputKind, NetworkInput

Image = NDArray[np.uint8]


def scene(size_px: tuple[int, int] = FINE_SIZE_PX) -> Image:
    width, height = size_px
    rng = np.random.default_rng(3)
    image = np.full((height, width, 3), 130, np.uint8)
    for _ in range(30):
        x, y = int(rng.integers(width)), int(rng.integers(height))
        cv2.circle(image, (x, y), height // 9, tuple(int(value) for value in rng.integers(0, 255, 3)), -1)
    return cv2.GaussianBlur(image, (0, 0), height / 180)


def gray(image: Image) -> Image:
    return np.asarray(cv2.cvtColor(image, cv2.COLOR_RGB2GRAY))


def jpeg(image: Image, quality: int) -> Image:
    done, data = cv2.imencode(".jpg", image, [cv2.IMWRITE_JPEG_QUALITY, quality])
    assert done
    return np.asarray(cv2.imdecode(data, cv2.IMREAD_COLOR))


def test_statistics_are_finite_also_of_a_flat_image() -> None:
    flat = np.full((FINE_SIZE_PX[1], FINE_SIZE_PX[0], 3), 7, np.uint8)
    found = fine_statistics(scene())
    assert found.dtype == np.float32
    assert found.shape == fine_statistics(flat).shape
    assert np.isfinite(found).all()
    assert np.isfinite(fine_statistics(flat)).all()


def noise_of(plane: Image) -> NDArray[np.float32]:
    return fine_texture._noise(plane, plane.astype(np.float32))


def test_noise_grows_with_noise() -> None:
    rng, clean = np.random.default_rng(0), scene()
    levels = [np.clip(clean + rng.normal(0, s, clean.shape), 0, 255).astype(np.uint8) for s in (0, 2, 8)]
    found = [noise_of(gray(one)) for one in levels]
    assert (found[0] < found[1]).all()
    assert (found[1] < found[2]).all()


def test_blocks_of_a_codec_stand_out_at_their_period() -> None:
    clean, coded = (fine_texture._block_grid(gray(one)) for one in (scene(), jpeg(scene(), 8)))
    assert coded[0] > clean[0] + 0.5  # 8 px between rows
    assert coded[3] > clean[3] + 0.5  # 8 px between columns


def test_impulses_and_gray_levels_are_counted() -> None:
    clean = gray(scene())
    rng = np.random.default_rng(1)
    hit = rng.random(clean.shape) < 0.05
    speckled = np.where(hit, 255 * rng.integers(0, 2, clean.shape), clean).astype(np.uint8)
    assert fine_texture._impulses(speckled)[-1] == pytest.approx(0.05, abs=0.02)
    assert fine_texture._impulses(clean)[-1] == 0
    eight = (clean // 32 * 32).astype(np.uint8)
    used = fine_texture._gray_levels(eight)[0]
    assert used == pytest.approx(np.log1p(len(np.unique(eight))))
    assert used < fine_texture._gray_levels(clean)[0]


def test_rows_that_are_shifted_at_random_are_rougher_than_columns() -> None:
    clean, rng = gray(scene()), np.random.default_rng(2)
    shifted = np.stack([np.roll(row, int(rng.integers(-3, 4))) for row in clean])
    before, after = (noise_of(one) for one in (clean, shifted))
    assert after[0] - before[0] > 5 * abs(after[1] - before[1])


def test_the_input_holds_both_kinds_of_statistics_at_any_size() -> None:
    kind = NetworkInput(InputKind.FINE)
    medium = scene()
    found = kind.measure(medium)
    coarse = image_statistics(small_image(medium))
    np.testing.assert_allclose(found[: len(coarse)], coarse, rtol=1e-5)
    np.testing.assert_allclose(found[len(coarse) :], fine_statistics(medium), rtol=1e-5)
    for size_px in ((1280, 720), (64, 48)):
        assert kind.measure(scene(size_px)).shape == found.shape
    assert kind.version() != NetworkInput(InputKind.STATISTICS).version()


@pytest.mark.parametrize("quality", [5, 50, 95])
def test_compiled_code_changes_the_input_by_rounding_alone(
    quality: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    image = jpeg(scene((1280, 720)), quality)
    monkeypatch.setattr(compiled_texture, "kernels", None)
    plain = NetworkInput(InputKind.FINE).measure(image)
    use_compiled_texture()
    np.testing.assert_allclose(NetworkInput(InputKind.FINE).measure(image), plain, rtol=1e-6, atol=1e-6)


def test_compiled_code_narrows_images_as_opencv_does(monkeypatch: pytest.MonkeyPatch) -> None:
    wide = np.random.default_rng(4).integers(0, 256, (360, 640, 3), np.uint8)
    monkeypatch.setattr(compiled_texture, "kernels", None)
    use_compiled_texture()
    expected = cv2.resize(wide, FINE_SIZE_PX, interpolation=cv2.INTER_AREA)
    np.testing.assert_array_equal(small_image(wide, FINE_SIZE_PX), expected)
