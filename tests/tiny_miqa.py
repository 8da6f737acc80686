"""RA-MIQA with 32 channels, and images of noise to train it on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
from safetensors.torch import save_file

from embodied_iqa.quality.metrics.image_set import PairImages
from embodied_iqa.quality.metrics.learned.inputs import InputKind, NetworkInput
from embodied_iqa.quality.metrics.metric import MetricContext
from embodied_iqa.quality.metrics.trainable import TrainingSet
from embodied_iqa.quality.metrics.training.metric_training import RecipeTraining
from embodied_iqa.quality.metrics.training.miqa_recipes import MIQA_RECIPES
from embodied_iqa.quality.metrics.training.recipes import MetricRecipe, RegionSource, TransformerSize
from embodied_iqa.quality.metrics.training.starting_weights import StartingWeights
from embodied_iqa.quality.metrics.training.transformer import VisionTransformer

SIZE = TransformerSize(32, 2, 2, 16)
SQUARE_PX, CROP_PX = 48, 32


def tiny(name: str = "ra-miqa-small", epochs: int = 2) -> MetricRecipe:
    """Return a recipe of the same kind with a network of 32 channels."""
    recipe = MIQA_RECIPES[name]
    assert recipe.network is not None
    network = replace(recipe.network, crop_px=CROP_PX)
    if network.transformer is not None:
        network = replace(network, transformer=SIZE, region=network.region and RegionSource(SIZE))
    square = NetworkInput(InputKind.SQUARE, size_px=(SQUARE_PX, SQUARE_PX))
    return replace(recipe, input=square, network=network, epochs=epochs, batch=16, rate=2e-3, steps=0)


def encoder_file(folder: Path, seed: int = 3) -> Path:
    """Write a region encoder with random weights; return the file."""
    torch.manual_seed(seed)
    save_file(VisionTransformer(SIZE, SQUARE_PX).state_dict(), folder / "region.safetensors")
    return folder / "region.safetensors"


class Noisy:
    """Images of noise that is stronger the lower the label is."""

    name = "noise"

    def read(self, pair_ids: Sequence[str]) -> Iterator[PairImages]:
        """Yield images of `OWNER-LEVEL`."""
        for pair_id in pair_ids:
            owner, level = map(int, pair_id.split("-"))
            rng = np.random.default_rng([owner, level])
            rgb = np.clip(128 + rng.normal(0, 20 * level + 1, (60, 80, 3)), 0, 255).astype(np.uint8)
            yield PairImages(pair_id, rgb, None, MetricContext())

    def digest(self, pair_ids: Sequence[str]) -> str:
        """Return the names."""
        return " ".join(pair_ids)


def samples(references: int = 8) -> TrainingSet:
    """Return five images of each reference."""
    pairs = [
        (f"{owner}-{level}", f"r{owner}", 1.0 - level / 5)
        for owner in range(references)
        for level in range(5)
    ]
    ids, owners, labels = zip(*pairs, strict=True)
    return TrainingSet(Noisy(), ids, owners, np.array(labels))


def train_tiny(folder: Path, seed: int = 0) -> Path:
    """Train RA-MIQA for an epoch; return the folder of the model."""
    starting = StartingWeights(region=encoder_file(folder))
    training = RecipeTraining(tiny(epochs=1), target="miqa:noise", starting=starting)
    training.train(samples(), folder / "model", seed)
    return folder / "model"
