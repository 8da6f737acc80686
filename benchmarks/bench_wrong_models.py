"""Every emulated UR model under every name: is an arm of another model refused, and how soon?

python benchmarks/bench_wrong_models.py --rounds 5 --page docs/results/details/reliability.md

The clock runs from `UrArm.start`, so the start of the driver's process counts. Without a robot it counts the
random postures in which the state of a controller does not tell two models of a series apart, and only the
number on its dashboard does.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from hold_results import write_page
from machine_state import machine_state

from embodied_iqa.arm.robot.ur.arm import UrArm
from embodied_iqa.arm.robot.ur.model_check import LARGEST_DISTANCE_M, RefusedArmError
from embodied_iqa.arm.robot.ur.options import UrOptions
from embodied_iqa.base.files import write_text_whole
from embodied_iqa.base.kinematics import tool_along_z
from embodied_iqa.base.kinematics.models import NAMED_MODELS, ArmModel, flange_pose

HOST = "127.0.7.3"
TOOL_M = 0.2
GOAL_S = 2.0


@dataclass(frozen=True, slots=True)
class Attempt:
    """One connection to an emulated arm under a name.

    Attributes:
        emulated: The model of the arm.
        named: `arm_node.model`.
        refusal: Why it was refused; empty where it was not.
        took_s: Until that was known.
    """

    emulated: ArmModel
    named: ArmModel
    refusal: str
    took_s: float

    @property
    def is_right(self) -> bool:
        """Whether the arm is accepted under its own name alone, and a refusal says which arm it is."""
        if self.emulated is self.named:
            return not self.refusal
        return f"that of a {self.emulated.geometry.name} (0.0 mm" in self.refusal


@contextlib.contextmanager
def emulator(model: ArmModel) -> Iterator[None]:
    words = ["--host", HOST, "--model", str(model), "--plant", "kinematic"]
    command = [sys.executable, "-m", "embodied_iqa.cli.main", "emulator", *words]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        if process.stdout is None or "ready" not in process.stdout.readline():
            raise SystemExit("the emulator did not start")
        yield
    finally:
        process.kill()
        process.wait()


def connect(emulated: ArmModel, named: ArmModel) -> Attempt:
    """Connect the driver as `arm_node` does."""
    arm, refusal = UrArm(UrOptions(ip=HOST), tool_along_z(TOOL_M), model=named), ""
    began_s = time.perf_counter()
    try:
        arm.connect()
    except RefusedArmError as error:
        refusal = str(error)
    took_s = time.perf_counter() - began_s
    arm.close()
    return Attempt(emulated, named, refusal, took_s)


def alike(postures: int) -> tuple[int, str]:
    """Return in how many random postures two models of a series have one pose, and which two most often."""
    q_rad = np.random.default_rng(0).uniform(-np.pi, np.pi, (postures, 6))
    points = {
        model: np.array([flange_pose(model.geometry, q)[:3, 3] for q in q_rad]) for model in NAMED_MODELS
    }
    counts = {}
    for one, other in itertools.combinations(NAMED_MODELS, 2):
        if one.is_e_series == other.is_e_series:
            apart_m = np.linalg.norm(points[one] - points[other], axis=1)
            names = f"{one.geometry.name} and {other.geometry.name}"
            counts[names] = int(np.count_nonzero(apart_m <= LARGEST_DISTANCE_M))
    most = max(counts, key=counts.__getitem__)
    return counts[most], most


def table(attempts: list[Attempt], postures: int) -> str:
    """Return the results as Markdown."""
    heads = ["emulated", "refused under another name", "and named rightly", "refused after [s] p50, max"]
    heads += ["accepted under its own name", "after [s] p50, max"]
    lines = [f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
    for model in NAMED_MODELS:
        here = [attempt for attempt in attempts if attempt.emulated is model]
        wrong = [attempt for attempt in here if attempt.named is not model]
        own = [attempt for attempt in here if attempt.named is model]
        cells = (
            model.geometry.name,
            f"{sum(bool(attempt.refusal) for attempt in wrong)} of {len(wrong)}",
            sum(attempt.is_right for attempt in wrong),
            _spread(wrong),
            f"{sum(attempt.is_right for attempt in own)} of {len(own)}",
            _spread(own),
        )
        lines.append(f"| {' | '.join(map(str, cells))} |")
    count, pair = alike(postures)
    lines += ["", f"Load average {os.getloadavg()[0]:.0f} on {os.cpu_count()} processors."]
    lines += [f"Of {postures:,} random postures, {count} do not tell {pair} apart: the most for any series."]
    return "\n".join(lines)


def _spread(attempts: list[Attempt]) -> str:
    took_s = [attempt.took_s for attempt in attempts]
    return f"{np.median(took_s):.2f}, {max(took_s):.2f}"


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=3, help="connections of each pair (default 3)")
    parser.add_argument("--postures", type=int, default=100_000, help="random postures (default 100000)")
    parser.add_argument("--page", type=Path, help="page of docs/results that shows the table")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    attempts = []
    for emulated in NAMED_MODELS:
        with emulator(emulated):
            attempts += [connect(emulated, named) for _ in range(arguments.rounds) for named in NAMED_MODELS]
    text = table(attempts, arguments.postures)
    print(text)
    if arguments.page is not None:
        write_page(arguments.page, text, "bench_wrong_models")
    if arguments.json is not None:
        rows = [asdict(attempt) | {"is_right": attempt.is_right} for attempt in attempts]
        results = {"machine": machine_state(), "attempts": rows}
        write_text_whole(arguments.json, json.dumps(results, indent=2) + "\n")
    late = [attempt for attempt in attempts if attempt.refusal and attempt.took_s > GOAL_S]
    return int(bool(late) or not all(attempt.is_right for attempt in attempts))


if __name__ == "__main__":
    sys.exit(main())
