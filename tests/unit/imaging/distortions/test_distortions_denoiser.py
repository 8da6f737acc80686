"""The denoising network: exact in integers, useful, trained and exported without loss."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import cv2
import numpy as np
import onnx
import pytest
from numpy.typing import NDArray
from onnx import numpy_helper

from embodied_iqa.base.errors import InputError, UsageError
from embodied_iqa.imaging.distortions.denoiser import (
    CONTEXT_PX,
    HAS_VNNI,
    LAYERS,
    Denoiser,
    noise_level,
    shipped_denoiser,
)
from embodied_iqa.imaging.distortions.denoiser_training import TrainingRecipe, save_denoiser, train_denoiser
from embodied_iqa.imaging.distortions.image import Image
from embodied_iqa.imaging.distortions.noise import white_noise
from embodied_iqa.quality.metrics import psnr

SHIPPED = Path("src/embodied_iqa/imaging/distortions/denoiser.onnx")


def weights() -> list[tuple[NDArray[Any], ...]]:
    """Return ``(kernel, bias, scale)`` of each layer of the shipped network."""
    arrays = {item.name: numpy_helper.to_array(item) for item in onnx.load(SHIPPED).graph.initializer}
    kinds = ("kernels", "biases", "scales")
    return [tuple(arrays[f"{kind}.{layer}"] for kind in kinds) for layer in range(LAYERS)]


def quads_of(image: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return ``(12, H/2, W/2)``: the four pixels of each quad, row by row, red, green, blue each."""
    height, width = (side // 2 for side in image.shape[:2])
    return image.reshape(height, 2, width, 2, 3).transpose(1, 3, 4, 0, 2).reshape(12, height, width)


def denoised_in_integers(image: Image, sigma: float) -> Image:
    """Return what the shipped network makes of an image with even sides, with sums in 64-bit integers."""
    margin = [(CONTEXT_PX, CONTEXT_PX)] * 2 + [(0, 0)]
    planes = quads_of(np.pad(image, margin, mode="reflect").astype(np.int64))
    level = np.full((1, *planes.shape[1:]), noise_level(sigma))
    planes = np.concatenate([planes, level, np.zeros((3, *planes.shape[1:]), np.int64)])
    for kernel, bias, scale in weights():
        windows = np.lib.stride_tricks.sliding_window_view(planes, (3, 3), axis=(1, 2))
        sums = np.einsum("oiyx,ihwyx->ohw", kernel.astype(np.int64), windows)
        sums += bias.astype(np.int64)[:, None, None]
        planes = np.rint(sums.astype(np.float32) * scale[:, None, None]).astype(np.int64).clip(0, 255)
    clean = (quads_of(image.astype(np.int64)) - planes[:12] + planes[12:]).clip(0, 255)
    height, width = image.shape[:2]
    quads = clean.reshape(2, 2, 3, height // 2, width // 2).transpose(3, 0, 4, 1, 2)
    return quads.reshape(image.shape).astype(np.uint8)


@pytest.mark.parametrize(("variance", "gain_db"), [(0.002, 2.0), (0.01, 5.0), (0.04, 7.0)])
def test_the_shipped_network_removes_noise(variance: float, gain_db: float, photographs: list[Image]):
    gains = []
    for image in photographs:
        noisy = white_noise(image, np.random.default_rng(1), variance)
        clean = shipped_denoiser().denoise(noisy, variance**0.5)
        gains.append(psnr(image, clean) - psnr(image, noisy))
    assert np.mean(gains) > gain_db


def test_the_last_layer_gives_the_noise_and_its_negative():
    kernel, bias, scale = weights()[-1]
    assert np.array_equal(kernel[:12], -kernel[12:])
    assert np.array_equal(bias[:12], -bias[12:])
    assert np.array_equal(scale[:12], scale[12:])


def test_weights_are_integers_whose_sums_float32_holds_exactly():
    for kernel, bias, _ in weights():
        assert (kernel.dtype, bias.dtype) == (np.int8, np.int32)
        assert np.abs(kernel.astype(np.int64)).max() <= 127
        assert (255 * np.abs(kernel.astype(np.int64)).sum(axis=(1, 2, 3)) + np.abs(bias)).max() < 2**24


@pytest.mark.parametrize("sigma", [0.02, 0.1, 0.4])
def test_onnx_runtime_computes_exactly_what_integers_give(sigma: float, photograph: Image):
    image = white_noise(np.ascontiguousarray(photograph[:150, :96]), np.random.default_rng(0), sigma**2)
    assert np.array_equal(shipped_denoiser().denoise(image, sigma), denoised_in_integers(image, sigma))


@pytest.mark.parametrize("has_vnni", [False, cv2.checkHardwareSupport(HAS_VNNI)])
def test_black_and_white_pixels_do_not_saturate_the_sums(has_vnni: bool, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(cv2, "checkHardwareSupport", lambda _feature: has_vnni)
    image = np.random.default_rng(0).integers(0, 2, (64, 48, 3)).astype(np.uint8) * np.uint8(255)
    assert np.array_equal(Denoiser(SHIPPED).denoise(image, 0.5), denoised_in_integers(image, 0.5))


def test_bands_do_not_show(photograph: Image, monkeypatch: pytest.MonkeyPatch):
    whole = shipped_denoiser().denoise(photograph, 0.1)
    monkeypatch.setattr("embodied_iqa.imaging.distortions.denoiser._BAND_ROWS", 7)
    assert np.array_equal(shipped_denoiser().denoise(photograph, 0.1), whole)


def test_odd_sides_keep_their_size(photograph: Image):
    odd = np.ascontiguousarray(photograph[:101, :77])
    assert shipped_denoiser().denoise(odd, 0.1).shape == odd.shape


def test_training_learns_repeats_and_round_trips(tmp_path: Path, photographs: list[Image]):
    recipe = TrainingRecipe(steps=60, batch=4, patch_px=16, width=6, rate=3e-3, variances=(0.01, 0.0101))
    errors: list[float] = []
    first = train_denoiser(photographs, recipe, lambda _, error: errors.append(error))
    again = train_denoiser(photographs, recipe, lambda _step, _error: None)
    assert np.mean(errors[-10:]) < np.mean(errors[:5])
    for one, other in zip(first, again, strict=True):
        assert np.array_equal(one.kernel, other.kernel)
        assert np.array_equal(one.bias, other.bias)
        assert np.array_equal(one.scale, other.scale)
    save_denoiser(first, tmp_path / "weights.onnx")
    stored = onnx.load(tmp_path / "weights.onnx").graph.initializer
    kernel = next(numpy_helper.to_array(item) for item in stored if item.name == "kernels.1")
    assert np.array_equal(kernel, first[1].kernel)
    noisy = white_noise(photographs[0], np.random.default_rng(2), 0.01)
    clean = Denoiser(tmp_path / "weights.onnx").denoise(noisy, 0.1)
    assert psnr(photographs[0], clean) > psnr(photographs[0], noisy)


def test_unusable_images_recipes_and_files_are_refused(tmp_path: Path):
    with pytest.raises(UsageError, match="no image to train on"):
        train_denoiser([np.zeros((20, 20, 3), np.uint8)], TrainingRecipe(steps=1), lambda _step, _error: None)
    with pytest.raises(UsageError, match="recipe"):
        TrainingRecipe(steps=0)
    (tmp_path / "broken.onnx").write_bytes(b"nothing")
    with pytest.raises(InputError, match="broken network"):
        Denoiser(tmp_path / "broken.onnx")
    with pytest.raises(InputError, match=r"not a denoiser.*expected a network with the input quads"):
        Denoiser(Path("src/embodied_iqa/models/subjects/backends/panel/models/panel-vlm-mixer.onnx"))
    with pytest.raises(InputError, match="cannot read"):
        Denoiser(tmp_path / "missing.onnx")
