"""Success in physics of the expert's plan after a shift: the basis of the geometric criterion.

python benchmarks/bench_plan_tolerance.py --scenes 6 --json build/bench_plan_tolerance.json
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np

from embodied_iqa.base.files import write_text_whole
from embodied_iqa.models.panel.criterion import TOLERANCE_MM
from embodied_iqa.models.panel.evaluation.clean_scenes import HOME_POSE, succeeds
from embodied_iqa.models.panel.samples.draw_samples import sample_scene
from embodied_iqa.models.scoring.proportions import wilson
from embodied_iqa.world.manipulation.waypoints import waypoints_to_array
from embodied_iqa.world.simulation.expert import expert_waypoints
from embodied_iqa.world.simulation.world import World
from embodied_iqa.world.tasks.vocabulary import Verb

SHIFTS_MM = (0.0, 8.0, 12.0, 16.0, 20.0, 26.0, 32.0)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scenes", type=int, default=6, help="scenes for each verb")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    done = {verb: dict.fromkeys(SHIFTS_MM, 0) for verb in Verb}
    for index in range(arguments.scenes * len(Verb)):
        scene, task = sample_scene(900_001, index)
        world = World(scene)
        expert = waypoints_to_array(expert_waypoints(scene, world.snapshot(), task, HOME_POSE))
        angle = np.random.default_rng([index, 3]).uniform(0, 2 * np.pi)
        for shift_mm in SHIFTS_MM:
            plan = expert.copy()
            plan[:, :2] += 1e-3 * shift_mm * np.array([np.cos(angle), np.sin(angle)])
            done[task.verb][shift_mm] += succeeds(world, scene, task, plan)
    print("verb    criterion  " + "".join(f"{shift:>7.0f} mm" for shift in SHIFTS_MM))
    for verb, counts in done.items():
        shares = "".join(f"{wilson(count, arguments.scenes).value:>10.2f}" for count in counts.values())
        print(f"{verb:<8}{TOLERANCE_MM[verb]:>6.0f} mm  {shares}")
    if arguments.json:
        rows = {str(verb): {str(shift): count for shift, count in row.items()} for verb, row in done.items()}
        write_text_whole(
            arguments.json, json.dumps({"scenes": arguments.scenes, "done": rows}, indent=2) + "\n"
        )


if __name__ == "__main__":
    main()
