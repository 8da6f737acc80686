"""Inverse kinematics: microseconds a pose beside `ur_analytic_ik` (C++), in one run on one core."""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import ur_analytic_ik
from rich.console import Console
from rich.table import Table

from embodied_iqa.base.files import write_text_whole
from embodied_iqa.base.kinematics import Kinematics

BATCH = 10_000
WARM_START = (
    "import time; t = time.perf_counter(); import numpy, embodied_iqa.base.kinematics as k; "
    "a = k.Kinematics(); a.inverse(a.forward(numpy.ones(6))); print(time.perf_counter() - t)"
)


def _seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def measure(repeats: int) -> dict[str, float]:
    """Return medians in microseconds a pose, and ratios of each repeat's neighbours."""
    arm = Kinematics()
    T = arm.forward(np.random.default_rng(0).uniform(-np.pi, np.pi, (BATCH, 6)))
    poses = list(T)
    peer = ur_analytic_ik.ur5.inverse_kinematics
    arm.inverse_batch(T[:2]), arm.inverse(T[0])
    runs = [
        (
            _seconds(lambda: arm.inverse_batch(T)),
            _seconds(lambda: [arm.inverse(pose) for pose in poses]),
            _seconds(lambda: [peer(pose) for pose in poses]),
        )
        for _ in range(repeats)
    ]
    batch, single, theirs = (np.array(column) * 1e6 / BATCH for column in zip(*runs, strict=True))
    return {
        "batch_us_per_pose": statistics.median(batch),
        "single_us_per_pose": statistics.median(single),
        "peer_us_per_pose": statistics.median(theirs),
        "batch_times_faster": statistics.median(theirs / batch),
        "single_times_faster": statistics.median(theirs / single),
        "warm_start_s": min(_warm_start_s() for _ in range(3)),
    }


def _warm_start_s() -> float:
    done = subprocess.run([sys.executable, "-c", WARM_START], capture_output=True, text=True, check=True)
    return float(done.stdout)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=11)
    parser.add_argument("--json", type=Path, metavar="FILE")
    arguments = parser.parse_args()
    result = measure(arguments.repeats)
    table = Table("quantity", "value", title=f"All solutions of {BATCH} random UR5 poses, one core")
    for name, value in result.items():
        table.add_row(name, f"{value:.2f}")
    Console().print(table)
    if arguments.json:
        write_text_whole(arguments.json, json.dumps(result, indent=2) + "\n")


if __name__ == "__main__":
    main()
