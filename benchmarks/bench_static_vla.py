"""Time of a VLA sample of a static benchmark beside the model: reading, chaining, scoring.

python benchmarks/bench_static_vla.py --tasks 100 --json build/bench_static_vla.json

The peer is what any evaluation has to do: decode the picture.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from embodied_iqa.files import write_json_whole
from embodied_iqa.images.codecs import read_picture
from embodied_iqa.images.frame import View
from embodied_iqa.static_benchmark.vla_answers import AnswerStatus, TaskChunk
from embodied_iqa.static_benchmark.vla_baselines import BASELINES
from embodied_iqa.static_benchmark.vla_evaluation import scores_of
from embodied_iqa.static_benchmark.vla_timing import Timing
from static_trajectories import write_trajectories


def _milliseconds(work: Callable[[int], object], count: int) -> float:
    """Return the median time of one call."""
    times_s = []
    for index in range(count):
        began = time.perf_counter()
        work(index)
        times_s.append(time.perf_counter() - began)
    return 1000 * float(np.median(times_s))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tasks", type=int, default=100)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as path:
        folder = write_trajectories(Path(path), arguments.tasks, (640, 480))
        tasks = folder.read()
        chunks = []
        for task in tasks:
            rows = BASELINES["expert-1cm"](task).increments.tolist()
            chunks.append(TaskChunk(task.task, AnswerStatus.ACT, "", tuple(map(tuple, rows))))
        count = len(tasks)

        def scored(timing: Timing, index: int) -> object:
            return scores_of(chunks[index], tasks[index], timing, 12.5)

        numbers = {
            "decode the picture alone (peer)": _milliseconds(
                lambda index: read_picture(folder.pictures / tasks[index].pictures[1].file), count
            ),
            "read and check the picture": _milliseconds(
                lambda index: folder.frames(tasks[index], [View.TOP]), count
            ),
        } | {f"score, timing {timing}": _milliseconds(partial(scored, timing), count) for timing in Timing}
    for name, milliseconds in numbers.items():
        print(f"{name:<34} {milliseconds:6.2f} ms")
    if arguments.json:
        write_json_whole(arguments.json, numbers)


if __name__ == "__main__":
    main()
