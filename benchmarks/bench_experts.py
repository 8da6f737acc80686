"""Success rate of the expert for each verb in physics, with Wilson intervals.

python benchmarks/bench_experts.py --seeds 200 --json build/bench_experts.json
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

from embodied_iqa.base.files import write_text_whole
from embodied_iqa.base.units import SECOND_NS
from embodied_iqa.models.scoring.proportions import wilson
from embodied_iqa.world.scenes.scene import draw_instruction, make_scene
from embodied_iqa.world.simulation.expert import expert_chunk
from embodied_iqa.world.simulation.rollout import rollout
from embodied_iqa.world.simulation.success import task_success
from embodied_iqa.world.simulation.world import World
from embodied_iqa.world.tasks.vocabulary import Verb


def measure(verb: Verb, seeds: int, first: int) -> dict[str, Any]:
    """Run the expert on one task for each seed."""
    failures: list[str] = []
    simulated_ns = 0
    began = time.perf_counter()
    for seed in range(first, first + seeds):
        instruction = draw_instruction(verb, seed)
        scene = make_scene(seed, instruction)
        world = World(scene)
        start = world.snapshot()
        chunk = expert_chunk(scene, start, instruction, world.T_base_tool)
        result = rollout(world, chunk.increments)
        simulated_ns += world.time_ns
        if result.stopped or not task_success(scene, instruction, start, result.end):
            failures.append(f"{instruction} (seed {seed}): {result.stopped or 'not done'}")
    wall_s = time.perf_counter() - began
    share = wilson(seeds - len(failures), seeds)
    return {
        "success": 1 - len(failures) / seeds,
        "interval": [share.low, share.high],
        "seeds": seeds,
        "seconds_a_rollout": wall_s / seeds,
        "simulated_s": simulated_ns / SECOND_NS / seeds,
        "failures": failures,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=200)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--verbs", nargs="*", type=Verb, default=list(Verb))
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    numbers: dict[str, dict[str, Any]] = {}
    for verb in arguments.verbs:
        numbers[str(verb)] = row = measure(verb, arguments.seeds, arguments.first)
        low, high = row["interval"]
        print(
            f"{verb:<7} success {row['success']:.3f} [{low:.3f}, {high:.3f}]  "
            f"{row['seconds_a_rollout']:.2f} s for {row['simulated_s']:.1f} s of motion",
            flush=True,
        )
        for failure in row["failures"]:
            print(f"    {failure}")
    if arguments.json:
        write_text_whole(arguments.json, json.dumps(numbers, indent=2) + "\n")


if __name__ == "__main__":
    main()
