"""Rendering speed of many scenes: one model for all against one model a scene.

python benchmarks/bench_scene_images.py --scenes 100 --json build/bench_scene_images.json
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
from embodied_iqa.world.scenes.scene import Scene, draw_instruction, make_scene
from embodied_iqa.world.scenes.snapshot import nominal_snapshot
from embodied_iqa.world.simulation.renderer import SceneRenderer
from embodied_iqa.world.simulation.scene_batches import SceneBatchRenderer
from embodied_iqa.world.tasks.vocabulary import Verb

VIEWS = (View.TOP, View.WRIST, View.SIDE)


def scenes(count: int) -> list[Scene]:
    verbs = list(Verb)
    return [make_scene(seed, draw_instruction(verbs[seed % len(verbs)], seed)) for seed in range(count)]


def rate(draw: Callable[[Scene], object], some: list[Scene]) -> float:
    """Return images a second, three views of each scene."""
    draw(some[0])
    began = time.perf_counter()
    for scene in some:
        draw(scene)
    return len(VIEWS) * len(some) / (time.perf_counter() - began)


def draw_alone(scene: Scene, size_px: int) -> None:
    snapshot = nominal_snapshot(scene)
    with SceneRenderer(scene, size_px, size_px) as renderer:
        for view in VIEWS:
            renderer.frame(view, snapshot)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scenes", type=int, default=100)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    began = time.perf_counter()
    many = scenes(arguments.scenes)
    numbers = {"scenes drawn at random, a second": len(many) / (time.perf_counter() - began)}
    for size_px in (384, 192):
        with SceneBatchRenderer(size_px, size_px) as batch:
            together = rate(partial(batch.frames, views=VIEWS), many)
        alone = rate(partial(draw_alone, size_px=size_px), many[: len(many) // 5])
        numbers |= {
            f"{size_px} px, one model for all, images a second": together,
            f"{size_px} px, one model a scene, images a second": alone,
            f"{size_px} px, times faster": together / alone,
        }
    for name, number in numbers.items():
        print(f"{name:<52} {number:8.1f}")
    if arguments.json:
        write_text_whole(arguments.json, json.dumps(numbers, indent=2) + "\n")


if __name__ == "__main__":
    main()
