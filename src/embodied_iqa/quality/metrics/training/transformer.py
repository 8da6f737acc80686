"""Vision transformer (Dosovitskiy et al. 2021) in plain PyTorch, with the parameter names of timm.

By hand: timm's gives the same tokens bit for bit, but draws other first weights from a seed, and would be one
more library of every training for these hundred lines.
"""

from __future__ import annotations

from typing import Final

import torch
from torch import Tensor, nn
from torch.nn import functional

from embodied_iqa.quality.metrics.training.recipes import TransformerSize

IMAGENET_MEANS: Final = (0.485, 0.456, 0.406)
IMAGENET_DEVIATIONS: Final = (0.229, 0.224, 0.225)
"""Of red, green and blue in [0, 1]."""
_EPSILON: Final = 1e-6
_SPREAD: Final = 0.02
_MLP_RATIO: Final = 4


class _Attention(nn.Module):
    def __init__(self, dim: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.qkv, self.proj = nn.Linear(dim, 3 * dim), nn.Linear(dim, dim)

    def forward(self, tokens: Tensor) -> Tensor:
        batch, count, dim = tokens.shape
        query, key, value = self.qkv(tokens).view(batch, count, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        seen = functional.scaled_dot_product_attention(query, key, value)
        mixed: Tensor = self.proj(seen.transpose(1, 2).reshape(batch, count, dim))
        return mixed


class _Mlp(nn.Module):
    def __init__(self, dim: int) -> None:
        super().__init__()
        self.fc1, self.fc2 = nn.Linear(dim, _MLP_RATIO * dim), nn.Linear(_MLP_RATIO * dim, dim)

    def forward(self, tokens: Tensor) -> Tensor:
        changed: Tensor = self.fc2(functional.gelu(self.fc1(tokens)))
        return changed


class _TransformerBlock(nn.Module):
    def __init__(self, size: TransformerSize) -> None:
        super().__init__()
        self.norm1, self.norm2 = (nn.LayerNorm(size.dim, _EPSILON) for _ in range(2))
        self.attn, self.mlp = _Attention(size.dim, size.heads), _Mlp(size.dim)

    def forward(self, tokens: Tensor) -> Tensor:
        tokens = tokens + self.attn(self.norm1(tokens))
        changed: Tensor = tokens + self.mlp(self.norm2(tokens))
        return changed


class _PatchEmbedding(nn.Module):
    def __init__(self, size: TransformerSize) -> None:
        super().__init__()
        self.proj = nn.Conv2d(3, size.dim, size.patch_px, size.patch_px)

    def forward(self, planes: Tensor) -> Tensor:
        tokens: Tensor = self.proj(planes).flatten(2).transpose(1, 2)
        return tokens


class VisionTransformer(nn.Module):
    """Patches and a class token through blocks of attention.

    Args:
        size: Its size.
        side_px: Side of the square images, a multiple of the patch.
    """

    def __init__(self, size: TransformerSize, side_px: int) -> None:
        super().__init__()
        patches = (side_px // size.patch_px) ** 2
        self.patch_embed = _PatchEmbedding(size)
        self.cls_token = nn.Parameter(_SPREAD * torch.randn(1, 1, size.dim))
        self.pos_embed = nn.Parameter(_SPREAD * torch.randn(1, 1 + patches, size.dim))
        self.blocks = nn.ModuleList(_TransformerBlock(size) for _ in range(size.blocks))
        self.norm = nn.LayerNorm(size.dim, _EPSILON)
        self.apply(_initialised)

    def embedded(self, planes: Tensor) -> Tensor:
        """Return ``(N, 1 + patches, D)``, class token and patches, each with its own position embedding."""
        patches = self.patch_embed(planes)
        tokens = torch.cat([self.cls_token.expand(patches.shape[0], -1, -1), patches], dim=1)
        return tokens + self.pos_embed

    def encoded(self, tokens: Tensor) -> Tensor:
        """Return ``(N, T, D)``, tokens after all blocks and the norm."""
        for block in self.blocks:
            tokens = block(tokens)
        normal: Tensor = self.norm(tokens)
        return normal

    def patch_map(self, planes: Tensor, layer: int = 0) -> Tensor:
        """Return ``(N, patches, D)`` after a block.

        Args:
            planes: ``(N, 3, H, W)``, normalised.
            layer: Number of the block, from 1; 0 for the last one, after the norm.
        """
        tokens = self.embedded(planes)
        if layer == 0:
            return self.encoded(tokens)[:, 1:]
        for block in list(self.blocks)[:layer]:
            tokens = block(tokens)
        return tokens[:, 1:]


def _initialised(module: nn.Module) -> None:
    if isinstance(module, nn.Linear):
        nn.init.trunc_normal_(module.weight, std=_SPREAD)
        nn.init.zeros_(module.bias)
