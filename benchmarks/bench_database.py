"""Speed of annotation compared with a bare loop of the same models; effect of workers; cost by member.

python benchmarks/bench_database.py --json build/bench_database.json
python benchmarks/bench_database.py --members --references 4
python benchmarks/bench_database.py --engines --references 48
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("LP_NUM_THREADS", "1")

import argparse
import json
import shutil
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import cv2
from database_builds import Wanted, run_build, sizes_of
from machine_state import machine_state

from embodied_iqa.base.files import write_text_whole
from embodied_iqa.base.jobs.engine import EngineKind
from embodied_iqa.base.tables import rows_of
from embodied_iqa.cli.build.building import panel_of
from embodied_iqa.data.database.building.annotate_block import BlockImages, annotate
from embodied_iqa.data.database.building.build_subjects import cameras_for, frames_for, load_member
from embodied_iqa.data.database.building.step_annotate import blocks_of
from embodied_iqa.data.database.database_images import read_frames
from embodied_iqa.data.database.schema import Reference, ReferenceTask
from embodied_iqa.data.database.sources.candidate import home_tool
from embodied_iqa.data.database.store import DatabaseStore
from embodied_iqa.models.subjects.catalogue import Role
from embodied_iqa.models.subjects.reference import SubjectReference
from embodied_iqa.models.subjects.subject_options import VlaOptions, VlmOptions
from embodied_iqa.world.protocols import VlaObservation
from embodied_iqa.world.scenes.dimensions import CELL_VIEWS


def bare_loop(store: DatabaseStore, subjects: tuple[SubjectReference, ...], seconds: float) -> float:
    """Answers a second of the models alone, on the references, one question at a time."""
    tasks = rows_of(ReferenceTask, store.tasks())
    references = rows_of(Reference, store.references())
    members = [load_member(subject, VlmOptions(), VlaOptions()) for subject in subjects]
    frames = {row.reference_id: read_frames(store.path, row, CELL_VIEWS) for row in references}
    answers, spent, rounds = 0, 0.0, 0
    while spent < seconds:
        for row in references:
            texts = [task.text for task in tasks if task.reference_id == row.reference_id]
            started = time.perf_counter()
            for member in members:
                shown = frames_for(member.info.views, row.view, frames[row.reference_id])
                for text in texts:
                    if member.role is Role.VLM:
                        member.model.answer(shown[member.info.views[0]], text)
                    else:
                        member.model.act(VlaObservation(shown, text, home_tool(), 0.0, 0))
                    answers += rounds > 0
            spent += (time.perf_counter() - started) * (rounds > 0)  # the first round warms up
        rounds += 1
    return answers / spent


def speed(folder: Path, wanted: Wanted, arguments: argparse.Namespace) -> dict[str, Any]:
    """Build once and compare."""
    result = run_build(wanted, folder / "db")
    subjects = panel_of(wanted.panel)
    bare = bare_loop(DatabaseStore(folder / "db"), subjects, arguments.bare_s)
    sizes = sizes_of(folder / "db")
    return {
        **vars(wanted),
        "subjects": [subject.text for subject in subjects],
        **result,
        "bare_per_s": bare,
        "ratio_to_bare": result["annotations_per_s"] / bare,
        **sizes,
        "bytes_per_pair": 1e6 * sum(sizes.values()) / max(1, result["counts"]["pairs"]),
    }


def engines(folder: Path, wanted: Wanted, _arguments: argparse.Namespace) -> dict[str, Any]:
    """Build the same with one worker and with two, in processes and on Ray."""
    found: dict[str, Any] = {}
    records = []
    for kind in EngineKind:
        for workers in (1, 2):
            name = f"{kind}_{workers}"
            result = run_build(replace(wanted, engine=str(kind), workers=workers), folder / name)
            say(f"{name}: {result['wall_s']:.1f} s, {result['annotations_per_s']:.0f} answers/s")
            names = ("wall_s", "annotations_per_s", "steady_per_s", "rss_largest_mb", "rss_together_mb")
            found |= {f"{name}_{key}": result[key] for key in names}
            records.append(DatabaseStore(folder / name).record())
            shutil.rmtree(folder / name)
        one, two = f"{kind}_1", f"{kind}_2"
        found[f"{kind}_ratio_with_start"] = found[f"{one}_wall_s"] / found[f"{two}_wall_s"]
        if found[f"{one}_steady_per_s"] and found[f"{two}_steady_per_s"]:
            found[f"{kind}_ratio_without_start"] = found[f"{two}_steady_per_s"] / found[f"{one}_steady_per_s"]
    same = all(record == records[0] for record in records)
    if not same:
        sys.exit("the engines do not give the same tables")
    return {**vars(wanted), "annotations": records[0].counts["annotations"], **found, "same_tables": same}


def members_of(folder: Path, wanted: Wanted, _arguments: argparse.Namespace) -> dict[str, Any]:
    """Build, and annotate the references again in this process: processor time by member (ms a reference)."""
    run_build(wanted, folder / "db")
    store = DatabaseStore(folder / "db")
    members = [load_member(subject, VlmOptions(), VlaOptions()) for subject in panel_of(wanted.panel)]
    spent = dict.fromkeys(("images read and distorted", *(member.name for member in members)), 0.0)
    count = 0
    for block in blocks_of(store):
        for row in block.references:
            count += 1
            needed = [cameras_for(member.info.views, row.view).values() for member in members]
            tasks = [task for task in block.tasks if task.reference_id == row.reference_id]
            pairs = [pair for pair in block.pairs if pair.reference_id == row.reference_id]
            before = time.thread_time()
            images = BlockImages(store.path, row, pairs, {view for views in needed for view in views})
            spent["images read and distorted"] += time.thread_time() - before
            for member in members:
                before = time.thread_time()
                annotate(member, images, tasks)
                spent[member.name] += time.thread_time() - before
    found = {name: 1e3 * seconds / count for name, seconds in spent.items()}
    return {**vars(wanted), **machine_state(), **found, "together": sum(found.values())}


def say(text: str) -> None:
    """Report progress on stderr."""
    print(text, file=sys.stderr, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--references", type=int, default=8)
    parser.add_argument("--panel", default="embedded")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--size", default="480x360", help="of the images (default 480x360)")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--bare-s", type=float, default=5.0, help="how long the bare loop runs")
    parser.add_argument("--engines", action="store_true", help="compare workers and engines instead")
    parser.add_argument("--members", action="store_true", help="processor time by member instead")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    cv2.setNumThreads(1)
    wanted = Wanted(
        arguments.references, arguments.panel, arguments.seed, arguments.size, workers=arguments.workers
    )
    measure = engines if arguments.engines else members_of if arguments.members else speed
    with tempfile.TemporaryDirectory() as folder:
        found = measure(Path(folder), wanted, arguments)
    for name, value in found.items():
        print(f"{name:32} {value:.3f}" if isinstance(value, float) else f"{name:32} {value}")
    if arguments.json is not None:
        write_text_whole(arguments.json, json.dumps(found, indent=2) + "\n")


if __name__ == "__main__":
    main()
