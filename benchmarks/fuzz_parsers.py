"""Fuzzed input for every parser of outside data: no crash, no hang over a second, no stray file, no motion.

python benchmarks/fuzz_parsers.py --json build/fuzz.json
python benchmarks/fuzz_parsers.py --cases 2000 --parser mcap --parser png
python benchmarks/fuzz_parsers.py --case mcap:1234         # one case, in this process, with its traceback

A case is a number: its input is the same in every run. A worker process parses; where it dies, the case is a
finding and another worker goes on behind it. With `--state FILE` an interrupted run continues.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import random
import signal
import sys
import tempfile
import time
import traceback
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from fuzz_targets import TARGETS, Target
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from embodied_iqa.base.errors import EmbodiedIqaError, InternalError

LIMIT_S = 1.0
STUCK_S = 30.0
"""Wall time after which a case that uses no processor time counts as a hang."""
BLOCK = 1000
"""Cases of a worker."""
EXTREMES = (0, 1, 0x7F, 0x80, 0xFF, 0x7FFF, 0xFFFF, 0x7FFFFFFF, 0xFFFFFFFF, 0x7FFFFFFFFFFFFFFF)


@dataclass(frozen=True, slots=True)
class Finding:
    """What a parser must not do.

    Attributes:
        parser: Its name.
        case: Number of the input.
        kind: `crash`, `hang`, `stray file` or `died`.
        what: Details.
    """

    parser: str
    case: int
    kind: str
    what: str


@dataclass(slots=True)
class State:
    """Progress of a run.

    Attributes:
        seed: Of the inputs.
        done: Cases done, by parser.
        refused: Cases that ended with a user error, by parser.
        findings: What was found.
    """

    seed: int
    done: dict[str, int] = field(default_factory=dict)
    refused: dict[str, int] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)


class HangError(Exception):
    """A case took too long."""


def mutated(data: bytes, other: bytes, rng: random.Random) -> bytes:
    """Return a damaged copy of valid input."""
    content = bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 4, 16))):
        at, size = rng.randrange(len(content) + 1), rng.choice((1, 2, 4, 8, 64))
        match rng.randrange(7):
            case 0 if content:
                content[min(at, len(content) - 1)] ^= 1 << rng.randrange(8)
            case 1:
                del content[at:]
            case 2:
                del content[at : at + size]
            case 3:
                content[at:at] = rng.randbytes(size)
            case 4:
                content[at:at] = content[at : at + size] * rng.choice((1, 2, 64))
            case 5:
                little = rng.choice((True, False))
                number = rng.choice(EXTREMES).to_bytes(8, "little" if little else "big")
                content[at : at + size] = number[:size] if little else number[-size:]
            case _:
                start = rng.randrange(len(other) + 1)
                content[at:] = other[start:]
    return bytes(content)


def content_of(target: Target, seed: int, case: int) -> bytes:
    """Return the input of a case."""
    rng = random.Random(f"{seed} {target.name} {case}")
    seeds = target.seeds()
    return mutated(rng.choice(seeds), rng.choice(seeds), rng)


def try_case(target: Target, content: bytes, folder: Path) -> tuple[bool, str, str]:
    """Parse an input; return whether it was refused, and the kind and details of a finding."""
    began_s = time.process_time()
    refused, kind, what = False, "", ""
    signal.setitimer(signal.ITIMER_REAL, STUCK_S)
    try:
        target.parse(content, folder)
    except InternalError:
        kind, what = "crash", traceback.format_exc(limit=-3)
    except EmbodiedIqaError as error:
        refused = True
        if "\n" in str(error):
            kind, what = "crash", f"an error of several lines: {error}"
    except HangError:
        kind, what = "hang", traceback.format_exc(limit=-6)
    except Exception:  # noqa: BLE001 - it is what the run looks for
        kind, what = "crash", traceback.format_exc(limit=-6)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
    took_s = time.process_time() - began_s
    left = sorted(path.name for path in folder.iterdir())
    for path in folder.iterdir():
        path.unlink()
    if not kind and took_s > LIMIT_S:
        kind, what = "hang", f"{took_s:.2f} s of processor time"
    if not kind and set(left) - target.leaves:
        kind, what = "stray file", ", ".join(left)
    return refused, kind, what


def work(seed: int, cases: list[tuple[str, int]], results: Any) -> None:
    """Run cases in a process of its own; send the outcome of each."""

    def stuck(_number: int, _frame: object) -> None:
        raise HangError(f"more than {STUCK_S:g} s")

    signal.signal(signal.SIGALRM, stuck)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with tempfile.TemporaryDirectory(prefix="fuzz-") as folder:
        for name, case in cases:
            target = TARGETS[name]
            target.prepare()
            results.send(try_case(target, content_of(target, seed, case), Path(folder)))


def run_cases(state: State, cases: list[tuple[str, int]]) -> int:
    """Run cases in a worker; return how many it did. Where it dies, the last of them is a finding."""
    context = multiprocessing.get_context("spawn")
    receive, send = context.Pipe(duplex=False)
    worker = context.Process(target=work, args=(state.seed, cases, send))
    worker.start()
    send.close()
    for number, (name, case) in enumerate(cases, start=1):
        try:
            refused, kind, what = receive.recv()
        except EOFError:
            worker.join()
            refused, kind, what = False, "died", f"exit code {worker.exitcode}"
        state.done[name] = case + 1
        state.refused[name] = state.refused.get(name, 0) + refused
        if kind:
            state.findings.append(Finding(name, case, kind, what))
        if kind == "died":
            return number
    worker.join()
    return len(cases)


def load_state(path: Path | None, seed: int) -> State:
    """Return the state of an earlier run with this seed, or a new one."""
    if path is None or not path.is_file():
        return State(seed)
    tree = json.loads(path.read_text(encoding="utf-8"))
    if tree["seed"] != seed:
        raise SystemExit(f"{path} is of a run with --seed {tree['seed']}")
    findings = [Finding(**finding) for finding in tree["findings"]]
    return State(seed, tree["done"], tree["refused"], findings)


def save(state: State, path: Path | None) -> None:
    """Write a state."""
    if path is not None:
        path.write_text(json.dumps(asdict(state), indent=1), encoding="utf-8")


def show(console: Console, state: State) -> None:
    """Print a table and the findings."""
    table = Table("parser", "inputs", "refused", "findings")
    for name, done in state.done.items():
        found = sum(finding.parser == name for finding in state.findings)
        table.add_row(name, str(done), str(state.refused[name]), str(found))
    table.add_row(
        "all", str(sum(state.done.values())), str(sum(state.refused.values())), str(len(state.findings))
    )
    console.print(table)
    for finding in state.findings:
        words = f"{finding.parser}:{finding.case}: {finding.kind}\n{finding.what}"
        console.print(words, markup=False, highlight=False)


def one_case(word: str, seed: int) -> int:
    """Run one case in this process."""
    name, _, case = word.partition(":")
    target = TARGETS[name]
    target.prepare()
    with tempfile.TemporaryDirectory(prefix="fuzz-") as folder:
        target.parse(content_of(target, seed, int(case)), Path(folder))
    return 0


def main() -> int:
    """Run the cases; return 1 if a parser did what it must not do."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--cases", type=int, default=100_000, help="inputs of all parsers together")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--parser", choices=sorted(TARGETS), action="append", help="default: all")
    parser.add_argument("--case", metavar="PARSER:NUMBER", help="run one case and show its traceback")
    parser.add_argument("--state", type=Path, metavar="FILE", help="continue a run that was interrupted")
    parser.add_argument("--json", type=Path, metavar="FILE")
    arguments = parser.parse_args()
    if arguments.case:
        return one_case(arguments.case, arguments.seed)
    names = arguments.parser or list(TARGETS)
    each = -(-arguments.cases // len(names))
    state, console = load_state(arguments.state, arguments.seed), Console()
    cases = [(name, case) for name in names for case in range(state.done.get(name, 0), each)]
    with Progress(console=console) as bars:
        task = bars.add_task("fuzzing", total=len(cases))
        while cases:
            done = run_cases(state, cases[:BLOCK])
            del cases[:done]
            save(state, arguments.state)
            bars.advance(task, done)
    show(console, state)
    save(state, arguments.json)
    return 1 if state.findings else 0


if __name__ == "__main__":
    sys.exit(main())
