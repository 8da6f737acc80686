"""Recipes of machine-vision quality metrics: RA-MIQA, its ablation and its baselines (arXiv 2508.19850).

The full sizes have the paper's settings: AdamW, weight decay 1e-4, one epoch of warm-up, a cosine to 1e-8 at
each step, batches of 256, 5 epochs, random crops and flips both ways. The small size is for two cores.
"""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType
from typing import Final

from embodied_iqa.base.errors import UsageError
from embodied_iqa.quality.metrics.learned.inputs import InputKind, NetworkInput
from embodied_iqa.quality.metrics.training.recipes import (
    Architecture,
    ImageNetwork,
    MetricRecipe,
    Objective,
    RegionEncoderPlan,
    RegionSource,
    TransformerSize,
)

_REGION_SCENES, _REGION_EPOCHS = 1000, 15
REGION_LAYERS: Final = ("last", "none")
"""Words for `with_region_layer` beside the number of a block."""
_SQUARE_PX, _CROP_PX = 288, 224
_SMALL_SQUARE_PX, _SMALL_CROP_PX = 144, 112
_SMALL_STEPS: Final = 1800
_SMALL_IMAGES: Final = 100
"""Of a reference."""
_VIT_SMALL: Final = TransformerSize(384, 12, 6)
_SMALL_VIT: Final = TransformerSize(128, 4, 4)


def _full(name: str, summary: str, architecture: Architecture, network: ImageNetwork) -> MetricRecipe:
    return MetricRecipe(
        name,
        summary,
        architecture,
        NetworkInput(InputKind.SQUARE, size_px=(_SQUARE_PX, _SQUARE_PX)),
        epochs=5,
        patience=5,
        batch=256,
        rate=1e-4,
        weight_decay=1e-4,
        shared_label=0.0,
        objective=Objective.SQUARED,
        warm_up_epochs=1.0,
        least_rate_share=1e-4,
        network=network,
    )


def _small(name: str, summary: str, region: RegionSource | None) -> MetricRecipe:
    network = ImageNetwork(_SMALL_CROP_PX, _SMALL_VIT, region, pretrained=True)
    whole = _full(name, summary, Architecture.REGION_AWARE, network)
    square = NetworkInput(InputKind.SQUARE, size_px=(_SMALL_SQUARE_PX, _SMALL_SQUARE_PX))
    return replace(
        whole,
        input=square,
        epochs=60,
        patience=15,
        batch=64,
        rate=5e-4,
        weight_decay=0.02,
        steps=_SMALL_STEPS,
        fewest_epochs=5,
        pictures_each=_SMALL_IMAGES,
    )


def _torchvision(name: str, network: str) -> MetricRecipe:
    summary = f"No reference: {network} of torchvision with one output."
    return _full(name, summary, Architecture.TORCHVISION, ImageNetwork(_CROP_PX, torchvision=network))


MIQA_RECIPES: Final = MappingProxyType(
    {
        recipe.name: recipe
        for recipe in (
            _full(
                "ra-miqa",
                "No reference: RA-MIQA, ViT-S/16 with a region token of a frozen region encoder.",
                Architecture.REGION_AWARE,
                ImageNetwork(_CROP_PX, _VIT_SMALL, RegionSource(_VIT_SMALL)),
            ),
            _small(
                "ra-miqa-small",
                "No reference: RA-MIQA of a third of the width and depth, half the resolution.",
                RegionSource(_SMALL_VIT),
            ),
            _small(
                "ra-miqa-small-without-region", "No reference: ra-miqa-small without its region token.", None
            ),
            _torchvision("resnet18", "resnet18"),
            _torchvision("resnet50", "resnet50"),
            _torchvision("efficientnet-b1", "efficientnet_b1"),
            _torchvision("efficientnet-b5", "efficientnet_b5"),
            _full(
                "vit-small-patch16",
                "No reference: ViT-S/16 with one output, RA-MIQA without its region token.",
                Architecture.REGION_AWARE,
                ImageNetwork(_CROP_PX, _VIT_SMALL),
            ),
        )
    }
)
"""Recipes of machine-vision quality metrics by name."""


def region_plan(recipe: MetricRecipe, seed: int) -> RegionEncoderPlan | None:
    """Return how a recipe's region encoder is trained on rendered scenes; None if it needs none."""
    network = recipe.network
    if network is None or network.transformer is None or not (network.region or network.pretrained):
        return None
    size = network.transformer if network.region is None else network.region.encoder
    return RegionEncoderPlan(size, recipe.input.size_px[0], _REGION_SCENES, _REGION_EPOCHS, seed)


def with_region_layer(recipe: MetricRecipe, layer: str) -> MetricRecipe:
    """Return a recipe whose region token comes from another block of the region encoder.

    Args:
        recipe: With a region token.
        layer: ``last``, the number of a block from 1, or ``none`` for no region token.

    Raises:
        UsageError: The recipe has no region token, or the encoder no such block.
    """
    network = recipe.network
    if network is None or network.region is None:
        raise UsageError(f"{recipe.name} has no region token", expected="ra-miqa or ra-miqa-small")
    blocks = network.region.encoder.blocks
    if layer not in REGION_LAYERS and layer not in map(str, range(1, blocks + 1)):
        raise UsageError("wrong region layer", expected=f"1 to {blocks}, last or none", got=layer)
    if layer == "none":
        return replace(recipe, network=replace(network, region=None))
    number = 0 if layer == "last" else int(layer)
    return replace(recipe, network=replace(network, region=replace(network.region, layer=number)))
