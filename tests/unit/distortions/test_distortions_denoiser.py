"""The denoising network: exact in whole numbers, useful, trained by right gradients."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from embodied_iqa.distortions import denoiser_training as training
from embodied_iqa.distortions.denoiser import (
    CONTEXT_PX,
    LAYERS,
    Denoiser,
    denoise,
    fold_quads,
    gather_columns,
    load_denoiser,
    shipped_denoiser,
)
from embodied_iqa.distortions.denoiser_training import TrainingRecipe, save_denoiser, train_denoiser
from embodied_iqa.distortions.image import Image
from embodied_iqa.distortions.noise import white_noise
from embodied_iqa.errors import InputError, UsageError
from embodied_iqa.metrics import psnr


@pytest.mark.parametrize(("variance", "gain_db"), [(0.002, 2.0), (0.01, 5.0), (0.04, 7.0)])
def test_the_shipped_network_takes_noise_away(variance: float, gain_db: float, photographs: list[Image]):
    gains = []
    for picture in photographs:
        noisy = white_noise(picture, np.random.default_rng(1), variance)
        clean = denoise(noisy, variance**0.5, shipped_denoiser())
        gains.append(psnr(picture, clean) - psnr(picture, noisy))
    assert np.mean(gains) > gain_db


def test_whole_numbers_make_it_exact_in_any_order_of_adding(
    photograph: Image, monkeypatch: pytest.MonkeyPatch
):
    network = shipped_denoiser()
    for kernel, bias in zip(network.kernels, network.biases, strict=True):
        assert np.array_equal(kernel, np.rint(kernel))
        assert np.abs(kernel).max() <= 127
        assert (255 * np.abs(kernel).sum(axis=1) + np.abs(bias[:, 0])).max() < 2**24
    plain = denoise(photograph, 0.1, network)
    order = np.random.default_rng(0).permutation(13 * 9), np.random.default_rng(1).permutation(16 * 9)
    shuffled = [kernel[:, order[layer > 0]] for layer, kernel in enumerate(network.kernels)]
    monkeypatch.setattr(
        "embodied_iqa.distortions.denoiser.gather_columns",
        lambda planes: gather_columns(planes)[order[len(planes) == 16]],
    )
    mixed = Denoiser(tuple(shuffled), network.biases, network.scales)
    assert np.array_equal(denoise(photograph, 0.1, mixed), plain)


def test_bands_do_not_show(photograph: Image, monkeypatch: pytest.MonkeyPatch):
    whole = denoise(photograph, 0.1, shipped_denoiser())
    monkeypatch.setattr("embodied_iqa.distortions.denoiser._BAND_ROWS", 7)
    assert np.array_equal(denoise(photograph, 0.1, shipped_denoiser()), whole)


def test_odd_sides_keep_their_size(photograph: Image):
    odd = np.ascontiguousarray(photograph[:101, :77])
    assert denoise(odd, 0.1, shipped_denoiser()).shape == odd.shape


def test_gathering_and_scattering_are_transposes():
    rng = np.random.default_rng(0)
    planes = rng.standard_normal((3, 8, 9), np.float32)
    columns = rng.standard_normal((27, 42), np.float32)
    forward = float((gather_columns(planes) * columns).sum())
    backward = float((planes * training._scatter_columns(columns, planes.shape)).sum())
    assert forward == pytest.approx(backward, rel=1e-4)


def test_gradients_equal_finite_differences(photographs: list[Image]):
    rng = np.random.default_rng(3)
    recipe = TrainingRecipe(width=6, patch_px=16)
    weights = training._first_weights(recipe, rng)
    batch = [training._noisy_patch(photographs, 16 + 2 * CONTEXT_PX, (0.01, 0.02), rng) for _ in range(2)]
    _, gradients = training._gradients(weights, batch)
    for array, gradient in zip([*weights.kernels, *weights.biases], gradients, strict=True):
        place = np.unravel_index(np.argmax(np.abs(gradient)), gradient.shape)
        kept, errors = array[place], []
        for step in (1e-2, -1e-2):
            array[place] = kept + step
            errors.append(training._gradients(weights, batch)[0])
        array[place] = kept
        assert (errors[0] - errors[1]) / 2e-2 == pytest.approx(float(gradient[place]), rel=0.05)


def test_training_learns_repeats_and_round_trips(tmp_path: Path, photographs: list[Image]):
    recipe = TrainingRecipe(steps=60, batch=4, patch_px=16, width=6, rate=3e-3, variances=(0.01, 0.0101))
    errors: list[float] = []
    first = train_denoiser(photographs, recipe, lambda _, error: errors.append(error))
    again = train_denoiser(photographs, recipe, lambda _step, _error: None)
    assert np.mean(errors[-10:]) < np.mean(errors[:5])
    save_denoiser(first, tmp_path / "weights.safetensors")
    loaded = load_denoiser(tmp_path / "weights.safetensors")
    for layer in range(LAYERS):
        assert np.array_equal(first.kernels[layer], again.kernels[layer])
        assert np.array_equal(first.kernels[layer], loaded.kernels[layer])
        assert np.array_equal(first.scales[layer], loaded.scales[layer])


def test_folding_keeps_every_pixel():
    picture = np.arange(4 * 6 * 3, dtype=np.uint8).reshape(4, 6, 3)
    planes = fold_quads(picture)
    assert planes.shape == (12, 2, 3)
    assert sorted(planes.ravel().tolist()) == sorted(picture.ravel().tolist())
    assert planes[0, 1, 2] == picture[2, 4, 0]


def test_what_cannot_be_learned_from_or_read_is_refused(tmp_path: Path):
    with pytest.raises(UsageError, match="no picture to learn from"):
        train_denoiser([np.zeros((20, 20, 3), np.uint8)], TrainingRecipe(steps=1), lambda _step, _error: None)
    with pytest.raises(UsageError, match="recipe"):
        TrainingRecipe(steps=0)
    (tmp_path / "broken.safetensors").write_bytes(b"nothing")
    with pytest.raises(InputError, match="no weights"):
        load_denoiser(tmp_path / "broken.safetensors")
