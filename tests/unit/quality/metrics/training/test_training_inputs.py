"""Inputs of large trainings: the drawn part, the store on disk, features of the frozen region encoder."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from hashlib import sha256
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from embodied_iqa.base.errors import InputError
from embodied_iqa.quality.metrics.drawing import drawn_of_each
from embodied_iqa.quality.metrics.image_set import PairImages
from embodied_iqa.quality.metrics.learned.inputs import InputKind, NetworkInput
from embodied_iqa.quality.metrics.metric import MetricContext
from embodied_iqa.quality.metrics.trainable import TrainingSet
from embodied_iqa.quality.metrics.training.cache import InputCache
from embodied_iqa.quality.metrics.training.loop import MetricEpoch, make_network
from embodied_iqa.quality.metrics.training.measuring import MeasuredInputs, measure_inputs
from embodied_iqa.quality.metrics.training.metric_training import INPUTS_FOLDER, RecipeTraining
from embodied_iqa.quality.metrics.training.miqa_networks import FLIPS, RegionAware, region_features
from embodied_iqa.quality.metrics.training.recipes import RECIPES, MetricRecipe
from embodied_iqa.quality.metrics.training.starting_weights import StartingWeights
from tiny_miqa import CROP_PX, SIZE, SQUARE_PX, encoder_file, tiny

SQUARE = NetworkInput(InputKind.SQUARE, size_px=(SQUARE_PX, SQUARE_PX))


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


class Noise:
    """Images of noise, which count what is read."""

    name = "noise"

    def __init__(self, fails_at: int = -1) -> None:
        self.seen: list[str] = []
        self.fails_at = fails_at

    def read(self, pair_ids: Sequence[str]) -> Iterator[PairImages]:
        for pair_id in pair_ids:
            if len(self.seen) == self.fails_at:
                raise InputError("the disk is gone")
            self.seen.append(pair_id)
            rgb = np.random.default_rng(list(pair_id.encode())).integers(0, 256, (50, 60, 3), np.uint8)
            yield PairImages(pair_id, rgb, None, MetricContext())

    def digest(self, pair_ids: Sequence[str]) -> str:
        return " ".join(pair_ids)


REFERENCES = [f"r{number // 40}" for number in range(320)]
PAIRS = [f"{name}-{number % 40:02d}" for number, name in enumerate(REFERENCES)]


def measured(images: Noise, folder: Path | None, cache: Path, count: int = 160) -> MeasuredInputs:
    return measure_inputs(
        images, PAIRS[:count], REFERENCES[:count], SQUARE, InputCache(cache / "inputs.sqlite"), store=folder
    )


def test_as_many_pairs_of_each_reference_are_drawn_whatever_their_order() -> None:
    drawn = drawn_of_each(PAIRS, REFERENCES, 7, seed=3)
    names = [pair for pair, chosen in zip(PAIRS, drawn, strict=True) if chosen]
    assert [sum(name.startswith(f"r{number}-") for name in names) for number in range(8)] == [7] * 8
    other = drawn_of_each(PAIRS[::-1], REFERENCES[::-1], 7, seed=3)
    assert other[::-1].tolist() == drawn.tolist()
    assert drawn_of_each(PAIRS, REFERENCES, 7, seed=4).tolist() != drawn.tolist()
    assert drawn_of_each(PAIRS, REFERENCES, 0, seed=3).all()
    fewer = drawn_of_each(PAIRS, REFERENCES, 6, seed=3)
    assert (drawn | ~fewer).all()  # a larger part holds the smaller one


def test_a_store_holds_the_same_inputs_as_memory(tmp_path: Path) -> None:
    found = measured(Noise(), tmp_path / "store", tmp_path / "a")
    plain = measured(Noise(), None, tmp_path / "b")
    np.testing.assert_array_equal(found.values, plain.values)
    np.testing.assert_array_equal(found.views, plain.views)
    assert isinstance(found.values, np.memmap)
    from_cache = Noise()
    again = measured(from_cache, tmp_path / "other", tmp_path / "b")
    np.testing.assert_array_equal(again.values, plain.values)
    assert from_cache.seen == []


def test_an_interrupted_store_measures_only_what_is_missing(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="the disk is gone"):
        measured(Noise(fails_at=130), tmp_path / "store", tmp_path / "a")
    rest = Noise()
    found = measured(rest, tmp_path / "store", tmp_path / "empty")  # the cache has lost everything
    assert 0 < len(rest.seen) < 160
    np.testing.assert_array_equal(found.values, measured(Noise(), None, tmp_path / "b").values)


def test_what_another_process_has_measured_meanwhile_is_not_measured_again(tmp_path: Path) -> None:
    class Overtaken(Noise):
        def read(self, pair_ids: Sequence[str]) -> Iterator[PairImages]:
            if not self.seen:
                measured(other, None, tmp_path)
            return super().read(pair_ids)

    other, slow = Noise(), Overtaken()
    found = measured(slow, None, tmp_path)
    assert len(other.seen) == 160
    assert 0 < len(slow.seen) <= 80  # the job that was under way
    np.testing.assert_array_equal(found.values, measured(Noise(), None, tmp_path / "b").values)


def test_a_store_of_other_pairs_begins_anew(tmp_path: Path) -> None:
    measured(Noise(), tmp_path / "store", tmp_path / "a", count=80)
    found = measured(Noise(), tmp_path / "store", tmp_path / "a", count=120)
    np.testing.assert_array_equal(found.values, measured(Noise(), None, tmp_path / "b", count=120).values)


def test_a_full_disk_is_an_error_before_anything_is_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(descriptor: int, offset: int, size: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "posix_fallocate", full)
    images = Noise()
    with pytest.raises(InputError, match=r"cannot keep inputs in .*No space left"):
        measured(images, tmp_path / "store", tmp_path / "a")
    assert images.seen == []


def drawing(name: str = "ra-miqa-small", rate: float = 2e-3) -> MetricRecipe:
    """Return a recipe of one epoch with ten images of each reference."""
    return replace(tiny(name, epochs=1), pictures_each=10, rate=rate)


def test_known_features_give_the_same_output_for_each_mirror_image() -> None:
    torch.manual_seed(0)
    network = make_network(drawing(), 0)
    assert isinstance(network, RegionAware)
    network.eval()
    values = np.random.default_rng(1).integers(0, 256, (70, SQUARE_PX, SQUARE_PX, 3), np.uint8)
    features = region_features(network, values, flips=4)
    assert features.shape == (70, 4, SIZE.dim)
    views = torch.zeros(70, dtype=torch.long)
    for place, axes in enumerate(FLIPS):
        images = torch.from_numpy(values).flip(axes)
        known = network.members_of(images, torch.from_numpy(features[:, place]))
        torch.testing.assert_close(known, network.members(images, views), atol=1e-5, rtol=0)
    assert np.abs(features[:, 0] - features[:, 1]).max() > 1e-3


def samples(images: Noise) -> TrainingSet:
    labels = np.random.default_rng(2).uniform(0, 1, len(PAIRS))
    return TrainingSet(images, tuple(PAIRS), tuple(REFERENCES), labels)


@pytest.mark.parametrize("name", ["ra-miqa-small", "ra-miqa-small-without-region"])
def test_the_small_backbone_begins_with_the_region_encoder(name: str, tmp_path: Path) -> None:
    file = encoder_file(tmp_path)
    training = RecipeTraining(drawing(name, rate=0.0), starting=StartingWeights(region=file))
    training.train(samples(Noise()), tmp_path / "metric", 0)
    state = load_file(tmp_path / "metric" / "training" / "state.safetensors")
    for key, value in load_file(file).items():
        if key != "pos_embed":  # of another grid
            assert state[f"weights.network.backbone.{key}"].equal(value), key
    assert state["weights.network.backbone.pos_embed"].shape == (1, 1 + (CROP_PX // 16) ** 2, SIZE.dim)


def test_a_training_uses_the_drawn_part_and_leaves_no_store(tmp_path: Path) -> None:
    images, out = Noise(), tmp_path / "metric"
    training = RecipeTraining(drawing(), starting=StartingWeights(region=encoder_file(tmp_path)))

    def stop(_: MetricEpoch) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        training.train_watched(samples(images), out, 0, stop)
    assert len(set(images.seen)) == len(images.seen) == 80
    assert (out / INPUTS_FOLDER).is_dir()
    again = Noise()
    training.train(samples(again), out, 0)
    assert again.seen == []
    assert not (out / INPUTS_FOLDER).exists()


def test_recipes_have_the_text_that_the_records_of_finished_trainings_hash() -> None:
    text = repr([sorted(asdict(recipe).items()) for recipe in RECIPES.values()])
    assert sha256(text.encode()).hexdigest()[:16] == "ed4e1ef3a1f37b9c"
