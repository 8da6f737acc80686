"""Starts of `make trial` in a row, every other one beside a busy process: how many end, and in what time.

python benchmarks/bench_starts.py --count 60 --out build/starts.jsonl
python benchmarks/bench_starts.py --count 60 --out build/starts.jsonl --show

Resumable: each finished start is a line of the file, and a further call does what is missing. The folder of a
start that does not end well is kept beside the file.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

from embodied_iqa.base.files import write_text_whole
from embodied_iqa.base.progress import track
from embodied_iqa.runs.trial.run_folder import git_hash

LONGEST_S = 900.0
END_S = 20.0
BUSY = "while True: pass"


@dataclass(frozen=True, slots=True)
class Start:
    """One start.

    Attributes:
        number: Counted from 0; odd ones run beside a busy process.
        exit_code: Of `make trial`; None where it had not ended after `LONGEST_S`.
        took_s: Duration, real time.
        load: Load average of the last minute at the end.
        commit: Of the checkout.
    """

    number: int
    exit_code: int | None
    took_s: float
    load: float
    commit: str

    @property
    def is_beside_another(self) -> bool:
        """Whether a busy process ran beside it."""
        return self.number % 2 == 1


@contextmanager
def beside(number: int) -> Iterator[None]:
    """Run a busy process beside the odd starts."""
    if number % 2 == 0:
        yield
        return
    with subprocess.Popen([sys.executable, "-c", BUSY]) as busy:
        try:
            yield
        finally:
            busy.kill()


def start(number: int, folder: Path) -> Start:
    """Run `make trial` once in a process group of its own, which is ended whatever happens."""
    folder.mkdir(parents=True)
    command = ["make", "--no-print-directory", "trial", f"ARGS=--out {folder.resolve() / 'run'}"]
    began_s = time.monotonic()
    with (folder / "make.log").open("wb") as log, beside(number):
        process = subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True)
        try:
            code: int | None = process.wait(LONGEST_S)
        except subprocess.TimeoutExpired:
            code = None
        finally:
            end_group(process)
    return Start(number, code, time.monotonic() - began_s, os.getloadavg()[0], git_hash())


def end_group(process: subprocess.Popen[bytes]) -> None:
    """End a process group; a session that hangs has time to stop its nodes."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        if process.poll() is None:
            os.killpg(process.pid, number)
            try:
                process.wait(END_S)
            except subprocess.TimeoutExpired:
                continue


def read(file: Path) -> list[Start]:
    """Return the starts of earlier calls."""
    if not file.is_file():
        return []
    return [Start(**json.loads(line)) for line in file.read_text(encoding="utf-8").splitlines()]


def table_of(starts: list[Start]) -> Table:
    """Return how many starts ended, and their durations."""
    table = Table("beside", "starts", "ended well", "hung", "failed", "median s", "longest s")
    for name, busy in (("nothing", False), ("one busy process", True)):
        some = [item for item in starts if item.is_beside_another == busy]
        durations = sorted(item.took_s for item in some)
        counts = [
            len(some),
            sum(item.exit_code == 0 for item in some),
            sum(item.exit_code is None for item in some),
            sum(item.exit_code not in {0, None} for item in some),
        ]
        median = f"{durations[len(durations) // 2]:.0f}" if durations else "-"
        table.add_row(name, *map(str, counts), median, f"{durations[-1]:.0f}" if durations else "-")
    return table


def main() -> int:
    """Run the missing starts and print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--count", type=int, default=60, help="number of starts, with those in the file")
    parser.add_argument("--out", type=Path, default=Path("build/starts.jsonl"), help="file of the starts")
    parser.add_argument("--show", action="store_true", help="print what is there, start nothing")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # the busy process and the session end, too
    starts = read(arguments.out)
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    missing = [] if arguments.show else range(len(starts), arguments.count)
    for number in track(missing, "starts", len(missing)):
        folder = arguments.out.with_suffix("") / str(number)
        shutil.rmtree(folder, ignore_errors=True)  # of a call that was interrupted
        done = start(number, folder)
        starts.append(done)
        with arguments.out.open("a", encoding="utf-8") as file:
            file.write(json.dumps(asdict(done)) + "\n")
        if done.exit_code == 0:
            shutil.rmtree(folder)
    Console().print(table_of(starts))
    if arguments.json is not None:
        write_text_whole(arguments.json, json.dumps([asdict(item) for item in starts], indent=2) + "\n")
    return 0 if all(item.exit_code == 0 for item in starts) else 1


if __name__ == "__main__":
    sys.exit(main())
