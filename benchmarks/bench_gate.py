"""The gate: milliseconds an image beside peers, in one run on one core; what it notices; false alarms.

"of the processor" is the time that the core worked for it, which other programs lengthen less; "former" is
that with the statistics of the learned judge found as before they were made faster. Memory is reused from
image to image as in the gate's nodes and the proxy; --fresh-memory leaves that out.

python benchmarks/bench_gate.py --json build/bench_gate.json
python benchmarks/bench_gate.py --detection 8      # also 8 fresh simulated scenes, distorted in every way
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import cv2
import numpy as np
from former_statistics import former_statistics
from machine_state import machine_state
from numpy.typing import NDArray
from rich.console import Console
from rich.progress import track
from rich.table import Table
from scipy import ndimage
from skimage import data
from skimage.measure import blur_effect

from embodied_iqa.arm.verdict import Verdict
from embodied_iqa.base.files import write_text_whole
from embodied_iqa.base.memory import reuse_large_blocks
from embodied_iqa.imaging.distortions.catalogue import catalogue, distort
from embodied_iqa.imaging.images.frame import View
from embodied_iqa.quality.gate.calibration_file import shared_gate_file
from embodied_iqa.quality.gate.fitted_judge import FittedJudge
from embodied_iqa.quality.gate.gatekeeper import Gatekeeper
from embodied_iqa.quality.gate.image_filters import compile_for
from embodied_iqa.quality.gate.image_statistics import Statistic, measure
from embodied_iqa.quality.gate.judge import GateOptions
from embodied_iqa.quality.gate.judgement import JudgeChoice
from embodied_iqa.quality.gate.judges import predictor_of, shared_judge
from embodied_iqa.quality.gate.simulated_frames import frames_a_scene, simulated_frames
from embodied_iqa.quality.gate.statistics_judge import StatisticsJudge
from embodied_iqa.world.scenes.dimensions import CELL_VIEWS
from embodied_iqa.world.simulation.camera import DEFAULT_MODEL, CameraModel

Image = NDArray[np.uint8]
GATE = "config/gate/simulated.yaml"
SIZES = ((640, 480), (1280, 720), (1920, 1080))
LEVELS = (1, 3, 5)
SEED_OF_FRESH_SCENES = 7_000_000


def plain_numpy(rgb: Image) -> tuple[float, ...]:
    """Seven of the fifteen statistics as one would write them without thinking of speed."""
    gray = (rgb @ np.array([0.299, 0.587, 0.114])).astype(np.float64)
    response = ndimage.convolve(gray, np.outer([1, -2, 1], [1, -2, 1]))
    steps = np.abs(np.diff(gray, axis=1)).mean(axis=0)
    return (
        float(np.mean(ndimage.laplace(gray) ** 2)),
        float(gray.mean()),
        float(gray.std()),
        float(np.mean(gray <= 1)),
        float(np.mean(gray >= 254)),
        float(np.abs(response).mean() * np.sqrt(np.pi / 2) / 6),
        float(steps[7::8].mean() / np.delete(steps, np.s_[7::8]).mean()),
    )


PEERS: dict[str, Callable[[Image], object]] = {
    "plain NumPy and SciPy, 7 statistics": plain_numpy,
    "scikit-image blur_effect, 1 statistic": lambda rgb: blur_effect(rgb, channel_axis=2),
}


def _milliseconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return (time.perf_counter() - start) * 1e3


def speed(repeats: int) -> dict[str, dict[str, float]]:
    """Return medians in ms an image and each peer's time over ours, from neighbouring repeats."""
    results: dict[str, dict[str, float]] = {}
    for width, height in SIZES:
        image = np.ascontiguousarray(cv2.resize(data.astronaut(), (width, height)))
        measure(image)
        ours: list[float] = []
        ratios: dict[str, list[float]] = {name: [] for name in PEERS}
        for _ in range(repeats):
            ours.append(min(_milliseconds(partial(measure, image)) for _ in range(3)))
            for name, peer in PEERS.items():
                ratios[name].append(_milliseconds(partial(peer, image)) / ours[-1])
        result = {"ms": statistics.median(ours)}
        result |= {f"times faster than {name}": statistics.median(values) for name, values in ratios.items()}
        results[f"{width}x{height}"] = result
    return results


def judge_speed(repeats: int) -> dict[str, dict[str, float]]:
    """Return times in ms an image of both judges, and peers over the median.

    The networks are those that are shipped, for another size where there is no fit of it: their input has the
    same size for every image.
    """
    results: dict[str, dict[str, float]] = {}
    for size in SIZES:
        image = np.ascontiguousarray(cv2.resize(data.astronaut(), size))
        for judge in judges_at(*size):
            kind = "learned" if isinstance(judge, FittedJudge) else "statistics"
            results[f"{kind} {size[0]}x{size[1]}"] = _times_of(
                partial(judge.judge, View.TOP, image), image, repeats
            )
    return results


def _worked_s(work: Callable[[], object]) -> float:
    began_s = time.thread_time()
    work()
    return time.thread_time() - began_s


def _times_of(judge: Callable[[], object], image: Image, repeats: int) -> dict[str, float]:
    judge()
    ours: list[float] = []
    peers: dict[str, list[float]] = {name: [] for name in PEERS}
    worked_s: list[float] = []
    former_s: list[float] = []
    for _ in range(repeats):
        ours += [_milliseconds(judge) for _ in range(10)]
        worked_s += [_worked_s(judge) for _ in range(10)]
        with former_statistics():
            former_s += [_worked_s(judge) for _ in range(10)]
        for name, peer in PEERS.items():
            peers[name].append(_milliseconds(partial(peer, image)))
    median = statistics.median(ours)
    result = {"ms": median, "ms, 99th percentile": float(np.quantile(ours, 0.99))}
    result["ms of the processor"] = 1e3 * statistics.median(worked_s)
    result["ms of the processor, 99th percentile"] = 1e3 * float(np.quantile(worked_s, 0.99))
    result["former over that"] = statistics.median(former_s) / statistics.median(worked_s)
    faster = {name: statistics.median(values) / median for name, values in peers.items()}
    return result | {f"times faster than {name}": times for name, times in faster.items()}


def judges_at(width_px: int, height_px: int) -> tuple[StatisticsJudge, FittedJudge]:
    """Return the shipped judges of the top camera at another size; the learned rejects nothing as unlike."""
    file = shared_gate_file(GATE)
    fit = next(fit for fit in file.fitted if fit.view == View.TOP)
    camera = next(one for one in file.cameras if one.view == View.TOP)
    anything = dict.fromkeys(Statistic, (-np.inf, np.inf))
    gate = replace(fit, seen=anything, width_px=width_px, height_px=height_px)
    fallback = StatisticsJudge([replace(camera, width_px=width_px, height_px=height_px)])
    return fallback, FittedJudge(fallback, [(gate, predictor_of(fit, file.path.parent))])


def detection(scenes: int, model: CameraModel) -> dict[str, dict[str, float]]:
    """Return the share of single frames that are not passed: clean, and distorted at three levels."""
    gatekeeper = Gatekeeper(shared_judge(JudgeChoice(), GATE), GateOptions())
    frames = list(simulated_frames(CELL_VIEWS, ((640, 480),), scenes, SEED_OF_FRESH_SCENES, model))

    def stopped(view: View, rgb: Image) -> bool:
        return gatekeeper.judge_alone(view, rgb).verdict is not Verdict.PASS

    shares = {"00 clean": {"all": float(np.mean([stopped(*frame) for frame in frames]))}}
    chosen = frames[:: frames_a_scene() // 3 * 2 + 1]
    for entry in track(catalogue(), "distortions", console=Console(stderr=True), transient=True):
        shares[f"{entry.id} {entry.name}"] = {
            f"level {level}": float(
                np.mean(
                    [
                        stopped(view, distort(rgb, entry.id, level, np.random.default_rng(k)))
                        for k, (view, rgb) in enumerate(chosen)
                    ]
                )
            )
            for level in LEVELS
        }
    return shares


def _show(title: str, rows: dict[str, dict[str, float]], number: str) -> None:
    columns = list(dict.fromkeys(name for row in rows.values() for name in row))
    table = Table("", *columns, title=title)
    for name, row in rows.items():
        table.add_row(name, *(format(row[column], number) if column in row else "" for column in columns))
    Console(width=140).print(table)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=15)
    parser.add_argument("--detection", type=int, default=0, metavar="SCENES")
    models = [str(model) for model in CameraModel]
    parser.add_argument("--camera-model", choices=models, default=str(DEFAULT_MODEL))
    parser.add_argument("--fresh-memory", action="store_true", help="as in a loop of one's own")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    cv2.setNumThreads(1)
    if not arguments.fresh_memory:
        reuse_large_blocks()
    compile_for(width * height for width, height in SIZES)
    results: dict[str, Any] = {"machine": machine_state()}
    results |= {"speed": speed(arguments.repeats), "judge": judge_speed(arguments.repeats)}
    _show("Statistics of an image", results["speed"], ".2f")
    _show("Judging an image", results["judge"], ".2f")
    if arguments.detection:
        results["detection"] = detection(arguments.detection, CameraModel(arguments.camera_model))
        _show("Share of frames not passed", results["detection"], ".3f")
    if arguments.json:
        write_text_whole(arguments.json, json.dumps(results, indent=2) + "\n")


if __name__ == "__main__":
    main()
