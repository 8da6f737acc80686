"""Speed of annotation compared with a bare loop of the same models; effect of kills and of workers.

python benchmarks/bench_database.py --json build/bench_database.json
python benchmarks/bench_database.py --kills 100 --references 5 --panel classical-vlm,classical-vla
python benchmarks/bench_database.py --engines --references 48
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("LP_NUM_THREADS", "1")

import argparse
import json
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import cv2
from database_builds import Wanted, run_build, sizes_of

from embodied_iqa.cli.build.building import panel_of
from embodied_iqa.database.building.members import frames_for, load_member
from embodied_iqa.database.building.options import EngineKind
from embodied_iqa.database.check import check_database
from embodied_iqa.database.pictures import read_frames
from embodied_iqa.database.record import DatabaseRecord
from embodied_iqa.database.rows import rows_of
from embodied_iqa.database.schema import Reference, ReferenceTask
from embodied_iqa.database.sources.candidate import home_tool
from embodied_iqa.database.store import DatabaseStore
from embodied_iqa.images.frame import View
from embodied_iqa.subjects.catalogue import Role
from embodied_iqa.subjects.options import VlaOptions, VlmOptions
from embodied_iqa.subjects.protocols import VlaObservation
from embodied_iqa.subjects.reference import SubjectReference

REPORT_EVERY = 5
STAGES = ("scores.parquet", "annotations", "pairs.parquet", "tasks.parquet", "references.parquet", "work")


def bare_loop(store: DatabaseStore, subjects: tuple[SubjectReference, ...], seconds: float) -> float:
    """Answers a second of the models alone, on the references, one question at a time."""
    tasks = rows_of(ReferenceTask, store.tasks())
    references = rows_of(Reference, store.references())
    members = [load_member(subject, VlmOptions(), VlaOptions()) for subject in subjects]
    frames = {row.reference_id: read_frames(store.path, row, View) for row in references}
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


def kills(folder: Path, wanted: Wanted, arguments: argparse.Namespace) -> dict[str, Any]:
    """Kill builds at random moments; compare each with an undisturbed one."""
    command = [sys.executable, "-m", "embodied_iqa.cli.main", "build"]
    started = time.perf_counter()
    subprocess.run([*command, *wanted.words(folder / "whole")], check=True, capture_output=True)
    whole_s = time.perf_counter() - started
    say(f"an undisturbed build takes {whole_s:.1f} s")
    whole = DatabaseStore(folder / "whole").record()
    draw = random.Random(arguments.seed)
    where: Counter[str] = Counter()
    builds = 0
    while where.total() < arguments.kills:
        target = folder / f"killed-{builds}"
        builds += 1
        while where.total() < arguments.kills and _killed(command + wanted.words(target), draw, whole_s):
            where[next((name for name in STAGES if (target / name).exists()), "start")] += 1
            if where.total() % REPORT_EVERY == 0:
                minutes = (time.perf_counter() - started) / 60
                say(f"{where.total()} of {arguments.kills} kills, {builds} builds, {minutes:.1f} min")
        subprocess.run([*command, *wanted.words(target)], check=True, capture_output=True)
        _check_same(DatabaseStore(target), whole)
        shutil.rmtree(target)
    return {
        **vars(wanted),
        "kills": where.total(),
        "builds": builds,
        "whole_s": whole_s,
        "rows": {name: count for name, count in whole.counts.items() if name != "failures"},
        "killed_after": dict(where),
        "same_rows": True,
        "wall_s": time.perf_counter() - started,
    }


def _killed(command: list[str], draw: random.Random, whole_s: float) -> bool:
    """Build for a random time; return whether the build was killed."""
    builder = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        if builder.wait(draw.uniform(0.1, 1.0) * whole_s):
            sys.exit(f"a build failed by itself: {' '.join(command)}")
    except subprocess.TimeoutExpired:
        builder.send_signal(signal.SIGKILL)
        builder.wait()
        return True
    return False


def _check_same(store: DatabaseStore, whole: DatabaseRecord) -> None:
    """Compare hashes of all tables; the check finds missing and duplicate rows."""
    errors = check_database(store).errors
    if store.record() != whole or errors:
        sys.exit(f"a build that was killed differs: {store.path} {errors}")


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


def say(text: str) -> None:
    """Report progress on stderr."""
    print(text, file=sys.stderr, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--references", type=int, default=8)
    parser.add_argument("--panel", default="embedded")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--size", default="480x360", help="of the pictures (default 480x360)")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--bare-s", type=float, default=5.0, help="how long the bare loop runs")
    parser.add_argument("--kills", type=int, default=0, help="kill a build so often instead")
    parser.add_argument("--engines", action="store_true", help="compare workers and engines instead")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    cv2.setNumThreads(1)
    wanted = Wanted(
        arguments.references, arguments.panel, arguments.seed, arguments.size, workers=arguments.workers
    )
    measure = engines if arguments.engines else kills if arguments.kills else speed
    with tempfile.TemporaryDirectory() as folder:
        found = measure(Path(folder), wanted, arguments)
    for name, value in found.items():
        print(f"{name:32} {value:.3f}" if isinstance(value, float) else f"{name:32} {value}")
    if arguments.json is not None:
        arguments.json.parent.mkdir(parents=True, exist_ok=True)
        arguments.json.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
