"""Runs benchmarks/bench_*.py; tables and JSON go to benchmarks/results/.

Names on the command line choose some of them: `make bench ARGS="gate kinematics"`. Those that take hours run
only where they are named.
"""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

from embodied_iqa.base.errors import UsageError, UserError

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "benchmarks"
RESULTS = FOLDER / "results"
HOURS = ("gate_kills", "hold", "interrupts", "kills", "soak", "starts")


def chosen(names: list[str]) -> list[Path]:
    """The benchmarks of the given names; without any, all that do not take hours.

    Raises:
        UsageError: A name that is none.
    """
    known = {file.stem.removeprefix("bench_"): file for file in sorted(FOLDER.glob("bench_*.py"))}
    for name in names:
        if name not in known:
            raise UsageError("unknown benchmark", got=name, available=known)
    return [known[name] for name in names or known if names or name not in HOURS]


def run(file: Path) -> int:
    """Run one benchmark; its table is shown and kept beside its JSON."""
    name = file.stem.removeprefix("bench_")
    print(f"== {name}", flush=True)
    started = time.monotonic()
    words = [sys.executable, str(file), "--json", str(RESULTS / f"{name}.json")]
    process = subprocess.Popen(words, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    lines = []
    for line in process.stdout or ():
        print(line, end="", flush=True)
        lines.append(line)
    code = process.wait()
    if code == 0:
        (RESULTS / f"{name}.txt").write_text("".join(lines), encoding="utf-8")
    print(
        f"== {name}: {'done' if code == 0 else f'exit code {code}'}, {time.monotonic() - started:.0f} s\n",
        flush=True,
    )
    return code


def main(names: list[str]) -> int:
    """Run the chosen benchmarks one after the other: at the same time they would disturb each other."""
    try:
        files = chosen(names)
    except UserError as error:
        print(f"bench: {error}", file=sys.stderr)
        return error.exit_code
    RESULTS.mkdir(exist_ok=True)
    failed = [file.stem for file in files if run(file) != 0]
    print(
        f"{len(files) - len(failed)} of {len(files)} benchmarks done; results in {RESULTS.relative_to(ROOT)}/"
    )
    if not names:
        print(f"not run, as each takes hours: {' '.join(HOURS)}; name those that you want")
    if failed:
        print(f"failed: {', '.join(failed)}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
