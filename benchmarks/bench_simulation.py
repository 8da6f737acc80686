"""How often the expert succeeds in the simulated cell, and how fast physics and pictures are.

python benchmarks/bench_simulation.py --seeds 200 --json build/bench_simulation.json
"""

from __future__ import annotations

import argparse
import json
import time
from collections import Counter
from pathlib import Path

import numpy as np

from embodied_iqa.images.frame import View
from embodied_iqa.simulation.expert import expert_chunk
from embodied_iqa.simulation.renderer import SceneRenderer
from embodied_iqa.simulation.rollout import rollout
from embodied_iqa.simulation.scene import make_scene
from embodied_iqa.simulation.tasks import task_success
from embodied_iqa.simulation.world import World
from embodied_iqa.subjects.instruction import KINDS_OF_VERB, Colour, Instruction, Verb


def instruction_for(verb: Verb, seed: int) -> Instruction:
    rng = np.random.default_rng([seed, 77])
    kinds = KINDS_OF_VERB[verb]
    return Instruction(verb, list(Colour)[rng.integers(6)], kinds[rng.integers(len(kinds))])


def expert_success(verb: Verb, seeds: int) -> dict[str, object]:
    """Let the expert do one task on each seed."""
    done, simulated_ns, failures = 0, 0, Counter[str]()
    began = time.perf_counter()
    for seed in range(seeds):
        instruction = instruction_for(verb, seed)
        scene = make_scene(seed, instruction)
        world = World(scene)
        start = world.snapshot()
        chunk = expert_chunk(scene, start, instruction, world.T_base_tool)
        result = rollout(world, chunk.increments)
        simulated_ns += world.time_ns
        if task_success(scene, instruction, start, result.end):
            done += 1
        else:
            failures[f"{instruction.kind} (seed {seed}): {result.stopped or 'not done'}"] += 1
    wall_s = time.perf_counter() - began
    return {
        "success": done / seeds,
        "seeds": seeds,
        "times_real_time": simulated_ns / 1e9 / wall_s,
        "failures": sorted(failures),
    }


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
    parser.add_argument("--seeds", type=int, default=200)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    numbers: dict[str, object] = {}
    for verb in Verb:
        numbers[f"expert {verb}"] = row = expert_success(verb, arguments.seeds)
        print(f"expert {verb:<6} success {row['success']:.3f}  {row['times_real_time']:.0f}x real time")
        for failure in row["failures"]:
            print(f"    {failure}")
    numbers["idle physics, times real time"] = speed = physics_speed()
    print(f"idle physics {speed:.0f}x real time")
    numbers["pictures a second"] = rates = picture_rates()
    print("pictures a second " + ", ".join(f"{size}: {rate:.0f}" for size, rate in rates.items()))
    if arguments.json:
        arguments.json.parent.mkdir(parents=True, exist_ok=True)
        arguments.json.write_text(json.dumps(numbers, indent=2) + "\n")


if __name__ == "__main__":
    main()
