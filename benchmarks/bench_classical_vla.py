"""How often the classical VLA completes tasks in physics, on clean images, by verb; and how fast it looks.

python benchmarks/bench_classical_vla.py --seeds 100 --json build/bench_classical_vla.json
"""

from __future__ import annotations

import argparse
import json
import time
from collections import Counter, defaultdict
from pathlib import Path

import numpy as np

from embodied_iqa.base.files import write_text_whole
from embodied_iqa.imaging.images.frame import View
from embodied_iqa.models.subjects.backends.classical.vla import ClassicalVla
from embodied_iqa.models.subjects.backends.classical.vlm import ClassicalVlm
from embodied_iqa.world.scenes.scene import make_scene, tasks_of
from embodied_iqa.world.simulation.renderer import SceneRenderer
from embodied_iqa.world.simulation.rollout import observe, run_episode
from embodied_iqa.world.simulation.world import World
from embodied_iqa.world.tasks.vocabulary import Verb

KNOWN = (Verb.PICK, Verb.PUSH, Verb.PRESS)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=100)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    vla, vlm = ClassicalVla(), ClassicalVlm()
    outcomes: dict[str, Counter[str]] = defaultdict(Counter)
    act_ms, answer_ms, words = [], [], []
    for seed in range(arguments.seeds):
        scene = make_scene(seed)
        tasks = [task for task in tasks_of(scene) if task.verb in KNOWN]
        if not tasks:
            continue
        task = tasks[int(np.random.default_rng([seed, 5]).integers(len(tasks)))]
        world = World(scene)
        with SceneRenderer(scene, 640, 480) as renderer:
            observation = observe(vla, world, renderer, str(task), 0)
            began = time.perf_counter()
            vla.act(observation)
            middle = time.perf_counter()
            answer = vlm.answer(observation.frames[View.TOP], str(task))
            act_ms.append(1e3 * (middle - began))
            answer_ms.append(1e3 * (time.perf_counter() - middle))
            words.append(len(answer.split()))
            result = run_episode(vla, world, renderer, task)
        outcomes[str(task.verb)][f"{'done' if result.success else 'not done'}, says {result.status}"] += 1
        if not result.success or result.status != "done":
            print(f"  seed {seed}: {task}: {result}")
        if seed < 5:
            print(f"  {task}: {answer}")
    numbers = {
        "outcomes": {verb: dict(counts) for verb, counts in outcomes.items()},
        "act_ms_median": float(np.median(act_ms)),
        "answer_ms_median": float(np.median(answer_ms)),
        "answer_words_mean": float(np.mean(words)),
    }
    for verb, counts in outcomes.items():
        print(f"{verb:<6} " + "; ".join(f"{name}: {count}" for name, count in sorted(counts.items())))
    print(f"act {numbers['act_ms_median']:.1f} ms, answer {numbers['answer_ms_median']:.1f} ms")
    if arguments.json:
        write_text_whole(arguments.json, json.dumps(numbers, indent=2) + "\n")


if __name__ == "__main__":
    main()
