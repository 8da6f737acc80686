"""Weights that a training begins with: local safetensors files with the parameter names of timm."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor, nn
from torch.nn import functional

from embodied_iqa.base.errors import InputError, UsageError
from embodied_iqa.base.files import sha256_of
from embodied_iqa.quality.metrics.training.miqa_networks import RegionAware, TorchvisionNetwork
from embodied_iqa.quality.metrics.training.transformer import VisionTransformer

_PREFIXES: Final = ("module.", "state_dict.", "model.", "backbone.", "encoder.")
_HEADS: Final = ("head.", "head_dist.", "fc.", "classifier.", "decode_head.", "fc_norm.")
"""Of classifiers and segmenters; the metric has a head of its own."""
_POSITIONS: Final = "pos_embed"


@dataclass(frozen=True, slots=True)
class StartingWeights:
    """Files to begin with; None for random weights.

    Attributes:
        backbone: Of the backbone, such as timm's ``vit_small_patch16_224``.
        region: Of the region encoder, which is not trained.
    """

    backbone: Path | None = None
    region: Path | None = None

    def record(self) -> dict[str, str]:
        """Return the hashes of the files by name.

        Raises:
            InputError: A file is missing.
        """
        files = {"backbone": self.backbone, "region": self.region}
        return {f"{name}_weights": sha256_of(file) for name, file in files.items() if file is not None}


def start_from(network: nn.Module, weights: StartingWeights) -> None:
    """Load the weights of files into a network.

    Raises:
        UsageError: The network has no backbone or region encoder to load.
        InputError: A file is missing or damaged, or is of another network.
    """
    if weights.backbone is not None:
        if not isinstance(network, (RegionAware, TorchvisionNetwork)):
            raise UsageError("weights to begin with", expected="a metric with a backbone, such as ra-miqa")
        load_weights(network.backbone, weights.backbone)
    if weights.region is not None:
        encoder = network.encoder if isinstance(network, RegionAware) else None
        if encoder is None:
            raise UsageError("weights of a region encoder", expected="a metric with a region token")
        load_weights(encoder, weights.region)


def load_weights(network: nn.Module, path: Path) -> None:
    """Load a safetensors file; position embeddings of another resolution are interpolated.

    Prefixes such as ``module.`` and heads of classifiers are left out.

    Raises:
        InputError: The file is missing or damaged, or is of another network.
    """
    found = _tensors(path)
    if isinstance(network, VisionTransformer) and _POSITIONS in found:
        found[_POSITIONS] = _resampled(found[_POSITIONS], network.pos_embed.shape[1])
    wanted = {name: value for name, value in network.state_dict().items() if not name.startswith(_HEADS)}
    wrong = [name for name in wanted if name not in found or found[name].shape != wanted[name].shape]
    strange = [name for name in found if name not in wanted and not name.startswith(_HEADS)]
    if wrong or strange:
        got = [f"{name} {tuple(found[name].shape) if name in found else 'missing'}" for name in wrong]
        raise InputError(
            f"{path} has the weights of another network",
            expected=", ".join(f"{name} {tuple(wanted[name].shape)}" for name in wrong[:2])
            or "no other names",
            got=", ".join((got or strange)[:2]),
        )
    network.load_state_dict(
        {name: found[name].to(value.dtype) for name, value in wanted.items()}, strict=False
    )


def _tensors(path: Path) -> dict[str, Tensor]:
    try:
        stored: Mapping[str, Tensor] = load_file(path)
    except (OSError, SafetensorError) as error:
        raise InputError(f"cannot read the weights {path}: {error}", expected="a safetensors file") from error
    return {_plain_name(name): value for name, value in stored.items()}


def _plain_name(name: str) -> str:
    while (prefix := next((one for one in _PREFIXES if name.startswith(one)), "")) != "":
        name = name.removeprefix(prefix)
    return name


def _resampled(positions: Tensor, tokens: int) -> Tensor:
    """Return ``(1, tokens, D)``: the class token's embedding, and those of the patches on another grid."""
    sides = [math.isqrt(count - 1) for count in (positions.shape[1], tokens)]
    if positions.ndim != 3 or positions.shape[1] == tokens or sides[0] ** 2 + 1 != positions.shape[1]:
        return positions
    grid = positions[:, 1:].reshape(1, sides[0], sides[0], -1).permute(0, 3, 1, 2)
    other = functional.interpolate(grid, size=(sides[1], sides[1]), mode="bicubic", antialias=True)
    return torch.cat([positions[:, :1], other.flatten(2).transpose(1, 2)], dim=1)
