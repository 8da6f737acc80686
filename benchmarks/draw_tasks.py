"""Draws a scene with its five tasks, as docs/tasks.md shows it, and prints the table of examples there.

python benchmarks/draw_tasks.py --out docs/images
"""

from __future__ import annotations

import argparse
import textwrap
from pathlib import Path
from typing import Final

import cv2
import numpy as np
from PIL import Image, ImageDraw, ImageFont

from embodied_iqa.imaging.images.frame import View
from embodied_iqa.world.scenes.language.five_tasks import draw_task_scene, make_tasks
from embodied_iqa.world.scenes.scene import Scene
from embodied_iqa.world.scenes.snapshot import nominal_snapshot
from embodied_iqa.world.simulation.renderer import SceneRenderer
from embodied_iqa.world.tasks.task import Task

DRAWN_PX: Final = (1280, 960)
SHOWN_PX: Final = (480, 360)
TEXT_PX: Final = 400
VIEW: Final = View.TOP


def image(scene: Scene, tasks: tuple[Task, ...]) -> Image.Image:
    """Return the camera's image with the tasks beside it."""
    with SceneRenderer(scene, *DRAWN_PX, fine=True) as renderer:
        rgb = renderer.frame(VIEW, nominal_snapshot(scene)).rgb
    small = cv2.resize(rgb, SHOWN_PX, interpolation=cv2.INTER_AREA)
    sheet = Image.new("RGB", (SHOWN_PX[0] + TEXT_PX, SHOWN_PX[1]), "white")
    sheet.paste(Image.fromarray(np.ascontiguousarray(small)))
    draw = ImageDraw.Draw(sheet)
    words, notes = ImageFont.load_default(17), ImageFont.load_default(13)
    left, top = SHOWN_PX[0] + 20, 16
    for task in tasks:
        draw.text((left, top), str(task.rank), fill="#888888", font=words)
        lines = textwrap.wrap(task.text, 42)
        for line in lines:
            draw.text((left + 24, top), line, fill="black", font=words)
            top += 21
        draw.text((left + 24, top), f"{task.ability}, {task.difficulty} points", fill="#666666", font=notes)
        top += 28
    return sheet


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("docs/images"))
    parser.add_argument("--scene-seed", type=int, default=15)
    parser.add_argument("--examples", type=int, nargs="*", default=[0, 2, 5, 6])
    arguments = parser.parse_args()
    scene, main_task = draw_task_scene(arguments.scene_seed)
    arguments.out.mkdir(parents=True, exist_ok=True)
    path = arguments.out / "tasks.webp"
    sheet = image(scene, make_tasks(scene, view=VIEW, main=main_task))
    sheet.save(path, quality=80)
    print(f"{path} ({path.stat().st_size / 1000:.0f} kB), scene {arguments.scene_seed}\n")
    for seed in arguments.examples:
        scene, main_task = draw_task_scene(seed)
        for task in make_tasks(scene, view=VIEW, main=main_task):
            plan = "; ".join(str(step) for step in task.plan)
            print(f"| {seed} | {task.rank} | {task.text} | `{task.ability}` | {task.difficulty} | {plan} |")


if __name__ == "__main__":
    main()
