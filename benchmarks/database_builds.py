"""Builds of a database in separate processes with measured time and memory, for `bench_database.py`."""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("LP_NUM_THREADS", "1")

import argparse
import json
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import cv2

from embodied_iqa.base.jobs.engine import BlockReport, EngineKind, EngineOptions
from embodied_iqa.cli.build.building import panel_of
from embodied_iqa.data.database.building.build_options import BuildOptions, BuildPlan, Step
from embodied_iqa.data.database.building.builder import BuildSummary, build
from embodied_iqa.data.database.sources.simulated import SimulationSource

SAMPLE_PERIOD_S = 0.2


@dataclass(frozen=True)
class Wanted:
    """Arguments of a build."""

    references: int
    panel: str
    seed: int
    size: str
    engine: str = str(EngineKind.PROCESSES)
    workers: int = 1

    def words(self, out: Path) -> list[str]:
        """Arguments of this file, and of `embodied-iqa build`."""
        named = {name: str(value) for name, value in vars(self).items()} | {"out": str(out)}
        return [word for name, value in named.items() for word in (f"--{name}", value)]


@dataclass
class Blocks:
    """Times at which blocks of answers were done."""

    started_s: float = field(default_factory=time.perf_counter)
    done: list[tuple[float, int]] = field(default_factory=list)

    def begin(self, step: Step, blocks: int) -> None:
        """Report on stderr."""
        print(f"{step}: {blocks} blocks", file=sys.stderr, flush=True)

    def advance(self, step: Step, report: BlockReport) -> None:
        """Record the time of a block of answers."""
        if step is Step.ANNOTATE:
            self.done.append((time.perf_counter() - self.started_s, report.rows))

    def steady_per_s(self, workers: int) -> float | None:
        """Answers a second after every worker's first block: it starts processes and loads models."""
        if len(self.done) <= workers:
            return None
        rows = sum(count for _, count in self.done[workers:])
        return rows / (self.done[-1][0] - self.done[workers - 1][0])


def run_build(wanted: Wanted, out: Path) -> dict[str, Any]:
    """Build in a new process; return its results, wall time and memory."""
    started = time.perf_counter()
    command = [sys.executable, __file__, *wanted.words(out)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    with process, memory_of(process.pid) as memory:
        text, _ = process.communicate()
    if process.returncode:
        sys.exit(f"the build failed: {' '.join(command)}")
    result: dict[str, Any] = json.loads(text)
    return {**result, "wall_s": time.perf_counter() - started, **memory}


@contextmanager
def memory_of(pid: int) -> Iterator[dict[str, float]]:
    """Measure a process and all below it until the block ends.

    Yields:
        At the end ``rss_largest_mb``, the peak of the largest process, and ``rss_together_mb``, the largest
        sum at one time; pages that processes share count for each.
    """
    found = {"rss_largest_mb": 0.0, "rss_together_mb": 0.0}
    ended = threading.Event()

    def watch() -> None:
        while not ended.wait(SAMPLE_PERIOD_S):
            seen = [_memory(one) for one in _family(pid)]
            found["rss_largest_mb"] = max([found["rss_largest_mb"], *(peak for _, peak in seen)])
            found["rss_together_mb"] = max(found["rss_together_mb"], sum(now for now, _ in seen))

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        yield found
    finally:
        ended.set()
        watcher.join()


def _family(pid: int) -> set[int]:
    parents = {}
    for file in Path("/proc").glob("[0-9]*/stat"):
        try:
            parents[int(file.parent.name)] = int(file.read_text().rpartition(")")[2].split()[1])
        except (OSError, ValueError, IndexError):
            continue  # it has ended
    family, grown = {pid}, 0
    while grown < len(family):
        grown = len(family)
        family |= {child for child, parent in parents.items() if parent in family}
    return family


def _memory(pid: int) -> tuple[float, float]:
    """Resident memory now and at its peak (MB)."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0.0, 0.0
    status: Mapping[str, str] = dict(line.split(":", 1) for line in lines if ":" in line)
    now, peak = (int(status.get(name, "0 kB").split()[0]) * 1024 / 1e6 for name in ("VmRSS", "VmHWM"))
    return now, peak


def sizes_of(path: Path) -> dict[str, float]:
    """Megabytes of images, of tables, and of what may be removed."""
    found = {"images_mb": 0.0, "tables_mb": 0.0, "work_mb": 0.0}
    for file in path.rglob("*"):
        if file.is_file():
            first = file.relative_to(path).parts[0]
            name = f"{first}_mb" if first in {"images", "work"} else "tables_mb"
            found[name] += file.stat().st_size / 1e6
    return found


def _results(summary: BuildSummary, blocks: Blocks, workers: int) -> dict[str, Any]:
    step = summary.steps[Step.ANNOTATE]
    return {
        "annotations": step.rows,
        "annotations_per_s": step.rows_per_s,
        "steady_per_s": blocks.steady_per_s(workers),
        "share_outside_inference": step.share_outside,
        "step_seconds": {str(name): round(item.seconds, 2) for name, item in summary.steps.items()},
        "counts": summary.record.counts,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    for name, kind in (("references", int), ("panel", str), ("seed", int), ("size", str), ("engine", str)):
        parser.add_argument(f"--{name}", type=kind, required=True)
    parser.add_argument("--workers", type=int, required=True)
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()
    cv2.setNumThreads(1)
    width, _, height = arguments.size.partition("x")
    source = SimulationSource(arguments.seed, int(width), int(height))
    plan = BuildPlan(arguments.references, source, arguments.seed)
    engine = EngineOptions(EngineKind(arguments.engine), arguments.workers)
    blocks = Blocks()
    options = BuildOptions(panel_of(arguments.panel), engine=engine)
    print(json.dumps(_results(build(arguments.out, plan, options, blocks), blocks, arguments.workers)))


if __name__ == "__main__":
    main()
