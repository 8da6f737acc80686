"""Score of a 720p image by RA-MIQA: processor time on one core beside PyTorch with Pillow, in one run.

Ours is `embodied_iqa.metric` of an exported model: central square and resize by OpenCV, network by ONNX
Runtime. The peer is the same network as public code runs it: resize by Pillow, PyTorch without compilation.
Weights are random, which costs the same time. The goal is 25 ms for the small size.

python benchmarks/bench_miqa_score.py --json build/bench_miqa_score.json
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

os.environ.update(dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1"))

import cv2
import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image
from rich.console import Console
from rich.table import Table

import embodied_iqa
from embodied_iqa.base.files import sha256_of, write_text_whole
from embodied_iqa.quality.metrics.learned.card import NETWORK_FILE, MetricCard, save_metric_card
from embodied_iqa.quality.metrics.training.exporting import export_network
from embodied_iqa.quality.metrics.training.loop import LabelledInputs, Network, make_network
from embodied_iqa.quality.metrics.training.recipes import MetricRecipe, recipe_by_name
from embodied_iqa.world.scenes.dimensions import CELL_VIEWS

WIDTH_PX, HEIGHT_PX = 1280, 720
GOAL_MS = 25.0
IMAGES = 8
CALLS = {"ra-miqa-small": 400, "ra-miqa": 40}
RgbImage = NDArray[np.uint8]
Row = dict[str, Any]


def images() -> list[RgbImage]:
    """Return images of coloured blocks with noise."""
    made = []
    for seed in range(IMAGES):
        rng = np.random.default_rng(seed)
        blocks = rng.integers(20, 236, (HEIGHT_PX // 40, WIDTH_PX // 40, 3)).repeat(40, 0).repeat(40, 1)
        made.append(np.clip(blocks + rng.normal(0, 8, blocks.shape), 0, 255).astype(np.uint8))
    return made


def export(recipe: MetricRecipe, network: Network, folder: Path) -> Path:
    """Write network and card of a metric; return the folder."""
    side = recipe.input.size_px[0]
    example = LabelledInputs(
        np.zeros((2, side, side, 3), np.uint8), np.zeros(2, np.int64), np.array([0.0, 1.0])
    )
    export_network(network, example, (0.5, 0.2), folder / NETWORK_FILE, ranks=False)
    card = MetricCard(
        name=recipe.name,
        summary=recipe.summary,
        input=recipe.input.kind,
        input_version=recipe.input.version(),
        subjects=(),
        size_px=recipe.input.size_px,
        views=CELL_VIEWS,
        target="",
        label_low=0.0,
        label_high=1.0,
        sha256=sha256_of(folder / NETWORK_FILE),
    )
    save_metric_card(card, folder)
    return folder


def peer_score(network: Network, side_px: int, rgb: RgbImage) -> float:
    """Return the score by PyTorch of an image resized by Pillow."""
    height, width = rgb.shape[:2]
    left = (width - height) // 2
    square = Image.fromarray(rgb).crop((left, 0, left + height, height))
    small = np.asarray(square.resize((side_px, side_px), Image.Resampling.BILINEAR))
    with torch.no_grad():
        output = network(torch.from_numpy(small.copy())[None], torch.zeros(1, dtype=torch.int64))
    return 0.2 * float(output[0, 1]) + 0.5


def times_ms(
    score: Callable[[RgbImage], float], shown: Sequence[RgbImage], calls: int
) -> NDArray[np.float64]:
    """Return the processor time of each call [ms], after a call for each image."""
    for rgb in shown:
        score(rgb)
    taken = np.empty(calls)
    for number in range(calls):
        rgb = shown[number % len(shown)]
        started_s = time.process_time()
        score(rgb)
        taken[number] = 1e3 * (time.process_time() - started_s)
    return taken


def measure(name: str, shown: Sequence[RgbImage], folder: Path) -> Row:
    """Return one row: p50 and p99 of ours and of the peer, the ratio, and how far their scores are apart."""
    recipe = recipe_by_name(name)
    network = make_network(recipe, 0).eval()
    metric = embodied_iqa.metric(f"trained:{export(recipe, network, folder)}")
    other = partial(peer_score, network, recipe.input.size_px[0])
    ours_ms = times_ms(metric.measure, shown, CALLS[name])
    peer_ms = times_ms(other, shown, CALLS[name])
    (ours_p50, ours_p99), (peer_p50, peer_p99) = (
        np.percentile(taken, (50, 99)).tolist() for taken in (ours_ms, peer_ms)
    )
    return {
        "model": name,
        "weights": sum(weight.numel() for weight in network.parameters()),
        "ours_p50_ms": ours_p50,
        "ours_p99_ms": ours_p99,
        "ours_mean_ms": float(ours_ms.mean()),
        "peer_p50_ms": peer_p50,
        "peer_p99_ms": peer_p99,
        "ratio": peer_p50 / ours_p50,
        "difference": max(abs(metric.measure(rgb) - other(rgb)) for rgb in shown),
        "calls": CALLS[name],
    }


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--json", type=Path, metavar="FILE")
    arguments = parser.parse_args()
    cv2.setNumThreads(1)
    torch.set_num_threads(1)
    shown, rows = images(), []
    for name in CALLS:
        with tempfile.TemporaryDirectory() as folder:
            rows.append(measure(name, shown, Path(folder)))
    table = Table(title=f"score of a {WIDTH_PX} x {HEIGHT_PX} image, processor time")
    for heading in ("model", "ours p50 ms", "p99 ms", "peer p50 ms", "p99 ms", "ratio", "difference"):
        table.add_column(heading, justify="right", no_wrap=True)
    for row in rows:
        numbers = (row[key] for key in ("ours_p50_ms", "ours_p99_ms", "peer_p50_ms", "peer_p99_ms", "ratio"))
        table.add_row(row["model"], *(f"{number:.1f}" for number in numbers), f"{row['difference']:.0e}")
    Console().print(table)
    print(f"goal: p99 of ra-miqa-small under {GOAL_MS:g} ms: {rows[0]['ours_p99_ms'] < GOAL_MS}")
    if arguments.json:
        write_text_whole(arguments.json, json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
