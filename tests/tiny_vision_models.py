"""Vision models of transformers with random weights, made from configuration: tiny, but whole."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

NAMES = {0: "cube", 1: "ball", 2: "cup"}
SIDE = {"height": 64, "width": 64}
RESNET = {
    "embedding_size": 8,
    "hidden_sizes": [8, 8, 8, 16],
    "depths": [1, 1, 1, 1],
    "layer_type": "basic",
}
DETR = {
    "d_model": 16,
    "encoder_layers": 1,
    "decoder_layers": 1,
    "encoder_attention_heads": 2,
    "decoder_attention_heads": 2,
    "encoder_ffn_dim": 16,
    "decoder_ffn_dim": 16,
    "num_queries": 12,
}
Pair = tuple[Any, Any]


def _labels() -> dict[str, Any]:
    return {"id2label": NAMES, "label2id": {name: number for number, name in NAMES.items()}}


def _vit() -> Pair:
    import transformers

    config = transformers.ViTConfig(
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=16,
        image_size=32,
        patch_size=16,
        **_labels(),
    )
    processor = transformers.ViTImageProcessor(size={"height": 32, "width": 32})
    return transformers.ViTForImageClassification(config), processor


def _resnet() -> Pair:
    import transformers

    config = transformers.ResNetConfig(**RESNET, **_labels())
    processor = transformers.ConvNextImageProcessor(size={"shortest_edge": 32}, crop_pct=0.875)
    return transformers.ResNetForImageClassification(config), processor


def _backbone(*stages: str) -> Any:
    import transformers

    return transformers.ResNetConfig(**RESNET, out_features=list(stages))


def _detr() -> Pair:
    import transformers

    config = transformers.DetrConfig(
        use_timm_backbone=False, use_pretrained_backbone=False, backbone=None,
        backbone_config=_backbone("stage4"), **DETR, **_labels(),
    )  # fmt: skip
    processor = transformers.DetrImageProcessor(size={"shortest_edge": 48, "longest_edge": 64})
    return transformers.DetrForObjectDetection(config), processor


def _rt_detr() -> Pair:
    import transformers

    backbone = transformers.RTDetrResNetConfig(**RESNET, out_features=["stage2", "stage3", "stage4"])
    config = transformers.RTDetrConfig(
        backbone_config=backbone, encoder_hidden_dim=16, encoder_in_channels=[8, 8, 16],
        encoder_attention_heads=2, encoder_ffn_dim=16, d_model=16, decoder_in_channels=[16, 16, 16],
        decoder_ffn_dim=16, decoder_layers=1, decoder_attention_heads=2, decoder_n_points=2, num_queries=20,
        num_denoising=0, **_labels(),
    )  # fmt: skip
    return transformers.RTDetrForObjectDetection(config), transformers.RTDetrImageProcessor(size=SIDE)


def _maskformer() -> Pair:
    import transformers

    config = transformers.MaskFormerConfig(
        backbone_config=_backbone("stage1", "stage2", "stage3", "stage4"),
        decoder_config=transformers.DetrConfig(**DETR, use_timm_backbone=False, backbone=None),
        fpn_feature_size=32, mask_feature_size=32, **_labels(),
    )  # fmt: skip
    processor = transformers.MaskFormerImageProcessor(size={"shortest_edge": 48, "longest_edge": 64})
    return transformers.MaskFormerForInstanceSegmentation(config), processor


def _mask2former() -> Pair:
    import transformers

    config = transformers.Mask2FormerConfig(
        backbone_config=_backbone("stage1", "stage2", "stage3", "stage4"),
        feature_size=32, mask_feature_size=32,
        hidden_dim=32, encoder_feedforward_dim=16, encoder_layers=1, decoder_layers=2, num_attention_heads=2,
        dim_feedforward=16, num_queries=12, **_labels(),
    )  # fmt: skip
    return (
        transformers.Mask2FormerForUniversalSegmentation(config),
        transformers.Mask2FormerImageProcessor(size=SIDE, ignore_index=255),
    )


KINDS: dict[str, Callable[[], Pair]] = {
    "vit": _vit,
    "resnet": _resnet,
    "detr": _detr,
    "rt_detr": _rt_detr,
    "maskformer": _maskformer,
    "mask2former": _mask2former,
}
"""By the model's type."""


def save_tiny_vision(kind: str, folder: Path, *, seed: int = 0) -> Path:
    """Make a model and save it the way its publishers do."""
    import torch

    with torch.random.fork_rng():
        torch.manual_seed(seed)
        model, processor = KINDS[kind]()
        with torch.no_grad():
            for weights in model.parameters():
                weights.mul_(4.0 if weights.ndim > 1 else 1.0)  # else it hardly notices the image
    model.save_pretrained(folder)
    processor.save_pretrained(folder)
    return folder
