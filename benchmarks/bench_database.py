"""How fast a database is annotated, beside a bare loop over the same models; and what kills do to a build.

python benchmarks/bench_database.py --json build/bench_database.json
python benchmarks/bench_database.py --kills 100
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("LP_NUM_THREADS", "1")

import argparse
import json
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import cv2

from embodied_iqa.cli.build import panel_of
from embodied_iqa.database.building.builder import build
from embodied_iqa.database.building.members import frames_for, load_member
from embodied_iqa.database.building.settings import BuildOptions, BuildPlan, EngineOptions, Step
from embodied_iqa.database.check import check_database
from embodied_iqa.database.pictures import read_frames
from embodied_iqa.database.references import SimulationSource, home_tool
from embodied_iqa.database.store import DatabaseStore
from embodied_iqa.images.frame import View
from embodied_iqa.subjects.catalogue import Role
from embodied_iqa.subjects.options import VlaOptions, VlmOptions
from embodied_iqa.subjects.protocols import VlaObservation


def bare_loop(store: DatabaseStore, subjects: tuple[str, ...], seconds: float) -> float:
    """Answers a second of the models alone, on the references, one question at a time."""
    tasks = store.tasks().to_pylist()
    references = store.references().to_pylist()
    members = [load_member(name, VlmOptions(), VlaOptions()) for name in subjects]
    frames = {row["reference_id"]: read_frames(store.path, row, View) for row in references}
    answers, spent = 0, 0.0
    while spent < seconds:
        for row in references:
            view = View(row["view"])
            texts = [task["text"] for task in tasks if task["reference_id"] == row["reference_id"]]
            begun = time.perf_counter()
            for member in members:
                shown = frames_for(member.info.views, view, frames[row["reference_id"]])
                for text in texts:
                    if member.role is Role.VLM:
                        member.model.answer(shown[member.info.views[0]], text)
                    else:
                        member.model.act(VlaObservation(shown, text, home_tool(), 0.0, 0))
                    answers += 1
            spent += time.perf_counter() - begun
    return answers / spent


def speed(folder: Path, arguments: argparse.Namespace) -> dict[str, Any]:
    """Build once and compare."""
    subjects = panel_of(arguments.panel)
    plan = BuildPlan(arguments.references, SimulationSource(arguments.seed), arguments.seed)
    engine = EngineOptions(workers=arguments.workers)
    summary = build(folder, plan, BuildOptions(subjects, engine=engine))
    step = summary.steps[Step.ANNOTATE]
    bare = bare_loop(DatabaseStore(folder), subjects, arguments.bare_s)
    size = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
    return {
        "references": arguments.references,
        "subjects": list(subjects),
        "workers": arguments.workers,
        "annotations": step.rows,
        "annotations_per_s": step.rows_per_s,
        "bare_per_s": bare,
        "ratio_to_bare": step.rows_per_s / bare,
        "share_outside_inference": step.share_outside,
        "seconds": {str(name): item.seconds for name, item in summary.steps.items()},
        "bytes_per_pair": size / max(1, summary.record["counts"]["pairs"]),
    }


def kills(folder: Path, arguments: argparse.Namespace) -> dict[str, Any]:
    """Kill a build at random until it was killed often enough, then hold it against an undisturbed one."""
    command = [sys.executable, "-m", "embodied_iqa.cli.main", "build", "--seed", str(arguments.seed)]
    command += ["--references", str(arguments.references), "--panel", arguments.panel, "--size", "160x120"]
    command += ["--workers", str(arguments.workers), "--out"]
    begun = time.perf_counter()
    subprocess.run([*command, str(folder / "whole")], check=True, capture_output=True)
    whole_s = time.perf_counter() - begun
    draw, killed, begins = random.Random(arguments.seed), 0, 0
    while killed < arguments.kills:
        target = folder / f"killed-{begins}"
        begins += 1
        while killed < arguments.kills:
            builder = subprocess.Popen(
                [*command, str(target)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
            )
            try:
                builder.wait(draw.uniform(0.1, 1.0) * whole_s)
                break
            except subprocess.TimeoutExpired:
                builder.send_signal(signal.SIGKILL)
                builder.wait()
                killed += 1
        subprocess.run([*command, str(target)], check=True, capture_output=True)
        store = DatabaseStore(target)
        if store.record() != DatabaseStore(folder / "whole").record() or check_database(store).errors:
            sys.exit(f"a build that was killed differs: {target}")
    return {"kills": killed, "builds": begins, "whole_s": whole_s, "same": True}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--references", type=int, default=8)
    parser.add_argument("--panel", default="embedded")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--bare-s", type=float, default=5.0, help="how long the bare loop runs")
    parser.add_argument("--kills", type=int, default=0, help="kill a build so often instead")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    cv2.setNumThreads(1)
    with tempfile.TemporaryDirectory() as folder:
        found = (kills if arguments.kills else speed)(Path(folder) / "db", arguments)
    for name, value in found.items():
        print(f"{name:24} {value:.3f}" if isinstance(value, float) else f"{name:24} {value}")
    if arguments.json is not None:
        arguments.json.parent.mkdir(parents=True, exist_ok=True)
        arguments.json.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
