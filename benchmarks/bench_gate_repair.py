"""What repair and judging again gains: frames held before and passed after; decisions against clean ones.

python benchmarks/bench_gate_repair.py --scenes 6 --json build/bench_gate_repair.json
python benchmarks/bench_gate_repair.py --speed     # time of each repair over a bilateral filter's
"""

from __future__ import annotations

import argparse
import json
import math
import os
import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

import cv2
import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.progress import track
from rich.table import Table
from skimage import data

from embodied_iqa.arm.verdict import Verdict
from embodied_iqa.base.files import write_text_whole
from embodied_iqa.base.resources import shared_file
from embodied_iqa.imaging.distortions.catalogue import catalogue, distort
from embodied_iqa.imaging.images.assembler import Source
from embodied_iqa.imaging.images.frame import Frame, View
from embodied_iqa.models.scoring.decision import score_decision
from embodied_iqa.models.subjects.constants_files import constants_of
from embodied_iqa.models.subjects.reference import parse_vla
from embodied_iqa.models.subjects.registry import make_vla
from embodied_iqa.quality.gate.bounds import Fault
from embodied_iqa.quality.gate.image_statistics import Statistic
from embodied_iqa.quality.gate.judgement import ImageJudge, parse_judge
from embodied_iqa.quality.gate.judges import load_judge
from embodied_iqa.quality.gate.repair import RepairOptions, judge_repaired
from embodied_iqa.quality.gate.repairs import Repair, apply_repair
from embodied_iqa.runs.trial.deciding import DecisionRequest, decide
from embodied_iqa.world.protocols import Vla
from embodied_iqa.world.scenes.scene import make_scene, tasks_of
from embodied_iqa.world.simulation.camera import CameraModel
from embodied_iqa.world.simulation.camera.simulated_cameras import SimulatedCameras
from embodied_iqa.world.simulation.renderer import SceneRenderer
from embodied_iqa.world.simulation.world import World

Image = NDArray[np.uint8]
LEVELS = (1, 3, 5)
FIRST_SEED = 7_300_000
VIEW = View.TOP
CASES = (
    (Repair.EXPOSURE, Statistic.EXPOSURE, 0.5),
    (Repair.EXPOSURE, Statistic.EXPOSURE, 4.0),
    (Repair.WHITE_BALANCE, Statistic.CHROMA, 0.5),
    (Repair.WHITE_BALANCE, Statistic.CHROMA, 4.0),
    (Repair.DENOISE, Statistic.NOISE, 4.0),
    (Repair.DENOISE, Statistic.SPECKS, 4.0),
    (Repair.DENOISE, Statistic.CHROMA_DETAIL, 4.0),
    (Repair.DEBLOCK, Statistic.BLOCKINESS, 4.0),
    (Repair.SHARPEN, Statistic.SHARPNESS, 0.5),
)
"""Repair, the statistic that is out, and its value; the ordinary range is 1 to 2."""


@dataclass(frozen=True)
class Moment:
    """A scene at rest, as the top camera sees it, and what every subject decides on the clean image."""

    frame: Frame
    request: DecisionRequest
    clean: dict[str, NDArray[np.float64]]


@dataclass(frozen=True)
class Result:
    """One distorted frame; scores are those of the decisions against the clean ones, by subject."""

    distortion: str
    level: int
    held: bool
    repairs: tuple[str, ...]
    before: dict[str, float]
    after: dict[str, float]


def moments(scenes: int, model: CameraModel, vlas: dict[str, Vla]) -> Iterator[Moment]:
    for seed in range(FIRST_SEED, FIRST_SEED + scenes):
        scene = make_scene(seed)
        world = World(scene)
        with SceneRenderer(scene, 640, 480) as renderer:
            cameras = SimulatedCameras(renderer, model, (VIEW,))
            frame = cameras.frame(VIEW, cameras.take(world.snapshot()))
        task = str(tasks_of(scene)[seed % len(tasks_of(scene))])
        request = DecisionRequest(frame.stamp_ns, Source.RAW, 1, 0, task, world.T_base_tool, 0.0)
        clean = {name: decide(vla, request, {VIEW: frame}) for name, vla in vlas.items()}
        yield Moment(frame, request, {name: c.increments for name, c in clean.items() if len(c.increments)})


def score(vla: Vla, moment: Moment, clean: NDArray[np.float64], rgb: Image) -> float:
    found = decide(vla, moment.request, {VIEW: replace(moment.frame, rgb=rgb)})
    scale_m = constants_of(vla.info.name, vla.info.version).d_max_m or math.inf
    return score_decision(found.increments, clean, scale_m, gripper=moment.request.gripper).score


def examine(
    judge: ImageJudge, options: RepairOptions, vlas: dict[str, Vla], moment: Moment, seed: int
) -> Iterator[Result]:
    for entry in catalogue():
        for level in LEVELS:
            rgb = distort(moment.frame.rgb, entry.id, level, np.random.default_rng(seed))
            received = judge.judge(VIEW, rgb)
            after = judge_repaired(judge, VIEW, rgb, received, options)
            scores: tuple[dict[str, float], dict[str, float]] = {}, {}
            if after.repaired is not None:
                for name, clean in moment.clean.items():
                    for found, seen in zip(scores, (rgb, after.repaired), strict=True):
                        found[name] = score(vlas[name], moment, clean, seen)
            held = received.verdict is not Verdict.PASS
            yield Result(f"{entry.id} {entry.name}", level, held, after.repairs, *scores)


def show(results: list[Result]) -> None:
    table = Table(
        "", *(f"level {level}: held, repaired" for level in LEVELS), "repairs", "score before", "after"
    )
    names = dict.fromkeys(result.distortion for result in results)
    for name in [*names, "all"]:
        rows = [result for result in results if name in {result.distortion, "all"}]
        cells = []
        for level in LEVELS:
            of_level = [row for row in rows if row.level == level]
            held = sum(row.held for row in of_level)
            cells.append(f"{held / len(of_level):.2f}, {sum(bool(r.repairs) for r in of_level)} of {held}")
        used = dict.fromkeys(" + ".join(row.repairs) for row in rows if row.repairs)
        before = [score for row in rows for score in row.before.values()]
        after = [score for row in rows for score in row.after.values()]
        scores = [f"{np.mean(side):.3f}" if side else "" for side in (before, after)]
        table.add_row(name, *cells, "" if name == "all" else ", ".join(used), *scores)
    Console(width=150).print(table)
    for subject in dict.fromkeys(name for row in results for name in row.before):
        change = np.array([r.after[subject] - r.before[subject] for r in results if subject in r.before])
        print(
            f"{subject}: {len(change)} repaired frames, score {change.mean():+.3f}; "
            f"nearer by over 0.01 in {np.mean(change > 0.01):.0%}, farther in {np.mean(change < -0.01):.0%}; "
            f"below 0.9 before in {_harmed(results, subject, 'before')}, "
            f"after in {_harmed(results, subject, 'after')}"
        )


def _harmed(results: list[Result], subject: str, side: str) -> int:
    """Return the number of repaired frames whose decision is still far from the clean one."""
    return sum(getattr(result, side).get(subject, 1.0) < 0.9 for result in results)


def speed(repeats: int) -> dict[str, dict[str, float]]:
    """Return median processor times for 1280 x 720 images [ms], also over a bilateral filter's."""
    rgb = np.ascontiguousarray(cv2.resize(data.astronaut(), (1280, 720)))
    peer: Callable[[], object] = partial(cv2.bilateralFilter, rgb, 5, 30, 3)
    results = {}
    for repair, statistic, value in CASES:
        work = partial(apply_repair, repair, rgb, [Fault(statistic, value, 1.0, 2.0)])
        work()
        pairs = [(_milliseconds(work), _milliseconds(peer)) for _ in range(repeats)]
        results[f"{repair} ({statistic} too {'low' if value < 1 else 'high'})"] = {
            "ms": statistics.median(ours for ours, _ in pairs),
            "share of a bilateral filter": statistics.median(ours / theirs for ours, theirs in pairs),
        }
    return results


def _milliseconds(work: Callable[[], object]) -> float:
    start = time.thread_time()
    work()
    return (time.thread_time() - start) * 1e3


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scenes", type=int, default=6)
    parser.add_argument("--subject", nargs="+", default=["panel-vla-query", "classical-vla"])
    parser.add_argument("--camera-model", choices=[str(m) for m in CameraModel], default="d455")
    parser.add_argument("--judge", type=parse_judge, default=parse_judge("statistics"))
    parser.add_argument("--calibration", type=Path, help="of the gate; default: of the simulated cameras")
    names = [str(repair) for repair in Repair]
    parser.add_argument("--allowed", nargs="+", choices=names, default=list(RepairOptions().allowed))
    parser.add_argument("--speed", action="store_true", help="only the time of each repair")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    cv2.setNumThreads(1)
    if arguments.speed:
        times = speed(15)
        found: object = times
        for name, row in times.items():
            print(name, {key: round(value, 2) for key, value in row.items()})
    else:
        vlas = {name: make_vla(parse_vla(name)) for name in arguments.subject}
        judge = load_judge(
            arguments.judge, arguments.calibration or shared_file("config/gate/simulated.yaml")
        )
        options = RepairOptions(enabled=True, allowed=tuple(Repair(name) for name in arguments.allowed))
        taken = list(moments(arguments.scenes, CameraModel(arguments.camera_model), vlas))
        results = [
            result
            for seed, moment in enumerate(track(taken, "scenes", console=Console(stderr=True)))
            for result in examine(judge, options, vlas, moment, seed)
        ]
        show(results)
        found = [asdict(result) for result in results]
    if arguments.json:
        write_text_whole(arguments.json, json.dumps(found, indent=2) + "\n")


if __name__ == "__main__":
    main()
