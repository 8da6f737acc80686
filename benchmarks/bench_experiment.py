"""How much faster than real time runs go without ROS, on one core; beside the world's physics alone.

python benchmarks/bench_experiment.py --json build/bench_experiment.json
"""

from __future__ import annotations

import os

os.environ["LP_NUM_THREADS"] = "1"  # one core: Mesa's rasteriser would take more
os.environ.setdefault("OMP_NUM_THREADS", "1")

import argparse
import json
import time
from dataclasses import dataclass
from pathlib import Path

import cv2

from embodied_iqa.base.files import write_text_whole
from embodied_iqa.imaging.distortions import DistortionSpec
from embodied_iqa.imaging.images.frame import Frame, View
from embodied_iqa.models.subjects.reference import parse_vla
from embodied_iqa.runs.experiment.experiment_plan import RunKey, parse_tasks
from embodied_iqa.runs.experiment.headless_runs import HeadlessRunner
from embodied_iqa.runs.graph.node_table import resolve
from embodied_iqa.runs.offline.headless.options import HeadlessOptions
from embodied_iqa.world.scenes.scene import make_scene
from embodied_iqa.world.scenes.snapshot import WorldSnapshot
from embodied_iqa.world.simulation.renderer import SceneRenderer
from embodied_iqa.world.simulation.world import World

SIZE = {"camera_node.width_px": 320, "camera_node.height_px": 240}
SPECS = (None, DistortionSpec("02", 5), DistortionSpec("19", 5))


@dataclass
class Clock:
    """Time spent drawing."""

    wall_s: float = 0.0
    cpu_s: float = 0.0
    images: int = 0


def watch_renderer(clock: Clock) -> None:
    """Add up what drawing takes."""
    draw = SceneRenderer.frame

    def timed(self: SceneRenderer, view: View, snapshot: WorldSnapshot) -> Frame:
        wall_s, cpu_s = time.perf_counter(), time.process_time()
        frame = draw(self, view, snapshot)
        clock.wall_s += time.perf_counter() - wall_s
        clock.cpu_s += time.process_time() - cpu_s
        clock.images += 1
        return frame

    setattr(SceneRenderer, "frame", timed)  # noqa: B010 - the type checker refuses to assign a method


def speed(gate: str, runs: int, clock: Clock) -> dict[str, float]:
    """Carry out runs; return how many times real time they went, with and without drawing."""
    vla = parse_vla("classical-vla")
    keys = [RunKey(vla, task, spec) for task in parse_tasks(runs, (), 7) for spec in SPECS]
    simulated_s = 0.0
    with HeadlessRunner(HeadlessOptions(resolve((), {"gate_node.judge.mode": gate, **SIZE}))) as runner:
        runner.run(keys[0])  # loads and compiles
        clock.wall_s = clock.cpu_s = clock.images = 0
        wall_s, cpu_s = time.perf_counter(), time.process_time()
        for key in keys:
            simulated_s += runner.run(key).duration_s
        wall_s, cpu_s = time.perf_counter() - wall_s, time.process_time() - cpu_s
    return {
        "runs": len(keys),
        "simulated [s]": simulated_s,
        "images": clock.images,
        "times real time, by the clock on the wall": simulated_s / wall_s,
        "times real time, by processor time": simulated_s / cpu_s,
        "without drawing, by the clock on the wall": simulated_s / (wall_s - clock.wall_s),
        "without drawing, by processor time": simulated_s / (cpu_s - clock.cpu_s),
        "milliseconds an image": 1e3 * clock.cpu_s / max(1, clock.images),
    }


def physics() -> float:
    world = World(make_scene(7))
    cpu_s = time.process_time()
    world.advance(10_000_000_000)
    return 10.0 / (time.process_time() - cpu_s)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tasks", type=int, default=4)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    cv2.setNumThreads(1)
    clock = Clock()
    watch_renderer(clock)
    numbers: dict[str, object] = {"physics alone, times real time": physics()}
    print(f"physics alone: {numbers['physics alone, times real time']:.1f} times real time")
    names = {
        "off": "images drawn for decisions only",
        "shadow": "two 320x240 cameras, every image judged",
    }
    for gate, name in names.items():
        numbers[name] = rows = speed(gate, arguments.tasks, clock)
        print(name)
        for row, value in rows.items():
            print(f"  {row:<45}{value:10.2f}")
    if arguments.json:
        write_text_whole(arguments.json, json.dumps(numbers, indent=2) + "\n")


if __name__ == "__main__":
    main()
