"""Image-quality metrics, full- and no-reference."""

from embodied_iqa.metrics.gmsd import gmsd
from embodied_iqa.metrics.psnr import psnr
from embodied_iqa.metrics.registry import FULL_REFERENCE, FullReferenceMetric, full_reference_metric
from embodied_iqa.metrics.ssim import ssim

__all__ = ["FULL_REFERENCE", "FullReferenceMetric", "full_reference_metric", "gmsd", "psnr", "ssim"]
