"""Processor time of a VLA sample of a static benchmark beside the model: reading, chaining, scoring.

embodied-iqa static make --trajectories --out BENCH --seed 1
python benchmarks/bench_static_vla.py BENCH --json build/bench_static_vla.json

The peer is what any evaluation has to do: decode the image.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np

from embodied_iqa.base.files import write_json_whole
from embodied_iqa.imaging.images.codecs import read_image
from embodied_iqa.suites.static_benchmark.vla.baselines import BASELINES
from embodied_iqa.suites.static_benchmark.vla.evaluation import scores_of
from embodied_iqa.suites.static_benchmark.vla.stored_chunks import AnswerStatus, TaskChunk
from embodied_iqa.suites.static_benchmark.vla.timing import Timing
from embodied_iqa.suites.static_benchmark.vla.trajectories import TrajectoryFolder


def _milliseconds(work: Callable[[int], object], count: int) -> float:
    """Return the median processor time of one call, which other processes do not change."""
    times_s = []
    for index in range(count):
        began = time.process_time()
        work(index)
        times_s.append(time.process_time() - began)
    return 1000 * float(np.median(times_s))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("bench", type=Path, metavar="BENCH")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    folder = TrajectoryFolder(arguments.bench)
    tasks = folder.read()
    chunks = []
    for task in tasks:
        rows = BASELINES["expert-1cm"](task).increments.tolist()
        chunks.append(TaskChunk(task.task, AnswerStatus.ACT, "", tuple(map(tuple, rows))))
    count = len(tasks)

    def decoded(index: int) -> object:
        return read_image(folder.images / tasks[index].images[0].file)

    def read(index: int) -> object:
        return folder.frames(tasks[index], [tasks[index].images[0].view])

    def scored(timing: Timing, index: int) -> object:
        return scores_of(chunks[index], tasks[index], timing, 12.5)

    numbers = {
        "decode the image alone (peer)": _milliseconds(decoded, count),
        "read and check the image": _milliseconds(read, count),
    } | {f"score, timing {timing}": _milliseconds(partial(scored, timing), count) for timing in Timing}
    numbers["sum, timings steps and arm"] = sum(
        numbers[name] for name in ("read and check the image", "score, timing steps", "score, timing arm")
    )
    for name, milliseconds in numbers.items():
        print(f"{name:<34} {milliseconds:6.2f} ms")
    if arguments.json:
        write_json_whole(arguments.json, numbers)


if __name__ == "__main__":
    main()
