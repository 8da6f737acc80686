"""Draws a strip of images for each verb, start to end, as docs/reference/verbs.md shows them.

python benchmarks/draw_verbs.py --out docs/images
"""

from __future__ import annotations

import argparse
from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray

from embodied_iqa.imaging.images.frame import View
from embodied_iqa.world.scenes.scene import Scene, draw_instruction, make_scene
from embodied_iqa.world.scenes.snapshot import WorldSnapshot
from embodied_iqa.world.simulation.expert import expert_chunk
from embodied_iqa.world.simulation.renderer import SceneRenderer
from embodied_iqa.world.simulation.rollout import RolloutOptions, rollout
from embodied_iqa.world.simulation.success import task_success
from embodied_iqa.world.simulation.world import World
from embodied_iqa.world.tasks.instruction import Instruction
from embodied_iqa.world.tasks.vocabulary import Verb

DRAWN_PX = (1440, 1080)
SHOWN_PX = (400, 300)
CROP = (0.19, 0.38, 0.58)
"""Left, top and size of the visible part of the side view."""

MOMENTS: dict[Verb, tuple[int, int]] = {
    Verb.COVER: (4, 6),
    Verb.INSERT: (4, 6),
    Verb.MOVE: (3, 5),
    Verb.PICK: (1, 3),
    Verb.PLACE: (3, 6),
    Verb.POUR: (4, 7),
    Verb.PRESS: (1, 2),
    Verb.PULL: (3, 4),
    Verb.PUSH: (2, 3),
    Verb.TWIST: (3, 5),
}
"""Number of waypoints before each of the two middle images."""


def run(scene: Scene, instruction: Instruction) -> list[WorldSnapshot]:
    """Run the expert; return the states at the start, after each waypoint and at the end."""
    world = World(scene)
    states = [world.snapshot()]
    chunk = expert_chunk(scene, states[0], instruction, world.T_base_tool).increments
    for increment in chunk:
        rollout(world, increment[None], RolloutOptions(settle_s=0.0))
        states.append(world.snapshot())
    world.advance(600_000_000)
    states.append(world.snapshot())
    if not task_success(scene, instruction, states[0], states[-1]):
        raise SystemExit(f"the expert failed: {instruction}; choose another seed")
    return states


def strip(verb: Verb, seed: int) -> tuple[NDArray[np.uint8], Instruction]:
    instruction = draw_instruction(verb, seed)
    scene = make_scene(seed, instruction)
    states = run(scene, instruction)
    first, second = MOMENTS[verb]
    width, height = DRAWN_PX
    left, top, size = (round(part * edge) for part, edge in zip(CROP, (width, height, width), strict=True))
    images = []
    with SceneRenderer(scene, width, height, fine=True) as renderer:
        for state in (states[0], states[first], states[second], states[-1]):
            rgb = renderer.frame(View.SIDE, state).rgb
            cut = rgb[top : top + size * 3 // 4, left : left + size]
            images.append(cv2.resize(cut, SHOWN_PX, interpolation=cv2.INTER_AREA))
    gap = np.full((SHOWN_PX[1], 6, 3), 255, np.uint8)
    row = [part for image in images for part in (image, gap)][:-1]
    return np.hstack(row).astype(np.uint8), instruction


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("docs/images"))
    parser.add_argument("--verbs", nargs="*", type=Verb, default=list(Verb))
    parser.add_argument("--seed", type=int, help="seed of the scenes (default: those of the documentation)")
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    for verb in arguments.verbs:
        seed = list(Verb).index(verb) if arguments.seed is None else arguments.seed
        image, instruction = strip(verb, seed)
        path = arguments.out / f"verb-{verb}.webp"
        cv2.imwrite(str(path), cv2.cvtColor(image, cv2.COLOR_RGB2BGR), [cv2.IMWRITE_WEBP_QUALITY, 78])
        print(f"{path} ({path.stat().st_size / 1000:.0f} kB): {instruction}, scene {seed}")


if __name__ == "__main__":
    main()
