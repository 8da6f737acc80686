"""Baseline of the mutation tester: which tests run which lines, recorded for each test file and kept."""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mutants.children import in_child, interpret_kernels, run_pytest
from mutants.operators import Mutant
from mutants.plugin import SETUP, Recorder

FILE_LIMIT_S = 900.0
MOST_S = 10.0
"""Tests are added for a mutant, the fastest first, while they take less than this together (s)."""


def digest(*files: Path) -> str:
    """Return the hash of the files' contents."""
    whole = hashlib.sha256()
    for file in files:
        whole.update(file.read_bytes())
    return whole.hexdigest()[:16]


def file_of(test: str) -> str:
    """Return the file of a test."""
    return test.partition("::")[0]


@dataclass
class Baseline:
    """What the tests of a room run: ``lines[source][line]`` names tests, ``shared`` test files."""

    durations_s: dict[str, float] = field(default_factory=dict)
    lines: dict[str, dict[int, set[str]]] = field(
        default_factory=lambda: defaultdict(lambda: defaultdict(set))
    )
    shared: dict[str, dict[int, set[str]]] = field(
        default_factory=lambda: defaultdict(lambda: defaultdict(set))
    )
    failing: list[str] = field(default_factory=list)
    always: set[str] = field(default_factory=set)

    def add(self, test_file: str, record: dict[str, Any]) -> None:
        """Add the record of one test file."""
        self.failing += record["failing"]
        if test_file != file_of(test_file):  # a test that the room names runs however long the others take
            self.always.update(record["durations_s"])
        self.durations_s.update(record["durations_s"])
        for source, lines in record["lines"].items():
            for line, contexts in lines.items():
                for context in contexts:
                    if context == "" or context.endswith(SETUP):
                        self.shared[source][int(line)].add(file_of(test_file))
                    elif context in self.durations_s:
                        self.lines[source][int(line)].add(context)

    def tests_of(self, mutant: Mutant) -> list[str]:
        """Return the tests that can notice a mutant, the fastest first, as many as the time allows."""
        span = range(mutant.line, mutant.last_line + 1)
        direct = set().union(*(self.lines[mutant.file][line] for line in span))
        files = set().union(*(self.shared[mutant.file][line] for line in span))
        if not direct and not files:
            files = set().union(*self.shared[mutant.file].values())
        near = set().union(*self.lines[mutant.file].values())
        indirect = {test for test in self.durations_s if file_of(test) in files} - direct
        ordered = [
            *sorted(direct, key=self.durations_s.__getitem__),
            *sorted(indirect, key=lambda test: (test not in near, self.durations_s[test])),
        ]
        chosen: list[str] = []
        total_s = 0.0
        for test in ordered:
            total_s += self.durations_s[test]
            if total_s > MOST_S and chosen:
                break
            chosen.append(test)
        return chosen + [test for test in ordered if test in self.always and test not in chosen]


def record_baseline(copy: Path, tests: list[str], store: Path, *, interpreted: bool) -> Baseline:
    """Run every test file once under coverage, but those whose record still holds."""
    kept: dict[str, Any] = json.loads(store.read_text()) if store.is_file() else {}
    baseline = Baseline()
    for name in tests:
        if not _holds(copy, name, kept.get(name)):
            print(f"baseline: {name}", flush=True)
            kept[name] = _record(copy, name, interpreted=interpreted)
            if kept[name]["durations_s"]:
                store.write_text(json.dumps(kept))
        baseline.add(name, kept[name])
    return baseline


def _holds(copy: Path, name: str, record: dict[str, Any] | None) -> bool:
    if record is None or record["digest"] != digest(copy / file_of(name)):
        return False
    return all((copy / s).is_file() and digest(copy / s) == d for s, d in record["sources"].items())


def _record(copy: Path, name: str, *, interpreted: bool) -> dict[str, Any]:
    def work() -> object:
        if interpreted:
            interpret_kernels()
        from coverage import Coverage  # noqa: PLC0415 - only in the child

        coverage = Coverage(data_file=None, source=[str(copy / "src" / "embodied_iqa")], config_file=False)
        recorder = Recorder(coverage)
        coverage.start()
        run_pytest([name], recorder, stop=False)
        coverage.stop()
        data = coverage.get_data()
        lines = {
            str(Path(file).relative_to(copy)): data.contexts_by_lineno(file) for file in data.measured_files()
        }
        good = {
            test: duration
            for test, duration in recorder.durations_s.items()
            if test not in recorder.failed and test not in recorder.skipped
        }
        return {
            "durations_s": good,
            "failing": recorder.failed,
            "lines": {source: found for source, found in lines.items() if found},
        }

    record: Any = in_child(work, copy, FILE_LIMIT_S) or {"durations_s": {}, "failing": [name], "lines": {}}
    sources = {source: digest(copy / source) for source in record["lines"]}
    return {"digest": digest(copy / file_of(name)), "sources": sources, **record}
