"""Repeats the tests of running graphs and of real time beside busy processes, and counts what fails.

With `--freeze-s` all processes of a test run stand still at once at random times: see `stress.freezes`.
Files are run one after another, each in a process of its own, every file once before any is repeated. Results
are appended to a file: an interrupted run goes on where it was, as long as nothing of the checkout changes.
What a file printed is kept beside it where something failed; the table names that log.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path

from stress.freezes import MARK, Freezes, frozen_at_times
from stress.results import CRASHED, Load, Result, append, left_of, parse_report, read, table

__all__ = ["busy_processes", "collected", "main", "run_file"]

ROOT = Path(__file__).resolve().parents[2]
LIVE = ("tests/ros", "tests/fault")
MARKED = "stress or wall_clock"
_FILE_LIMIT_S = 1800.0
_END_S = 10.0
_LONGEST_FREEZE_S = 30.0
_RAREST_FREEZE_S = 3600.0
_BUSY = "import os\nparent = os.getppid()\nwhile os.getppid() == parent:\n    sum(range(100_000))\n"
"""A process that is busy as long as its parent lives."""
_NOTHING_COLLECTED = 5


def main(words: Sequence[str] | None = None) -> int:
    """Run the command: 0 where nothing failed, 1 where something did, 2 for wrong words."""
    arguments = _arguments(words)
    version = _version(ROOT)
    tests = collected(arguments.tests)
    freezes, load = arguments.freezes, Load(arguments.busy, arguments.freezes.length_s)
    left = left_of(read(arguments.results, version), tests, arguments.repeats, load)
    print(f"stress: {len(left)} of {len(tests) * arguments.repeats} runs of {len(tests)} files are left")
    try:
        with busy_processes(arguments.busy):
            for number, (repeat, file, of_file) in enumerate(left, start=1):
                logs = arguments.results.with_name(arguments.results.stem + "-logs")
                found = run_file(
                    file, of_file, version=version, repeat=repeat, busy=load.busy, freezes=freezes, logs=logs
                )
                append(found, arguments.results)
                print(f"stress: {number}/{len(left)} repeat {repeat} {file}: {_summary(found)}", flush=True)
    except KeyboardInterrupt:
        print("stress: interrupted; run it again to go on")
    results = [result for result in read(arguments.results, version) if load.is_of(result)]
    print(table(results))
    return 1 if any(result.outcome in {"failed", CRASHED} for result in results) else 0


def _summary(found: Sequence[Result]) -> str:
    failed = [result for result in found if result.outcome in {"failed", CRASHED}]
    if not failed:
        return f"{len(found)} tests, none failed"
    names = ", ".join(result.test.rpartition("::")[2] for result in failed)
    return f"{len(found)} tests, failed: {names} ({failed[0].log})"


def _arguments(words: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make stress", description=__doc__)
    parser.add_argument(
        "tests", nargs="*", help=f"tests (default {' '.join(LIVE)} and marked ones elsewhere)"
    )
    parser.add_argument("--repeats", type=int, default=20, help="how often each is run (default 20)")
    parser.add_argument("--busy", type=int, default=2, help="busy processes beside them (default 2)")
    parser.add_argument("--results", type=Path, default=ROOT / "runs" / "stress.jsonl", help="appended to")
    parser.add_argument("--freeze-s", type=float, default=0.0, help="length of a freeze (default: none)")
    parser.add_argument("--freeze-every-s", type=float, default=6.0, help="mean time between (default 6)")
    arguments = parser.parse_args(words)
    if arguments.repeats < 1 or arguments.busy < 0:
        parser.error("--repeats must be at least 1 and --busy at least 0")
    if not 0 <= arguments.freeze_s <= _LONGEST_FREEZE_S:
        parser.error(f"--freeze-s must be 0 to {_LONGEST_FREEZE_S:g}")
    if not 0 < arguments.freeze_every_s <= _RAREST_FREEZE_S:
        parser.error(f"--freeze-every-s must be above 0 and at most {_RAREST_FREEZE_S:g}")
    arguments.freezes = Freezes(arguments.freeze_s, arguments.freeze_every_s)
    return arguments


def _version(root: Path) -> str:
    def git(*words: str) -> bytes:
        return subprocess.run(["git", *words], cwd=root, capture_output=True, check=True).stdout

    changes = hashlib.sha256(git("diff", "HEAD")).hexdigest()[:8]
    return f"{git('rev-parse', '--short=12', 'HEAD').decode().strip()}-{changes}"


def collected(words: Sequence[str]) -> dict[str, list[str]]:
    """The tests to repeat, by file; by default every live one and the marked ones of the other folders."""
    ids = _ids(*words) if words else [*_ids(*LIVE), *_ids("-m", MARKED)]
    files: dict[str, list[str]] = {}
    for test in dict.fromkeys(ids):
        files.setdefault(test.partition("::")[0], []).append(test)
    return files


def _ids(*words: str) -> list[str]:
    command = [sys.executable, "-m", "pytest", "--stress", "--collect-only", "-q", *words]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode not in {0, _NOTHING_COLLECTED}:
        sys.exit(f"stress: pytest cannot collect {' '.join(words)}:\n{done.stdout}{done.stderr}")
    return [line for line in done.stdout.splitlines() if line.startswith("tests/") and "::" in line]


@contextmanager
def busy_processes(count: int) -> Iterator[list[int]]:
    """Keep processors busy; yields the processes' ids. They end with the block, and with this process."""
    with ExitStack() as stack:
        started = []
        for _ in range(count):
            process = subprocess.Popen([sys.executable, "-c", _BUSY])
            stack.callback(process.wait)
            stack.callback(process.kill)
            started.append(process.pid)
        yield started


def run_file(
    file: str,
    tests: Sequence[str],
    *,
    version: str,
    repeat: int,
    busy: int,
    freezes: Freezes = Freezes(),  # noqa: B008 - immutable
    logs: Path | None = None,
    limit_s: float = _FILE_LIMIT_S,
) -> list[Result]:
    """Run the tests of one file in a process group of its own, which is gone afterwards.

    Args:
        file: The test file.
        tests: Node ids of it.
        version: Version of the checkout, for the results.
        repeat: Number of the repeat, for the results.
        busy: Number of busy processes, for the results.
        freezes: When everything of the run stands still.
        logs: Folder for what a run prints in which something fails; None: it is not kept.
        limit_s: A run that takes longer is killed and counts as crashed.
    """
    with tempfile.TemporaryDirectory(prefix="embodied-iqa-stress-") as folder:
        report = Path(folder) / "report.xml"
        begun = time.monotonic()
        code, said = _run([f"--junitxml={report}", *tests], folder, limit_s, freezes, seed=f"{file} {repeat}")
        found = parse_report(report, file, version=version, repeat=repeat, busy=busy)
    if not found:
        seconds = time.monotonic() - begun
        last = " ".join(said.strip().splitlines()[-3:])
        why = f"exit code {code} after {seconds:.0f} s: {last}"
        found = [Result(version, repeat, file, file, CRASHED, seconds, busy, why)]
    else:
        without = sorted({test for test in tests if "::" in test} - {result.test for result in found})
        why = "the report has no result of it"
        found += [Result(version, repeat, file, test, CRASHED, 0.0, busy, why) for test in without]
    found = [replace(result, freeze_s=freezes.length_s) for result in found]
    return found if logs is None else _with_log(found, said, logs)


def _run(
    words: Sequence[str], run: str, limit_s: float, freezes: Freezes, seed: str
) -> tuple[int | None, str]:
    """Run pytest for at most some seconds, as a run with a mark; return its exit code and what it printed."""
    command = [sys.executable, "-m", "pytest", "-q", "--stress", "-p", "no:cacheprovider", *words]
    with (Path(run) / "output.txt").open("w+b") as output:
        process = subprocess.Popen(
            command, cwd=ROOT, env=os.environ | {MARK: run}, stdin=subprocess.DEVNULL,
            stdout=output, stderr=output, process_group=0,
        )  # fmt: skip
        try:
            with frozen_at_times(run, freezes, seed):  # over before the end: who stands still hears no Ctrl-C
                process.wait(limit_s)
        except subprocess.TimeoutExpired:
            pass
        finally:
            _end_group(process)
        output.seek(0)
        return process.returncode, output.read().decode(errors="replace")


def _with_log(found: list[Result], said: str, folder: Path) -> list[Result]:
    """Write what a run printed if something failed; a later run of its other tests does not replace it."""
    if not any(result.outcome in {"failed", CRASHED} for result in found):
        return found
    folder.mkdir(parents=True, exist_ok=True)
    first = found[0]
    load = f"busy{first.busy}" + (f"-freeze{first.freeze_s:g}" if first.freeze_s else "")
    name = f"{first.version}-{load}-{first.repeat}-{Path(first.file).stem}"
    used = len(list(folder.glob(f"{name}*.log")))
    log = folder / (f"{name}-{used + 1}.log" if used else f"{name}.log")
    log.write_text(said, encoding="utf-8")
    shown = log.relative_to(ROOT) if log.is_relative_to(ROOT) else log
    return [replace(result, log=str(shown)) for result in found]


def _end_group(process: subprocess.Popen[bytes]) -> None:
    """End what a run has left: Ctrl-C first, so that sessions can end their graphs."""
    if process.poll() is None:
        process.send_signal(signal.SIGINT)
        try:
            process.wait(_END_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        return
