"""Speed of physics and rendering of the simulated cell.

python benchmarks/bench_simulation.py --json build/bench_simulation.json
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from embodied_iqa.base.files import write_text_whole
from embodied_iqa.imaging.images.frame import View
from embodied_iqa.world.scenes.scene import make_scene
from embodied_iqa.world.scenes.snapshot import WorldSnapshot
from embodied_iqa.world.simulation.camera import CameraModel
from embodied_iqa.world.simulation.camera.simulated_cameras import SimulatedCameras
from embodied_iqa.world.simulation.renderer import SceneRenderer
from embodied_iqa.world.simulation.world import World


def physics_speed() -> float:
    world = World(make_scene(1))
    began = time.perf_counter()
    world.advance(10_000_000_000)
    return 10.0 / (time.perf_counter() - began)


def image_rates() -> dict[str, float]:
    scene = make_scene(1)
    snapshot = World(scene).snapshot()
    rates = {}
    for width, height in ((1280, 720), (640, 480), (320, 240)):
        with SceneRenderer(scene, width, height) as renderer:
            renderer.frame(View.TOP, snapshot)
            began = time.perf_counter()
            for _ in range(20):
                renderer.frame(View.TOP, snapshot)
            rates[f"{width}x{height}"] = 20 / (time.perf_counter() - began)
    return rates


def shortest_ms(call: Callable[[], object]) -> float:
    """Return the time of the fastest of 30 calls: the machine's other work only adds to it."""
    call()
    times = []
    for _ in range(30):
        began = time.perf_counter()
        call()
        times.append(time.perf_counter() - began)
    return 1e3 * min(times)


def camera_model_ms() -> dict[str, float]:
    """The least time of an image by the camera model, without its rendering, at rest and in motion [ms]."""
    scene = make_scene(1)
    before = World(scene).snapshot()
    qpos = before.qpos.copy()
    qpos[0] += 0.03
    least = {}
    for width, height in ((1280, 720), (640, 480)):
        with SceneRenderer(scene, width, height) as renderer:
            for name, state in (("at rest", before.qpos), ("0.18 m/s", qpos)):
                for view in (View.TOP, View.WRIST):
                    cameras = SimulatedCameras(renderer, CameraModel.D455, (view,))
                    cameras.take(before)
                    shot = cameras.take(WorldSnapshot(before.time_ns + 66_666_667, state))
                    both = shortest_ms(partial(cameras.frame, view, shot))
                    rendering = shortest_ms(partial(renderer.frame, view, shot.snapshot))
                    least[f"{width}x{height} {view} {name}"] = both - rendering
    return least


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    numbers: dict[str, object] = {}
    numbers["idle physics, times real time"] = speed = physics_speed()
    print(f"idle physics {speed:.0f}x real time")
    numbers["images a second"] = rates = image_rates()
    print("images a second " + ", ".join(f"{size}: {rate:.0f}" for size, rate in rates.items()))
    numbers["camera model, ms"] = least = camera_model_ms()
    for name, value in least.items():
        print(f"camera model {name}: {value:.1f} ms beside rendering")
    if arguments.json:
        write_text_whole(arguments.json, json.dumps(numbers, indent=2) + "\n")


if __name__ == "__main__":
    main()
