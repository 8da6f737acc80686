"""Speed of physics and rendering of the simulated cell.

python benchmarks/bench_simulation.py --json build/bench_simulation.json
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

from embodied_iqa.images.frame import View
from embodied_iqa.scenes.scene import make_scene
from embodied_iqa.simulation.renderer import SceneRenderer
from embodied_iqa.simulation.world import World


def physics_speed() -> float:
    world = World(make_scene(1))
    began = time.perf_counter()
    world.advance(10_000_000_000)
    return 10.0 / (time.perf_counter() - began)


def picture_rates() -> dict[str, float]:
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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    numbers: dict[str, object] = {}
    numbers["idle physics, times real time"] = speed = physics_speed()
    print(f"idle physics {speed:.0f}x real time")
    numbers["pictures a second"] = rates = picture_rates()
    print("pictures a second " + ", ".join(f"{size}: {rate:.0f}" for size, rate in rates.items()))
    if arguments.json:
        arguments.json.parent.mkdir(parents=True, exist_ok=True)
        arguments.json.write_text(json.dumps(numbers, indent=2) + "\n")


if __name__ == "__main__":
    main()
