"""The codecs are real: Pillow reads the same bytes, and its own encoders come to the same."""

from __future__ import annotations

import io
import itertools
import os

import cv2
import numpy as np
import pytest
from PIL import Image as Pillow
from PIL import features

from embodied_iqa.imaging.distortions import distort, entry
from embodied_iqa.imaging.distortions.compression import jpeg2000
from embodied_iqa.imaging.distortions.image import Image
from embodied_iqa.quality.metrics import psnr


def opencv_bytes(image: Image, suffix: str, option: int, value: int) -> bytes:
    return cv2.imencode(suffix, image[..., ::-1], [option, value])[1].tobytes()


@pytest.mark.parametrize("level", range(1, 6))
def test_jpeg_is_libjpegs_at_this_quality(level: int, photograph: Image):
    (quality,) = entry("10").parameters[level - 1]
    data = opencv_bytes(photograph, ".jpg", cv2.IMWRITE_JPEG_QUALITY, int(quality))
    read = Pillow.open(io.BytesIO(data))
    assert read.format == "JPEG"
    ours = distort(photograph, "10", level, np.random.default_rng(0))
    assert np.array_equal(np.asarray(read), ours)
    buffer = io.BytesIO()
    Pillow.fromarray(photograph).save(buffer, "JPEG", quality=int(quality), subsampling="4:2:0")
    peer = Pillow.open(buffer)
    assert read.quantization == peer.quantization
    assert psnr(photograph, ours) == pytest.approx(psnr(photograph, np.asarray(peer)), abs=0.05)


@pytest.mark.parametrize("level", range(1, 6))
def test_webp_is_libwebps_at_this_quality(level: int, photograph: Image):
    (quality,) = entry("11").parameters[level - 1]
    data = opencv_bytes(photograph, ".webp", cv2.IMWRITE_WEBP_QUALITY, int(quality))
    ours = distort(photograph, "11", level, np.random.default_rng(0))
    assert np.array_equal(np.asarray(Pillow.open(io.BytesIO(data)).convert("RGB")), ours)


@pytest.mark.parametrize("level", range(1, 6))
def test_jpeg2000_keeps_its_ratio_and_looks_as_openjpegs_own(level: int, photograph: Image):
    assert features.check("jpg_2000")
    (ratio,) = entry("09").parameters[level - 1]
    ours = distort(photograph, "09", level, np.random.default_rng(0))
    pixels = cv2.cvtColor(photograph, cv2.COLOR_RGB2YCrCb)
    rate = [cv2.IMWRITE_JPEG2000_COMPRESSION_X1000, int(1000 / ratio + 0.5)]
    size = cv2.imencode(".jp2", pixels, rate)[1].size
    assert photograph.nbytes / size == pytest.approx(1000 / rate[1], rel=0.12)
    buffer = io.BytesIO()
    Pillow.fromarray(photograph).save(
        buffer, "JPEG2000", quality_mode="rates", quality_layers=[1000 / rate[1]], irreversible=True
    )
    peer = np.asarray(Pillow.open(buffer).convert("RGB"))
    assert psnr(photograph, ours) == pytest.approx(psnr(photograph, peer), abs=2.0)


def test_jpeg2000_of_the_smallest_images(photograph: Image):
    small = np.ascontiguousarray(photograph[100:116, 100:120])
    out = jpeg2000(small, np.random.default_rng(0), 4.0)
    assert out.shape == small.shape
    assert psnr(small, out) > 25


@pytest.mark.parametrize("size", [(16, 16), (48, 64), (120, 160), (16, 600)])
def test_levels_of_jpeg2000_rise_at_small_sizes_too(size: tuple[int, int], photograph: Image):
    small = np.ascontiguousarray(photograph[100 : 100 + size[0], 20 : 20 + size[1]])
    errors = [
        float(np.abs(distort(small, "09", level, np.random.default_rng(0)).astype(float) - small).mean())
        for level in (1, 2, 3, 4, 5)
    ]
    assert all(low < high for low, high in itertools.pairwise(errors)), errors
    assert errors[-1] < 3 * errors[-2]


def test_the_number_of_threads_does_not_show_in_jpeg2000(photograph: Image, monkeypatch: pytest.MonkeyPatch):
    large = np.tile(photograph, (2, 2, 1))
    assert int(os.environ["OPJ_NUM_THREADS"]) >= 1
    images = []
    for threads in ("1", "4"):
        monkeypatch.setenv("OPJ_NUM_THREADS", threads)
        images.append(distort(large, "09", 2, np.random.default_rng(0)))
    assert np.array_equal(*images)
