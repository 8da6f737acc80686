"""Make anew all that depends on the world: panel, constants, gate, pages, images, golden values.

python scripts/release.py WORK              # resumable: steps that are done are not repeated
python scripts/release.py WORK --from gate  # repeats this step and all after it
python scripts/release.py --list

Large results, such as samples and the database, stay in WORK. What ships is written into the checkout: look
at the changes (git diff), run the tests, commit.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[1]
SUBJECTS: Final = ROOT / "src" / "embodied_iqa" / "models" / "subjects"
CONSTANTS: Final = SUBJECTS / "constants"
MODELS: Final = SUBJECTS / "backends" / "panel" / "models"
PAGES: Final = ROOT / "docs" / "results"
GATE_SIZES: Final = ("640x480", "1280x720")
TOLERATED: Final = ("01,02,03:2", "12,13,14,15:2", "10:2")
"""Blur, noise and JPEG at the levels that shall pass."""
CLASSICAL: Final = ("classical-vla", "classical-vlm")
GOLDEN: Final = ("panel", "gate", "database", "trial")
GATE_POLICY: Final = "panel-vla-query"
GATE_SCENES: Final = ("--references", 300, "--views", "top", "--size", "640x480", "--seed", 11)
GATE_FIT: Final = ("--view", "top", "--vla", GATE_POLICY, "--risk", 0.03)
DRAWN: Final = ("cameras", "tasks", "verbs", "reports")
REFERENCES: Final = 300
SEED: Final = 1


def program(*words: object) -> list[str]:
    """Return the command line of a command of this package."""
    return [sys.executable, "-m", "embodied_iqa.cli.main", *map(str, words)]


def script(name: str, *words: object) -> list[str]:
    """Return the command line of a script of the checkout."""
    return [sys.executable, str(ROOT / name), *map(str, words)]


def steps(work: Path) -> dict[str, list[list[str]]]:
    """Return the commands of each step, in order."""
    panel, database = work / "panel", work / "database"
    gate = ROOT / "config" / "gate" / "simulated.yaml"
    # commands run in ROOT; the fit records its command, which must not name folders of this machine
    gate_database = Path(os.path.relpath(work / "gate_database", ROOT))
    sizes = [word for size in GATE_SIZES for word in ("--size", size)]
    tolerated = [word for types in TOLERATED for word in ("--tolerate", types)]
    evaluation = ("--scenes", 100, "--grid-scenes", 30, "--out", PAGES / "panel.md")
    return {
        "train": [program("train", "panel", "--seed", SEED, "--out", panel)],
        "ship": [script("scripts/ship_panel.py", panel / "models", "--replace")],
        "classical": [
            program("subjects", "calibrate", name, "--out", CONSTANTS / f"{name}.json") for name in CLASSICAL
        ],
        "evaluate": [program("evaluate", "panel", "--models-dir", MODELS, "--cards", *evaluation)],
        "gate": [
            program("gate", "calibrate", "--simulated", "--scenes", 30, *sizes, *tolerated, "--out", gate)
        ],
        "learned gate": [
            program("build", *GATE_SCENES, "--panel", GATE_POLICY, "--out", gate_database),
            program("gate", "fit", gate_database, *GATE_FIT, "--keep", "--out", gate.relative_to(ROOT)),
        ],
        "build": [program("build", "--references", REFERENCES, "--seed", SEED, "--out", database)],
        "health": [program("db", "health", database), program("report", database)],
        "images": [script(f"benchmarks/draw_{name}.py") for name in ("cameras", "tasks", "verbs", "reports")],
        "golden": [script("tests/golden/write_golden.py", *GOLDEN)],
    }


def pending(work: Path, first: str | None) -> Iterator[str]:
    """Yield the steps to do: those without a stamp, and from ``first`` on all."""
    again = False
    for name in steps(work):
        again = again or name == first
        stamp = work / "done" / name
        if again:
            stamp.unlink(missing_ok=True)
        if not stamp.is_file():
            yield name


def main() -> int:
    """Run the pending steps; stop at the first that fails."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("work", type=Path, nargs="?", help="folder of samples, checkpoints and the database")
    parser.add_argument("--from", dest="first", choices=list(steps(Path())), help="repeat from this step on")
    parser.add_argument("--list", action="store_true", help="show the commands of each step")
    arguments = parser.parse_args()
    if arguments.list:
        for name, commands in steps(arguments.work or Path("WORK")).items():
            print(name, *("  " + subprocess.list2cmdline(command[1:]) for command in commands), sep="\n")
        return 0
    if arguments.work is None:
        parser.error("the following arguments are required: work")
    free_gb = shutil.disk_usage(arguments.work.parent).free / 1e9
    print(f"release: {free_gb:.0f} GB free; the samples of the panel take about 17 GB")
    (arguments.work / "done").mkdir(parents=True, exist_ok=True)
    for name in pending(arguments.work, arguments.first):
        began_s = time.monotonic()
        for command in steps(arguments.work)[name]:
            print(f"release: {name}: {subprocess.list2cmdline(command[1:])}", flush=True)
            code = subprocess.run(command, cwd=ROOT, check=False).returncode
            if code != 0:
                print(
                    f"release: {name} ended with exit code {code}; the same command goes on", file=sys.stderr
                )
                return 1
        (arguments.work / "done" / name).write_text(f"{time.monotonic() - began_s:.0f} s\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
