"""Every distortion at every level: milliseconds per image and peak memory, on one core.

python benchmarks/bench_distortions.py --json build/bench_distortions.json
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import statistics
import time
from pathlib import Path
from typing import Any

os.environ.update(dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1"))

import cv2
import numpy as np
from rich.console import Console
from rich.progress import track
from rich.table import Table

from embodied_iqa.base.files import write_text_whole
from embodied_iqa.imaging.distortions import LEVELS, catalogue, distort, miqd_catalogue
from embodied_iqa.imaging.distortions.image import Image
from embodied_iqa.imaging.distortions.references import scikit_photographs

FAST_MS, SLOWEST_MS, MOST_MEMORY = 33.0, 150.0, 20.0


def milliseconds(image: Image, distortion_id: str, level: int, repeats: int) -> tuple[float, float]:
    """Median wall-clock time and median processor time; the second does not see what else runs."""
    walls, processors = [], []
    for number in range(repeats + 1):
        rng = np.random.default_rng(number)
        wall, processor = time.perf_counter(), time.process_time()
        distort(image, distortion_id, level, rng)
        walls.append(1e3 * (time.perf_counter() - wall))
        processors.append(1e3 * (time.process_time() - processor))
    return statistics.median(walls[1:]), statistics.median(processors[1:])


def peak_memory(image: Image, distortion_id: str) -> float:
    """Growth of the process at its peak, in images; NaN if the system does not report it."""
    status, reset = Path("/proc/self/status"), Path("/proc/self/clear_refs")
    try:
        ctypes.CDLL(None).malloc_trim(0)  # what earlier calls left in the heap would hide the growth
        reset.write_text("5")
        before = _kib(status, "VmRSS")
        distort(image, distortion_id, 4, np.random.default_rng(0))
        return (_kib(status, "VmHWM") - before) * 1024 / image.nbytes
    except (OSError, AttributeError):
        return float("nan")


def _kib(status: Path, name: str) -> int:
    line = next(line for line in status.read_text().splitlines() if line.startswith(name))
    return int(line.split()[1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--size", default="1280x720")
    options = parser.parse_args()
    cv2.setNumThreads(1)
    width, height = (int(side) for side in options.size.split("x"))
    photograph = scikit_photographs()[3].image
    image = cv2.resize(photograph, (width, height), interpolation=cv2.INTER_AREA)
    entries = (*catalogue(), *miqd_catalogue())
    records = []
    for line in track(entries, console=Console(stderr=True), transient=True):
        times = [milliseconds(image, line.id, level, options.repeats) for level in LEVELS]
        records.append(
            {
                "id": line.id,
                "name": line.name,
                "wall_ms": [round(wall, 2) for wall, _ in times],
                "processor_ms": [round(processor, 2) for _, processor in times],
                "peak_images": round(peak_memory(image, line.id), 1),
            }
        )
    show(records, options.size)
    if options.json:
        write_text_whole(options.json, json.dumps({"size": options.size, "distortions": records}, indent=1))


def show(records: list[dict[str, Any]], size: str) -> None:
    table = Table("type", *(f"level {level}" for level in LEVELS), "memory", title=f"{size}: ms on one core")
    for record in records:
        cells = [f"{value:.1f}" for value in record["processor_ms"]]
        table.add_row(f"{record['id']} {record['name']}", *cells, f"{record['peak_images']:.1f} x")
    Console(width=110).print(table)
    of_paper = [record for record in records if ":" not in record["id"]]
    for clock in ("wall_ms", "processor_ms"):
        fast = sum(max(record[clock]) < FAST_MS for record in of_paper)
        slowest = max(of_paper, key=lambda record: max(record[clock]))
        print(
            f"{clock}: {fast} of {len(of_paper)} types under {FAST_MS:g} ms at every level (target 25); "
            f"slowest {slowest['name']} {max(slowest[clock]):.0f} ms (target {SLOWEST_MS:g})"
        )
    memory = max(record["peak_images"] for record in of_paper)
    print(f"most memory: {memory:.1f} images (target {MOST_MEMORY:g})")


if __name__ == "__main__":
    main()
