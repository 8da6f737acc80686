"""pytest plugin of the mutation tester: which tests run which lines, how long they take, which fail."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pytest
from hypothesis import Phase, settings

if TYPE_CHECKING:
    from coverage import Coverage

SETUP = "|setup"
"""Ends the coverage context of a test's fixtures: other tests of the file may share them."""


@dataclass(eq=False)  # pytest keeps plugins in sets
class Recorder:
    """Records the tests of a run."""

    coverage: Coverage | None = None
    durations_s: dict[str, float] = field(default_factory=dict)
    failed: list[str] = field(default_factory=list)
    skipped: set[str] = field(default_factory=set)

    def pytest_sessionstart(self) -> None:
        """Let hypothesis draw the examples of the suite, whose conftest is loaded, and shrink no failure."""
        settings.register_profile("mutants", phases=[Phase.explicit, Phase.reuse, Phase.generate])
        settings.load_profile("mutants")

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> Generator[None, object, object]:
        """Count the lines of fixtures for all tests of the file."""
        if self.coverage is not None:
            self.coverage.switch_context(item.nodeid + SETUP)
        return (yield)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, object, object]:
        """Count the lines of the test itself."""
        if self.coverage is not None:
            self.coverage.switch_context(item.nodeid)
        return (yield)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Add up the parts of a test."""
        self.durations_s[report.nodeid] = self.durations_s.get(report.nodeid, 0.0) + report.duration
        if report.failed:
            self.failed.append(report.nodeid)
        if report.skipped:
            self.skipped.add(report.nodeid)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Count a file that cannot be imported as failed."""
        if report.failed:
            self.failed.append(report.nodeid)
