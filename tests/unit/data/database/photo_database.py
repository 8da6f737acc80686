"""A folder of small photographs with tasks, and builds of it."""

from __future__ import annotations

import os
import random
from pathlib import Path
from typing import Any

import cv2
import numpy as np

from embodied_iqa.base.jobs.engine import EngineOptions
from embodied_iqa.data.database.building.build_options import BuildOptions, BuildPlan, ImageStorage
from embodied_iqa.data.database.building.builder import BuildSummary, build
from embodied_iqa.data.database.sources.photographs import FolderSource
from embodied_iqa.models.subjects.reference import parse_reference
from fail_points import kill_before

COLOURS = {"red": (30, 30, 200), "green": (40, 150, 30), "blue": (190, 60, 20), "yellow": (20, 200, 230)}
VLM, VLA = "classical-vlm", "classical-vla"


def make_photos(folder: Path, numbers: range, tasks: int = 1) -> Path:
    """Draw images of coloured squares and write their tasks; return the task file."""
    folder.mkdir(parents=True)
    lines = ["# embodied-iqa-tasks 1", "image,bag,stamp_ns,view,rank,text,verb"]
    for number in numbers:
        draw = random.Random(number)
        image = np.full((96, 128, 3), 190, np.uint8)
        for at, colour in enumerate(draw.sample(list(COLOURS), 3)):
            x, y = 8 + 40 * at, draw.randrange(10, 60)
            cv2.rectangle(image, (x, y), (x + 22, y + 22), COLOURS[colour], -1)
            if at < tasks:
                lines.append(f"p{number}.png,,,top,{at + 1},pick the {colour} cube,pick")
        noise = np.random.default_rng(number).integers(-6, 7, image.shape)
        cv2.imwrite(str(folder / f"p{number}.png"), np.clip(image + noise, 0, 255).astype(np.uint8))
    file = folder / "tasks.csv"
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return file


def build_photos(
    out: Path,
    tasks_file: Path,
    *,
    references: int = 3,
    subjects: tuple[str, ...] = (VLM,),
    store: ImageStorage = ImageStorage.IMAGES,
    workers: int = 1,
    **more: Any,
) -> BuildSummary:
    """Build a database of a folder that `make_photos` drew."""
    plan = BuildPlan(
        references, FolderSource(tasks_file.parent, tasks_file, cell_cameras=True), seed=5, store=store
    )
    panel, note = tuple(parse_reference(name) for name in subjects), more.pop("note", None)
    options = BuildOptions(panel, engine=more.pop("engine", EngineOptions(workers=workers)), **more)
    return build(out, plan, options, note=note)


def build_and_leave(out: str, tasks_file: str, references: int, kill_at: int, counted: str) -> None:
    """Build in a process that is killed at the file of this number, if there are so many."""
    kill_before(kill_at, Path(out), Path(counted))
    os.environ["OMP_NUM_THREADS"] = "1"
    build_photos(Path(out), Path(tasks_file), references=references)
