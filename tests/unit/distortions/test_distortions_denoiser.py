"""The denoising network: exact in integers, useful, trained and exported without loss."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from numpy.typing import NDArray
from onnx import numpy_helper

from embodied_iqa.distortions.denoiser import CONTEXT_PX, LAYERS, Denoiser, noise_level, shipped_denoiser
from embodied_iqa.distortions.denoiser_training import TrainingRecipe, save_denoiser, train_denoiser
from embodied_iqa.distortions.image import Image
from embodied_iqa.distortions.noise import white_noise
from embodied_iqa.errors import InputError, UsageError
from embodied_iqa.metrics import psnr

SHIPPED = Path("src/embodied_iqa/distortions/denoiser.onnx")


def weights() -> list[tuple[NDArray[np.float32], ...]]:
    """Return ``(kernel, bias, scale)`` of each layer of the shipped network."""
    arrays = {item.name: numpy_helper.to_array(item) for item in onnx.load(SHIPPED).graph.initializer}
    kinds = ("kernels", "biases", "scales")
    return [tuple(arrays[f"{kind}.{layer}"] for kind in kinds) for layer in range(LAYERS)]


def quads_of(planes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return ``(4 C, H/2, W/2)``: all colours of the four pixels, colour by colour."""
    channels, height, width = planes.shape
    quads = planes.reshape(channels, height // 2, 2, width // 2, 2).transpose(0, 2, 4, 1, 3)
    return quads.reshape(4 * channels, height // 2, width // 2)


def denoised_in_integers(image: Image, sigma: float) -> Image:
    """Return what the shipped network makes of a picture with even sides, with sums in 64-bit integers."""
    margin = [(CONTEXT_PX, CONTEXT_PX)] * 2 + [(0, 0)]
    planes = quads_of(np.pad(image, margin, mode="reflect").transpose(2, 0, 1).astype(np.int64))
    planes = np.concatenate([planes, np.full((1, *planes.shape[1:]), noise_level(sigma))])
    for layer, (kernel, bias, scale) in enumerate(weights()):
        windows = np.lib.stride_tricks.sliding_window_view(planes, (3, 3), axis=(1, 2))
        sums = np.einsum("oiyx,ihwyx->ohw", kernel.astype(np.int64), windows)
        sums += bias.astype(np.int64)[:, None, None]
        planes = np.rint(sums.astype(np.float32) * scale).astype(np.int64)
        planes = planes.clip(0, 255) if layer < LAYERS - 1 else planes
    noisy = quads_of(image.transpose(2, 0, 1).astype(np.int64))
    height, width = image.shape[:2]
    clean = (noisy - planes).clip(0, 255).reshape(3, 2, 2, height // 2, width // 2).transpose(3, 1, 4, 2, 0)
    return clean.reshape(image.shape).astype(np.uint8)


@pytest.mark.parametrize(("variance", "gain_db"), [(0.002, 2.0), (0.01, 5.0), (0.04, 7.0)])
def test_the_shipped_network_removes_noise(variance: float, gain_db: float, photographs: list[Image]):
    gains = []
    for picture in photographs:
        noisy = white_noise(picture, np.random.default_rng(1), variance)
        clean = shipped_denoiser().denoise(noisy, variance**0.5)
        gains.append(psnr(picture, clean) - psnr(picture, noisy))
    assert np.mean(gains) > gain_db


def test_weights_are_integers_whose_sums_float32_holds_exactly():
    for kernel, bias, _ in weights():
        assert np.array_equal(kernel, np.rint(kernel))
        assert np.array_equal(bias, np.rint(bias))
        assert np.abs(kernel).max() <= 127
        assert (255 * np.abs(kernel).sum(axis=(1, 2, 3)) + np.abs(bias)).max() < 2**24


@pytest.mark.parametrize("sigma", [0.02, 0.1, 0.4])
def test_onnx_runtime_computes_exactly_what_integers_give(sigma: float, photograph: Image):
    image = white_noise(np.ascontiguousarray(photograph[:150, :96]), np.random.default_rng(0), sigma**2)
    assert np.array_equal(shipped_denoiser().denoise(image, sigma), denoised_in_integers(image, sigma))


def test_bands_do_not_show(photograph: Image, monkeypatch: pytest.MonkeyPatch):
    whole = shipped_denoiser().denoise(photograph, 0.1)
    monkeypatch.setattr("embodied_iqa.distortions.denoiser._BAND_ROWS", 14)
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
    assert all(a.equal(b) for a, b in zip(first.parameters(), again.parameters(), strict=True))
    save_denoiser(first, tmp_path / "weights.onnx")
    stored = onnx.load(tmp_path / "weights.onnx").graph.initializer
    kernel = next(numpy_helper.to_array(item) for item in stored if item.name == "kernels.1")
    assert np.array_equal(kernel, first.kernels[1].numpy())
    noisy = white_noise(photographs[0], np.random.default_rng(2), 0.01)
    clean = Denoiser(tmp_path / "weights.onnx").denoise(noisy, 0.1)
    assert psnr(photographs[0], clean) > psnr(photographs[0], noisy)


def test_unusable_pictures_recipes_and_files_are_refused(tmp_path: Path):
    with pytest.raises(UsageError, match="no picture to train on"):
        train_denoiser([np.zeros((20, 20, 3), np.uint8)], TrainingRecipe(steps=1), lambda _step, _error: None)
    with pytest.raises(UsageError, match="recipe"):
        TrainingRecipe(steps=0)
    (tmp_path / "broken.onnx").write_bytes(b"nothing")
    with pytest.raises(InputError, match="broken network"):
        Denoiser(tmp_path / "broken.onnx")
    with pytest.raises(InputError, match="cannot read"):
        Denoiser(tmp_path / "missing.onnx")
