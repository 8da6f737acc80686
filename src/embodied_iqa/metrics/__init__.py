"""Image-quality metrics, full- and no-reference."""

from embodied_iqa.metrics.built_in import BUILT_IN, built_in
from embodied_iqa.metrics.gmsd import gmsd
from embodied_iqa.metrics.metric import Metric, MetricContext, MetricInfo, Needs
from embodied_iqa.metrics.psnr import psnr
from embodied_iqa.metrics.ssim import ssim

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
