"""Results of repeated tests: one line of JSON for each test of each repeat, and the table of them."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

__all__ = ["CRASHED", "Load", "Result", "append", "left_of", "parse_report", "read", "table"]

CRASHED = "crashed"
"""Outcome of a file whose run ended without a report: its process died or took too long."""
_GOOD = {"passed", "skipped"}
_MESSAGE_LENGTH = 300


@dataclass(frozen=True, slots=True)
class Result:
    """What became of one test in one repeat.

    Attributes:
        version: Commit and hash of what differs from it.
        repeat: Number of the repeat, from 1.
        file: Test file.
        test: Node id; of a crashed run the file.
        outcome: passed, failed, skipped or crashed.
        seconds: Its call with set-up and tear-down.
        busy: Busy processes beside it.
        message: First line of what failed.
        log: File with what the run of the test's file printed, where something of it failed.
        freeze_s: Length of the freezes of the run; 0: there were none.
    """

    version: str
    repeat: int
    file: str
    test: str
    outcome: str
    seconds: float
    busy: int
    message: str = ""
    log: str = ""
    freeze_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Load:
    """What the machine does beside the tests: the number of busy processes, the length of freezes."""

    busy: int
    freeze_s: float = 0.0

    def is_of(self, result: Result) -> bool:
        """Return whether a result was measured under this load."""
        return result.busy == self.busy and result.freeze_s == self.freeze_s


def parse_report(report: Path, file: str, *, version: str, repeat: int, busy: int) -> list[Result]:
    """Read pytest's JUnit XML of one file; empty where there is none or it is cut short."""
    try:
        cases = list(ET.parse(report).iter("testcase"))  # noqa: S314 - pytest has just written it
    except (OSError, ET.ParseError):
        return []
    found: dict[str, Result] = {}
    for case in cases:
        bad = next((child for child in case if child.tag in {"failure", "error"}), None)
        skipped = case.find("skipped") is not None
        outcome = "failed" if bad is not None else "skipped" if skipped else "passed"
        message = "" if bad is None else " ".join(str(bad.get("message")).split())[:_MESSAGE_LENGTH]
        test = f"{file}::{case.get('name')}"
        earlier = found.get(test)
        if earlier is None or earlier.outcome in _GOOD:  # a failed tear-down is a case of its own
            seconds = float(case.get("time", "0"))
            found[test] = Result(version, repeat, file, test, outcome, seconds, busy, message)
    return list(found.values())


def append(results: Iterable[Result], file: Path) -> None:
    """Add results to the file."""
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("a", encoding="utf-8") as stream:
        stream.writelines(json.dumps(asdict(result)) + "\n" for result in results)


def read(file: Path, version: str) -> list[Result]:
    """The results of one version; a last line that was cut short is left out."""
    if not file.is_file():
        return []
    found = []
    for line in file.read_text(encoding="utf-8").splitlines():
        try:
            result = Result(**json.loads(line))
        except (json.JSONDecodeError, TypeError):
            continue
        if result.version == version:
            found.append(result)
    return found


def left_of(
    results: Iterable[Result], tests: Mapping[str, Sequence[str]], repeats: int, load: Load
) -> list[tuple[int, str, list[str]]]:
    """What is still to be run: repeat, file and those of its tests without a result.

    Every file comes once before any is repeated, so that a fault of all of them shows early.

    Args:
        results: What has been run. A run that crashed counts for all tests of its file.
        tests: Node ids of the tests by file.
        repeats: How often each test is run.
        load: Only runs under it count.
    """
    done = {(result.repeat, result.test) for result in results if load.is_of(result)}
    left = []
    for repeat in range(1, repeats + 1):
        for file, of_file in tests.items():
            missing = [test for test in of_file if not {(repeat, test), (repeat, file)} & done]
            if missing:
                left.append((repeat, file, missing))
    return left


def table(results: Iterable[Result]) -> str:
    """Repeats, passes, failures and longest time of each test; failing ones first, with why and the log."""
    tests: dict[str, list[Result]] = {}
    for result in results:
        tests.setdefault(result.test, []).append(result)
    rows = []
    for test, of_test in tests.items():
        failed = [result for result in of_test if result.outcome not in _GOOD]
        passed = sum(result.outcome == "passed" for result in of_test)
        longest_s = max(result.seconds for result in of_test)
        numbers = f"{len(of_test):7d} {passed:6d} {len(failed):6d} {longest_s:7.1f} s"
        rows.append((-len(failed), test, numbers, failed))
    lines = [f"{'repeats':>7} {'passed':>6} {'failed':>6} {'longest':>9}  test"]
    for _, test, numbers, failed in sorted(rows, key=lambda row: row[:2]):
        lines.append(f"{numbers}  {test}")
        for message, of_message in _by_message(failed).items():
            times = f"{len(of_message)} x " if len(failed) > 1 else ""
            lines.append(f"{'':33}{times}{message or 'no message'}")
            lines += [f"{'':33}{of_message[-1].log}"] if of_message[-1].log else []
    return "\n".join(lines)


def _by_message(failed: Iterable[Result]) -> dict[str, list[Result]]:
    found: dict[str, list[Result]] = {}
    for result in failed:
        found.setdefault(result.message, []).append(result)
    return found
