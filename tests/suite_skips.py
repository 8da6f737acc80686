"""With --strict-skips (`make test`) a skip fails unless tests/lists/skips.txt has it with its reason.

A test that is skipped wherever nobody installed something checks nothing, and nobody sees it. One exception:
where set-up could not install a browser, tests of pages are skipped, but not in continuous integration
(CI=true).
"""

from __future__ import annotations

import re
from collections.abc import Generator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import pytest

from chromium_pipe import executable
from workspace.system import browser_command, in_ci

LIST = Path(__file__).resolve().parent / "lists" / "skips.txt"
_LINE = re.compile(r"(?P<tests>\S+)\s*\|\s*(?P<reason>.+?)\s*\|\s*(?P<why>\S.*)")


@dataclass(frozen=True, slots=True)
class Permitted:
    """One line of the list: which tests may be skipped with which message, and why that is right."""

    tests: str
    """Pattern of node ids, with * for anything."""
    reason: str
    """Pattern of the skip's message."""
    why: str

    def permits(self, nodeid: str, reason: str) -> bool:
        """Whether this line permits a skip; brackets of parameters are plain characters."""
        tests = self.tests.replace("[", "[[]")
        return fnmatchcase(nodeid, tests) and fnmatchcase(reason, self.reason)


def read_permitted(file: Path = LIST) -> list[Permitted]:
    """The lines `tests | reason | why`; others than comments and empty ones raise ValueError."""
    found = []
    for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), start=1):
        if not line.strip() or line.startswith("#"):
            continue
        match = _LINE.fullmatch(line.strip())
        if match is None:
            raise ValueError(f"{file.name}:{number}: expected `tests | reason | why`; got {line!r}")
        found.append(Permitted(**match.groupdict()))
    return found


def permitted_here(file: Path = LIST) -> list[Permitted]:
    """The lines of the list; without a browser that could be installed, also tests of pages.

    Continuous integration has a browser: there they fail.
    """
    if has_browser() or in_ci():
        return read_permitted(file)
    return [*read_permitted(file), Permitted("*", "needs a browser*", "nobody could install one")]


def has_browser() -> bool:
    """Whether tests can look at pages."""
    return executable() is not None


def reason_of(report: pytest.TestReport | pytest.CollectReport) -> str:
    """The message of a skip."""
    text = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
    return str(text).removeprefix("Skipped: ")


class StrictSkips:
    """The plugin: makes failures of skips that the list does not permit."""

    def __init__(self, permitted: list[Permitted]) -> None:
        self._permitted = permitted

    def pytest_report_header(self) -> list[str]:
        """Say why tests of pages are skipped."""
        if has_browser():
            return []
        fate = "fail" if in_ci() else "are skipped"
        return [f"no browser: tests of pages {fate}; to run them: {browser_command()}"]

    def _check(self, report: Any) -> None:
        if not report.skipped or hasattr(report, "wasxfail"):
            return
        reason = reason_of(report)
        if not any(line.permits(report.nodeid, reason) for line in self._permitted):
            report.outcome = "failed"
            report.longrepr = f"skipped, and {LIST.parent.name}/{LIST.name} does not permit it: {reason}"

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Of one phase of a test."""
        report = yield
        self._check(report)
        return report

    @pytest.hookimpl(wrapper=True)
    def pytest_make_collect_report(self) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
        """Of a whole file."""
        report = yield
        self._check(report)
        return report
