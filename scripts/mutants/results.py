"""Results of mutants: what became of each, kept between runs, and the table of killed shares."""

from __future__ import annotations

import json
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from mutants.baseline import Baseline, digest, file_of
from mutants.judged import Judged, key_of
from mutants.operators import Mutant
from mutants.rooms import INTERPRETED, PACKAGE
from mutants.tree import try_mutant

_START_S: Final = 15.0
_SLOWER: Final = 4.0
"""A mutant may take this many times as long as its tests do without it, beside the start of pytest."""

_Identity = tuple[str, str, int, int, str]


@dataclass(frozen=True, slots=True)
class Result:
    """What became of one mutant.

    Attributes:
        file: Its file.
        line_number: Its statement's line.
        column: Where it begins, in bytes of the file.
        line: Text of the line.
        change: The change.
        outcome: killed, late (the tests did not end), survived, equivalent, or killed elsewhere.
        by: The test that failed, or the reason why it cannot be killed.
        tests: Hash of the files of the tests that ran.
        source: Hash of the file.
    """

    file: str
    line_number: int
    column: int
    line: str
    change: str
    outcome: str
    by: str
    tests: str
    source: str

    @property
    def is_dead(self) -> bool:
        """Whether a test noticed it."""
        return self.outcome in {"killed", "late", "killed elsewhere"}

    @property
    def identity(self) -> _Identity:
        """What identifies the mutant of one version of a file."""
        return self.source, self.file, self.line_number, self.column, self.change

    def __str__(self) -> str:
        return f"{self.file.removeprefix(PACKAGE)}:{self.line_number}: {self.outcome}: {self.change}"


class RoomResults:
    """Results of one room, written to a JSON file after each mutant."""

    def __init__(self, room: str, tree: Path, store: Path) -> None:
        self._room, self._tree, self._path = room, tree, store / f"{room}.json"
        rows = json.loads(self._path.read_text()) if self._path.is_file() else []
        self._known = {result.identity: result for result in (Result(**row) for row in rows)}

    def run(
        self, mutants: list[Mutant], judged: dict[tuple[str, str, str], Judged], baseline: Baseline
    ) -> list[Result]:
        """Try mutants; what was killed in the same source, or survived the same tests, stays."""
        done: list[Result] = []
        began = time.monotonic()
        for number, mutant in enumerate(mutants, 1):
            result = self._result_of(mutant, judged.get(key_of(mutant)), baseline)
            done.append(result)
            self._known[result.identity] = result
            self._path.write_text(json.dumps([asdict(row) for row in self._known.values()], indent=1))
            if result.outcome == "survived" or number % 25 == 0:
                print(f"{number}/{len(mutants)} {time.monotonic() - began:.0f} s  {result}", flush=True)
        return done

    def _result_of(self, mutant: Mutant, entry: Judged | None, baseline: Baseline) -> Result:
        tests = baseline.tests_of(mutant)
        files = sorted({file_of(test) for test in tests})
        marks = digest(*(self._tree / name for name in files)), digest(self._tree / mutant.file)
        before = self._known.get((marks[1], mutant.file, mutant.line, mutant.start, mutant.change))
        if entry is not None:
            outcome = ("equivalent", entry.reason) if entry.reason else ("killed elsewhere", entry.killed_by)
        elif before is not None and (before.outcome in {"killed", "late"} or before.tests == marks[0]):
            outcome = (before.outcome, before.by)
        elif not tests:
            outcome = ("survived", "no test runs it")
        else:
            limit_s = _START_S + _SLOWER * sum(baseline.durations_s[test] for test in tests)
            interpreted = self._room in INTERPRETED
            outcome = try_mutant(self._tree, mutant, tests, limit_s, interpreted=interpreted)
        return Result(mutant.file, mutant.line, mutant.start, mutant.text, mutant.change, *outcome, *marks)


def table(rows: dict[str, list[Result]]) -> str:
    """Return the table of killed shares as Markdown."""
    lines = ["| | mutants | equivalent | killed | survived | share |", "|---|---|---|---|---|---|"]
    for name, results in rows.items():
        counted = [result for result in results if result.outcome != "equivalent"]
        dead = sum(result.is_dead for result in counted)
        share = f"{100 * dead / len(counted):.1f} %" if counted else "-"
        cells = (name, len(results), len(results) - len(counted), dead, len(counted) - dead, share)
        lines.append(f"| {' | '.join(map(str, cells))} |")
    return "\n".join(lines)
