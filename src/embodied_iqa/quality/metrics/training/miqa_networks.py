"""Networks of machine-vision quality: RA-MIQA and baselines of torchvision.

Each maps central squares ``(N, S, S, 3)`` uint8 to ``(1, N, 2)``; both columns are the standardised label.
"""

from __future__ import annotations

from typing import Any, Final, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from embodied_iqa.base.errors import InternalError
from embodied_iqa.base.lazy import load
from embodied_iqa.models.subjects.repositories import INSTALL_MODELS
from embodied_iqa.quality.metrics.training.image_networks import ImageLearner, planes_of
from embodied_iqa.quality.metrics.training.recipes import ImageNetwork, RegionSource, TransformerSize
from embodied_iqa.quality.metrics.training.transformer import (
    IMAGENET_DEVIATIONS,
    IMAGENET_MEANS,
    VisionTransformer,
)

_DROPOUT: Final = 0.2
FLIPS: Final = ((), (2,), (1,), (2, 1))
"""Axes of ``(N, H, W, 3)`` along which an image is mirrored; the place is left-right + 2 upside down."""
_IMAGES_AT_ONCE: Final = 64


class _CroppedNetwork(ImageLearner):
    """What the networks share: the crop, the normalisation of ImageNet, one output."""

    def __init__(self, crop_px: int) -> None:
        super().__init__()
        self.crop_px = crop_px
        for name, numbers in (("means", IMAGENET_MEANS), ("deviations", IMAGENET_DEVIATIONS)):
            self.register_buffer(name, torch.tensor(numbers)[None, :, None, None], persistent=False)

    def normalised(self, planes: Tensor) -> Tensor:
        """Return planes in [-0.5, 0.5] with the mean and deviation of ImageNet's images."""
        normal: Tensor = (planes + 0.5 - self.means) / self.deviations
        return normal

    def cropped(self, planes: Tensor) -> Tensor:
        """Return ``(N, 3, C, C)``: a random crop of each image in training, else the central one."""
        room, side = planes.shape[2] - self.crop_px, self.crop_px
        if not self.training:
            at = room // 2
            return planes[:, :, at : at + side, at : at + side]
        places = torch.randint(0, room + 1, (len(planes), 2)).tolist()
        crops = [
            plane[:, top : top + side, left : left + side]
            for plane, (top, left) in zip(planes, places, strict=True)
        ]
        return torch.stack(crops)


class RegionAware(_CroppedNetwork):
    """RA-MIQA: tokens [region, class, patches] with position embeddings, and a head on the first two.

    The region token is the spatial mean of a feature map of a frozen encoder that sees the whole square. The
    encoder is in evaluation mode also in training. Without a region token the head sees the class token.

    Args:
        size: Of the backbone.
        region: Where the region token comes from; None for none.
        square_px: Side of the images.
        crop_px: Side of what the backbone sees.
        pretrained: The backbone begins with weights of a region encoder, whose normalisation it then has.
    """

    encoder: VisionTransformer | None

    def __init__(
        self,
        size: TransformerSize,
        region: RegionSource | None,
        square_px: int,
        crop_px: int,
        *,
        pretrained: bool = False,
    ) -> None:
        super().__init__(crop_px)
        self.pretrained = pretrained
        dim, tokens = size.dim, 1 if region is None else 2
        self.backbone = VisionTransformer(size, crop_px)
        self.encoder, self.layer = None, 0
        if region is not None:
            self.encoder = VisionTransformer(region.encoder, square_px).requires_grad_(requires_grad=False)
            self.layer = region.layer
            self.project = nn.Sequential(nn.Linear(region.encoder.dim, dim), nn.LayerNorm(dim), nn.GELU())
            self.region_pos = nn.Parameter(0.02 * torch.randn(1, 1, dim))
        self.head = nn.Sequential(
            nn.Linear(tokens * dim, dim), nn.GELU(), nn.Dropout(_DROPOUT), nn.Linear(dim, 1)
        )

    def train(self, mode: bool = True) -> Self:  # noqa: FBT001, FBT002 - the signature of torch
        """Set the mode of everything but the frozen encoder."""
        super().train(mode)
        if self.encoder is not None:
            self.encoder.eval()
        return self

    def region_features(self, planes: Tensor) -> Tensor:
        """Return ``(N, E)``, the spatial mean of the feature map of the frozen encoder.

        Raises:
            InternalError: The network has no region encoder.
        """
        if self.encoder is None:
            raise InternalError("a network without region token has no region features")
        with torch.no_grad():
            return self.encoder.patch_map(self.normalised(planes), self.layer).mean(1)

    def sequence(self, planes: Tensor, features: Tensor | None = None) -> Tensor:
        """Return ``(N, T, D)``, the tokens before the first block.

        Args:
            planes: ``(N, 3, S, S)`` in [-0.5, 0.5].
            features: ``(N, E)`` of `region_features` if known.
        """
        seen = self.cropped(planes)
        tokens = self.backbone.embedded(self.normalised(seen) if self.pretrained else 2.0 * seen)
        if self.encoder is None:
            return tokens
        found = self.region_features(planes) if features is None else features
        return torch.cat([self.project(found)[:, None] + self.region_pos, tokens], dim=1)

    def score(self, planes: Tensor, features: Tensor | None = None) -> Tensor:
        """Return the standardised label twice; `features` as in `sequence`."""
        tokens = self.backbone.encoded(self.sequence(planes, features))
        seen = 1 if self.encoder is None else 2
        value: Tensor = self.head(tokens[:, :seen].flatten(1))
        return torch.cat([value, value], dim=1)

    def members_of(self, inputs: Tensor, features: Tensor) -> Tensor:
        """Return what `members` returns, for known region features ``(N, E)``."""
        return self.score(planes_of(inputs), features)[None]


class TorchvisionNetwork(_CroppedNetwork):
    """A classifier of torchvision from nothing, with one output.

    Args:
        name: Of its function in ``torchvision.models``.
        crop_px: Side of what it sees.
    """

    def __init__(self, name: str, crop_px: int) -> None:
        super().__init__(crop_px)
        make = load(f"torchvision.models:{name}", INSTALL_MODELS)
        self.backbone: nn.Module = make(num_classes=1)

    def score(self, planes: Tensor) -> Tensor:
        """Return the standardised label twice."""
        value = self.backbone(self.normalised(self.cropped(planes)))
        return torch.cat([value, value], dim=1)


def make_square_network(network: ImageNetwork, square_px: int) -> RegionAware | TorchvisionNetwork:
    """Return a new network of central squares of this side."""
    if network.transformer is None:
        return TorchvisionNetwork(network.torchvision, network.crop_px)
    sizes = network.transformer, network.region, square_px, network.crop_px
    return RegionAware(*sizes, pretrained=network.pretrained)


def region_features(network: RegionAware, values: NDArray[Any], *, flips: int) -> NDArray[np.float32]:
    """Return the features of images and of their mirror images.

    The encoder is frozen and sees whole images, so that they are the same in each epoch. Batches are fixed:
    an interrupted training computes the same bits again.

    Args:
        network: With a region encoder.
        values: ``(N, S, S, 3)`` uint8.
        flips: How many of `FLIPS`, from the first.

    Returns:
        ``(N, flips, E)``.
    """
    found = []
    with torch.inference_mode():
        for start in range(0, len(values), _IMAGES_AT_ONCE):
            images = torch.from_numpy(values[start : start + _IMAGES_AT_ONCE])
            sides = [network.region_features(planes_of(images.flip(axes))) for axes in FLIPS[:flips]]
            found.append(torch.stack(sides, dim=1).numpy())
    return np.concatenate(found)
