"""How fast the embedded panel loads and answers, an image at a time on one core, beside the classical pair.

python benchmarks/bench_panel.py --json build/bench_panel.json
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from embodied_iqa.base.files import write_text_whole
from embodied_iqa.imaging.images.frame import Frame, View
from embodied_iqa.models.panel.panel_members import members_in
from embodied_iqa.models.subjects.backends.classical.vla import ClassicalVla
from embodied_iqa.models.subjects.backends.classical.vlm import ClassicalVlm
from embodied_iqa.models.subjects.backends.panel.shipped_members import MODELS
from embodied_iqa.models.subjects.backends.panel.vla import LearnedVla
from embodied_iqa.models.subjects.backends.panel.vlm import LearnedVlm
from embodied_iqa.world.protocols import Vla, VlaObservation, Vlm
from embodied_iqa.world.scenes.dimensions import CELL_VIEWS
from embodied_iqa.world.scenes.scene import make_scene, tasks_of
from embodied_iqa.world.simulation.renderer import SceneRenderer
from embodied_iqa.world.simulation.world import World


def median_ms(ask: Callable[[], object], times: int) -> float:
    for _ in range(3):
        ask()
    spent = []
    for _ in range(times):
        began = time.perf_counter()
        ask()
        spent.append(1e3 * (time.perf_counter() - began))
    return float(np.median(spent))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=50)
    parser.add_argument("--models", type=Path, default=MODELS)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    scene = make_scene(3)
    world = World(scene)
    task = str(tasks_of(scene)[0])
    with SceneRenderer(scene, 640, 480) as renderer:
        frames = {view: renderer.frame(view, world.snapshot()) for view in CELL_VIEWS}
    observation = VlaObservation(frames, task, world.T_base_tool, 0.0, 0)

    names = members_in(arguments.models)
    began = time.perf_counter()
    members: dict[str, Vla | Vlm] = {
        name: (LearnedVla if "-vla-" in name else LearnedVlm)(arguments.models, name) for name in names
    }
    load_s = time.perf_counter() - began
    members |= {"classical-vla": ClassicalVla(), "classical-vlm": ClassicalVlm()}
    table = {
        name: median_ms(asking(member, observation, frames[View.TOP]), arguments.times)
        for name, member in members.items()
    }
    size_mb = sum(path.stat().st_size for path in arguments.models.glob("*.onnx")) / 1e6
    print(f"{len(names)} members, {size_mb:.1f} MB, load in {load_s:.2f} s")
    for name, spent_ms in table.items():
        peer = table["classical-vla" if "-vla" in name else "classical-vlm"]
        print(f"{name:<18} {spent_ms:6.2f} ms   {spent_ms / peer:5.2f} of the classical one")
    if arguments.json:
        record = {"load_s": load_s, "size_mb": size_mb, "median_ms": table}
        write_text_whole(arguments.json, json.dumps(record, indent=2) + "\n")


def asking(member: Vla | Vlm, observation: VlaObservation, frame: Frame) -> Callable[[], object]:
    act = getattr(member, "act", None)
    if act is not None:
        return lambda: act(observation)
    answer = getattr(member, "answer")  # noqa: B009 - one of two protocols
    view = member.info.views[0]
    return lambda: answer(observation.frames.get(view, frame), observation.instruction)


if __name__ == "__main__":
    main()
