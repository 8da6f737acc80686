"""The metrics of pyiqa in the paper's benchmark, and the files that they need."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from embodied_iqa.quality.metrics.metric import Needs

_TORCH: Final = "~/.cache/torch/hub/checkpoints"
_HUB: Final = "~/.cache/huggingface"
_CLIP: Final = "~/.cache/torch/hub/clip"


@dataclass(frozen=True, slots=True)
class PyiqaFiles:
    """Files of one metric.

    Attributes:
        name: Name in pyiqa.
        needs: Full reference or no reference.
        backbone: Network of another library, its size and the cache where pyiqa looks for it; may be empty.
    """

    name: str
    needs: Needs
    backbone: str = ""

    @property
    def text(self) -> str:
        """What the metric needs, for people."""
        own = "weights as pyiqa:NAME@FILE or in ~/.cache/torch/hub/pyiqa"
        return f"{own}; {self.backbone}" if self.backbone else own


_RESNET: Final = f"without FILE also ResNet-50 of timm, 102 MB, in {_HUB}"

PYIQA_FILES: Final = (
    PyiqaFiles("ahiq", Needs.REFERENCE, f"ViT-B/8 and ResNet-50 of timm, 343 + 102 MB, in {_HUB}"),
    PyiqaFiles("ckdn", Needs.REFERENCE),
    PyiqaFiles("dists", Needs.REFERENCE, f"VGG-16 of torchvision, 553 MB, in {_TORCH}"),
    PyiqaFiles("lpips", Needs.REFERENCE, f"AlexNet of torchvision, 244 MB, in {_TORCH}"),
    PyiqaFiles("topiq_fr", Needs.REFERENCE, _RESNET),
    PyiqaFiles("topiq_nr", Needs.NOTHING, _RESNET),
    PyiqaFiles("cnniqa", Needs.NOTHING),
    PyiqaFiles("dbcnn", Needs.NOTHING, f"VGG-16 of torchvision, 553 MB, in {_TORCH}"),
    PyiqaFiles("clipiqa", Needs.NOTHING, f"CLIP RN50, 256 MB, in {_CLIP}"),
    PyiqaFiles("qualiclip", Needs.NOTHING, f"CLIP RN50, 256 MB, in {_CLIP}"),
    PyiqaFiles("qalign", Needs.NOTHING, f"mPLUG-Owl2, about 16 GB, in {_HUB}"),
)
"""Sizes are those of the parameters; a metric that is not listed may need none (docs/metrics.md)."""

_OTHERS: Final = """
    clipiqa+ clipiqa+_rn50_512 clipiqa+_vitL14_512 entropy hyperiqa ilniqe lpips-vgg maniqa maniqa-kadid
    maniqa-koniq maniqa-pipal musiq musiq-ava musiq-koniq musiq-paq2piq musiq-spaq nima nima-vgg16-ava
    nrqm paq2piq pi pieapp psnry tres tres-flive tres-koniq uranker
"""
PYIQA_NAMES: Final = frozenset(
    {one.name for one in PYIQA_FILES} | {"cw_ssim", "mad", "nlpd", *_OTHERS.split()}
)
"""Metrics that only pyiqa has: their plain names mean those of pyiqa, which may list more."""
