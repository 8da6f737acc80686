"""Random sequences of chunks, verdicts and stops on a receding horizon: is any command of the arm unsafe?

python benchmarks/fuzz_joining.py --json build/fuzz_joining.json                # 100,000 of each kind
python benchmarks/fuzz_joining.py --sequences 0 --json build/fuzz_joining.json --page PAGE

Each sequence is six decisions of a policy with a latency of its own, under a gate that now and then holds,
rejects or says nothing, with stops and values that make no sense. Every command is checked for itself: limits
of joints and tool, jerk, workspace, table, collisions, and whether a lease allowed it. The file is written
after each part of the run; a run with the same file goes on where it ended, with the same code of the arm.
"""

from __future__ import annotations

import argparse
import gc
import hashlib
import importlib
import json
import os
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from hold_results import write_page

from embodied_iqa.base.errors import UsageError
from embodied_iqa.base.files import write_json_whole
from embodied_iqa.runs.trial.run_folder import git_hash

ROOT = Path(__file__).resolve().parents[1]
TESTS = ROOT / "tests" / "unit" / "arm" / "robot"
sys.path.insert(1, str(TESTS))

lives: Any = importlib.import_module("receding_life")
CODE = (ROOT / "src/embodied_iqa/arm", ROOT / "src/embodied_iqa/base/kinematics")
NOT_PLAYED = {"emulator", "foreign", "ur"}
"""Rooms of the arm that no sequence reaches: drivers, and the robot behind them."""


@dataclass(frozen=True)
class Part:
    """Sequences that were run one after the other."""

    kind: str
    first: int
    count: int
    commit: str
    cpu_s: float
    load: float
    """Load average of the machine at the end."""
    goals: dict[str, int] = field(default_factory=dict)
    unsafe: list[str] = field(default_factory=list)


def play(kind: Any, first: int, count: int) -> Part:
    """Run sequences; each has its number as seed."""
    began_s, goals, unsafe = time.process_time(), Counter[str](), []
    for seed in range(first, first + count):
        life = lives.Life(np.random.default_rng(seed), kind)
        life.play()
        goals.update(str(outcome) for outcome in life.outcomes)
        unsafe += [f"{kind.name.lower()} {seed}: {what}" for what in life.unsafe]
    cpu_s = time.process_time() - began_s
    return Part(kind.value, first, count, git_hash(), cpu_s, os.getloadavg()[0], dict(goals), unsafe)


def left(done: list[Part], kind: Any, sequences: int, size: int) -> Iterator[tuple[int, int]]:
    """Yield the parts of a kind that are not done yet."""
    known = {
        seed
        for part in done
        if part.kind == kind.value
        for seed in range(part.first, part.first + part.count)
    }
    for first in range(0, sequences, size):
        count = min(size, sequences - first)
        if not known.issuperset(range(first, first + count)):
            yield first, count


def code_digest() -> str:
    """Return a digest of the code of the arm and of its kinematics, as far as sequences reach it."""
    digest = hashlib.sha256()
    for file in sorted(file for folder in CODE for file in folder.rglob("*.py")):
        if not NOT_PLAYED & set(file.relative_to(ROOT).parts):
            digest.update(file.read_bytes())
    return digest.hexdigest()[:16]


def table(done: list[Part]) -> str:
    """Return the results as Markdown."""
    heads = ["policy commands", "sequences", "decisions accepted, refused", "unsafe commands"]
    heads += ["CPU [ms] a sequence", "load average", "commit"]
    lines = [f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
    for kind in dict.fromkeys(part.kind for part in done):
        parts = [part for part in done if part.kind == kind]
        count, loads = sum(part.count for part in parts), sorted(part.load for part in parts)
        goals = sum((Counter(part.goals) for part in parts), Counter[str]())
        cells = (
            kind,
            f"{count:,}",
            f"{goals['accepted']:,}, {goals['refused']:,}",
            sum(len(part.unsafe) for part in parts),
            f"{1e3 * sum(part.cpu_s for part in parts) / count:.0f}",
            f"{loads[0]:.0f} to {loads[-1]:.0f}",
            ", ".join(dict.fromkeys(part.commit[:8] for part in parts)),
        )
        lines.append(f"| {' | '.join(map(str, cells))} |")
    return "\n".join(lines)


def read(path: Path) -> list[Part]:
    """Return the parts of a file.

    Raises:
        UsageError: They are of other code.
    """
    if not path.exists():
        return []
    tree = json.loads(path.read_text(encoding="utf-8"))
    if tree["code"] != code_digest():
        raise UsageError(
            f"{path} holds sequences of other code of the arm", expected="--json with a new file"
        )
    return [Part(**part) for part in tree["parts"]]


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sequences", type=int, default=100_000, help="of each kind (default 100000)")
    parser.add_argument("--kind", choices=[kind.name.lower() for kind in lives.Kind], action="append")
    parser.add_argument("--part", type=int, default=500, help="sequences between two writes of the file")
    parser.add_argument("--json", type=Path, metavar="FILE", required=True)
    parser.add_argument("--page", type=Path, help="page of docs/results that shows the table")
    arguments = parser.parse_args()
    done, code = read(arguments.json), code_digest()
    for controller in lives.CONTROLLERS:
        controller.warm_up()
    gc.freeze()
    arguments.json.parent.mkdir(parents=True, exist_ok=True)
    kinds = [kind for kind in lives.Kind if kind.name.lower() in (arguments.kind or [kind.name.lower()])]
    for kind in kinds:
        for first, count in left(done, kind, arguments.sequences, arguments.part):
            done.append(play(kind, first, count))
            write_json_whole(arguments.json, {"code": code, "parts": [*map(asdict, done)]})
            for line in done[-1].unsafe:
                print(f"UNSAFE {line}", flush=True)
    text = table(done)
    print(text)
    if arguments.page is not None:
        write_page(arguments.page, text, "fuzz_joining")
    return int(any(part.unsafe for part in done))


if __name__ == "__main__":
    sys.exit(main())
