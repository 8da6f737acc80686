"""JPEG 2000, WebP and CNN denoise: the whole distortion, its codec or network alone, and a peer, in one run.

Processor time of one thread. The peer makes the same image, which the run checks: Pillow with its own
OpenJPEG and libwebp; for the network torch, whose float convolutions hold the network's integers exactly.

python benchmarks/bench_codecs.py --json build/bench_codecs.json
"""

from __future__ import annotations

import argparse
import io
import json
import os
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ.update(dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1"))
os.environ["OPJ_NUM_THREADS"] = "1"

import cv2
import numpy as np
import onnx
import torch
from machine_state import machine_state
from onnx import numpy_helper
from PIL import Image as Pillow
from rich.console import Console
from rich.table import Table

from embodied_iqa.base.files import write_text_whole
from embodied_iqa.base.onnx_session import open_session
from embodied_iqa.imaging.distortions import denoiser as network
from embodied_iqa.imaging.distortions import entry
from embodied_iqa.imaging.distortions.image import Image
from embodied_iqa.imaging.distortions.noise import white_noise
from embodied_iqa.imaging.distortions.references import scikit_photographs

GOALS_MS = {"JPEG 2000": 120.0, "WebP": 33.0, "CNN denoise": 33.0}
WEIGHTS = Path(network.__file__).with_name("denoiser.onnx")
BAND_ROWS = 64
Run = Callable[[], Any]


def codec(extension: str, option: int, value: int, pixels: Image) -> Run:
    """Encode and decode with OpenCV, nothing else."""

    def run() -> Image:
        data = cv2.imencode(extension, pixels, (option, value))[1]
        return np.asarray(cv2.imdecode(data, cv2.IMREAD_COLOR))

    return run


def pillow(pixels: Image, **options: Any) -> Run:
    """Encode and decode with Pillow, nothing else."""

    def run() -> Image:
        buffer = io.BytesIO()
        Pillow.fromarray(pixels).save(buffer, **options)
        return np.array(Pillow.open(buffer))

    return run


def jpeg2000(image: Image, level: int) -> tuple[Run, Run, Run]:
    """Ours, the codec alone, Pillow."""
    distortion = entry("09")
    rate = round(1000 / distortion.parameters[level - 1][0])
    luma_first = cv2.cvtColor(image, cv2.COLOR_RGB2YCrCb)
    options: dict[str, Any] = {
        "format": "JPEG2000",
        "quality_mode": "rates",
        "quality_layers": [1000 / rate],
    }
    options |= {"irreversible": False, "mct": 0, "num_resolutions": 6}
    peer = pillow(np.ascontiguousarray(luma_first[..., ::-1]), **options)
    alone = codec(".jp2", cv2.IMWRITE_JPEG2000_COMPRESSION_X1000, rate, luma_first)
    same(alone()[..., ::-1], peer(), "JPEG 2000")
    return lambda: distortion.apply(image, level, np.random.default_rng(0)), alone, peer


def webp(image: Image, level: int) -> tuple[Run, Run, Run]:
    """Ours, the codec alone, Pillow."""
    distortion = entry("11")
    quality = round(distortion.parameters[level - 1][0])
    alone = codec(".webp", cv2.IMWRITE_WEBP_QUALITY, quality, cv2.cvtColor(image, cv2.COLOR_RGB2BGR))
    peer = pillow(image, format="WEBP", quality=quality, method=4)
    same(alone()[..., ::-1], peer(), "WebP")
    return lambda: distortion.apply(image, level, np.random.default_rng(0)), alone, peer


def cnn_denoise(image: Image, level: int) -> tuple[Run, Run, Run]:
    """Ours, noise and network alone, the network alone in torch."""
    distortion, rng = entry("17"), np.random.default_rng(0)
    (variance,) = distortion.parameters[level - 1]
    rows, columns = (side // 2 + 2 * network.LAYERS for side in image.shape[:2])
    quads = rng.integers(0, 256, (1, rows, columns, network.CHANNELS)).astype(np.uint8)
    quads[..., network.QUAD_VALUES + 1 :] = 0
    settings = {} if cv2.checkHardwareSupport(network.HAS_VNNI) else {"session.x64quantprecision": "1"}
    session = open_session(WEIGHTS.read_bytes(), "denoiser", settings)
    inner, context = rows - 2 * network.LAYERS, 2 * network.LAYERS

    def alone() -> Image:
        white_noise(image, rng, variance)
        bands = [quads[:, top : top + BAND_ROWS + context] for top in range(0, inner, BAND_ROWS)]
        return np.concatenate([session.run(None, {"quads": band})[0] for band in bands], axis=1)

    peer = torch_network(quads)
    same(alone()[0], peer(), "CNN denoise")
    return lambda: distortion.apply(image, level, np.random.default_rng(0)), alone, peer


def torch_network(quads: Image) -> Run:
    """Return the shipped network in torch; its input is an argument, so that only the layers are timed."""
    arrays = {item.name: numpy_helper.to_array(item) for item in onnx.load(WEIGHTS).graph.initializer}
    layers = [
        [
            torch.from_numpy(arrays[f"{kind}.{layer}"].astype(np.float32))
            for kind in ("kernels", "biases", "scales")
        ]
        for layer in range(network.LAYERS)
    ]
    torch.set_num_threads(1)
    given = torch.from_numpy(quads.transpose(0, 3, 1, 2).astype(np.float32)).contiguous(
        memory_format=torch.channels_last
    )

    def run() -> Image:
        values = given
        with torch.inference_mode():
            for kernel, bias, scale in layers:
                sums = torch.nn.functional.conv2d(values, kernel, bias)
                values = (sums * scale[:, None, None]).round_().clamp_(0, 255)
        return np.asarray(values[0].permute(1, 2, 0).to(torch.uint8).numpy(), np.uint8)

    return run


def same(ours: Image, peer: Image, what: str) -> None:
    if not np.array_equal(ours, peer):
        sys.exit(f"{what}: the peer makes another image")


def milliseconds(runs: tuple[Run, ...], repeats: int) -> list[float]:
    """Median processor time of each, measured in turns."""
    times: list[list[float]] = [[] for _ in runs]
    for number in range(repeats + 1):
        for run, kept in zip(runs, times, strict=True):
            before = time.process_time()
            run()
            if number:
                kept.append(1e3 * (time.process_time() - before))
    return [statistics.median(kept) for kept in times]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--size", default="1280x720")
    options = parser.parse_args()
    cv2.setNumThreads(1)
    width, height = (int(side) for side in options.size.split("x"))
    image = cv2.resize(scikit_photographs()[3].image, (width, height), interpolation=cv2.INTER_AREA)
    table = Table(
        "type", "level", "ours", "alone", "ours / alone", "peer", "goal", title=f"{options.size}: ms"
    )
    records = []
    for name, make in (("JPEG 2000", jpeg2000), ("WebP", webp), ("CNN denoise", cnn_denoise)):
        for level in (1, 5):
            ours, alone, peer = milliseconds(make(image, level), options.repeats)
            records.append(
                {"type": name, "level": level, "ours_ms": ours, "alone_ms": alone, "peer_ms": peer}
            )
            cells = [
                f"{ours:.1f}",
                f"{alone:.1f}",
                f"{ours / alone:.2f}",
                f"{peer:.1f}",
                f"{GOALS_MS[name]:g}",
            ]
            table.add_row(name, str(level), *cells)
    Console(width=100).print(table)
    state = machine_state()
    print(", ".join(f"{key} {value}" for key, value in state.items()))
    if options.json:
        record = {"size": options.size, "machine": state, "types": records}
        write_text_whole(options.json, json.dumps(record, indent=1))


if __name__ == "__main__":
    main()
