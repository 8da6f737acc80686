"""Image-quality metrics, full- and no-reference."""

from embodied_iqa.quality.metrics.built_in import BUILT_IN, built_in
from embodied_iqa.quality.metrics.gmsd import gmsd
from embodied_iqa.quality.metrics.metric import Metric, MetricContext, MetricInfo, Needs
from embodied_iqa.quality.metrics.psnr import psnr
from embodied_iqa.quality.metrics.ssim import ssim

__all__ = [
    "BUILT_IN",
    "Metric",
    "MetricContext",
    "MetricInfo",
    "Needs",
    "built_in",
    "gmsd",
    "psnr",
    "ssim",
]
