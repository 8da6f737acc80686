"""Results of repeated tests: one line of JSON for each test of each repeat, and the table of them."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

__all__ = ["CRASHED", "Result", "append", "done_repeats", "parse_report", "read", "table"]

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
    """

    version: str
    repeat: int
    file: str
    test: str
    outcome: str
    seconds: float
    busy: int
    message: str = ""


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


def done_repeats(results: Iterable[Result], busy: int) -> set[tuple[str, int]]:
    """File and repeat of what need not be run again beside as many busy processes."""
    return {(result.file, result.repeat) for result in results if result.busy == busy}


def table(results: Iterable[Result]) -> str:
    """Passes, failures and the longest time of each test, failing ones first."""
    tests: dict[str, list[Result]] = {}
    for result in results:
        tests.setdefault(result.test, []).append(result)
    rows = []
    for test, of_test in tests.items():
        failed = [result for result in of_test if result.outcome not in _GOOD]
        passed = sum(result.outcome == "passed" for result in of_test)
        longest_s = max(result.seconds for result in of_test)
        rows.append(
            (-len(failed), test, passed, len(failed), longest_s, failed[-1].message if failed else "")
        )
    lines = [f"{'passed':>6} {'failed':>6} {'longest':>9}  test"]
    for _, test, passed, count, longest_s, message in sorted(rows):
        lines.append(f"{passed:6d} {count:6d} {longest_s:7.1f} s  {test}")
        lines += [f"{'':25}{message}"] if message else []
    return "\n".join(lines)
