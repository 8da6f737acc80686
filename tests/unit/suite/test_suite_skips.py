"""A skip that is not on the list with its reason fails; the list of the second Python names real tests."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

from live_process import COMPLETION_S
from suite_order import LISTS
from suite_skips import Permitted, StrictSkips, permitted_here, read_permitted

ROOT = Path(__file__).resolve().parents[3]


def _report(when: str, outcome: str, nodeid: str, reason: str) -> pytest.TestReport:
    longrepr = ("file.py", 3, f"Skipped: {reason}")
    return pytest.TestReport(nodeid, ("file.py", 3, ""), {}, outcome, longrepr, when)  # type: ignore[arg-type]


def _checked(report: pytest.TestReport) -> pytest.TestReport:
    hook = StrictSkips([Permitted("tests/a.py::*", "needs a dog*", "no dog")]).pytest_runtest_makereport()
    next(hook)
    with pytest.raises(StopIteration) as end:
        hook.send(report)
    assert end.value.value is report
    return report


@pytest.mark.parametrize("when", ["setup", "call"])
def test_a_permitted_skip_stays_one(when: str) -> None:
    assert _checked(_report(when, "skipped", "tests/a.py::test[x]", "needs a dog, or a cat")).skipped


@pytest.mark.parametrize(
    ("nodeid", "reason"), [("tests/b.py::test", "needs a dog"), ("tests/a.py::test", "no chromium")]
)
def test_any_other_skip_fails_with_its_reason(nodeid: str, reason: str) -> None:
    report = _checked(_report("setup", "skipped", nodeid, reason))
    assert report.failed
    assert reason in str(report.longrepr)


def test_expected_failures_and_passes_are_left_alone() -> None:
    expected = _report("call", "skipped", "tests/b.py::test", "")
    expected.wasxfail = "known"
    assert _checked(expected).skipped
    assert _checked(_report("call", "passed", "tests/b.py::test", "")).passed


def test_brackets_of_parameters_are_plain_characters() -> None:
    line = Permitted("tests/a.py::test[x]", "*", "why")
    assert line.permits("tests/a.py::test[x]", "anything")
    assert not line.permits("tests/a.py::testx", "anything")


@pytest.mark.parametrize(
    ("ci", "browser", "permitted"),
    [
        (None, None, True),
        ("false", None, True),
        ("true", None, False),
        ("1", None, False),
        (None, "chrome", False),
    ],
)
def test_without_a_browser_tests_of_pages_are_skipped_but_not_in_ci(
    monkeypatch: pytest.MonkeyPatch, ci: str | None, browser: str | None, permitted: bool
) -> None:
    monkeypatch.setattr("suite_skips.executable", lambda: browser)
    monkeypatch.delenv("CI", raising=False)
    if ci is not None:
        monkeypatch.setenv("CI", ci)
    lines, reason = permitted_here(), "needs a browser: apt-get install chromium (Debian) to look at the page"
    assert any(line.permits("tests/unit/reports/test_a.py::test", reason) for line in lines) is permitted
    assert bool(StrictSkips(lines).pytest_report_header()) is (browser is None)


def test_a_line_without_a_reason_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "skips.txt").write_text("# comment\ntests/* | no dog |\n")
    with pytest.raises(ValueError, match=r"skips\.txt:2: expected `tests \| reason \| why`"):
        read_permitted(tmp_path / "skips.txt")


def test_the_committed_list_is_read() -> None:
    assert all(line.why for line in read_permitted())


def _second() -> list[str]:
    lines = (LISTS / "second-python.txt").read_text(encoding="utf-8").splitlines()
    return [line for line in lines if line and not line.startswith("#")]


@pytest.mark.parametrize("line", _second())
def test_the_second_python_repeats_tests_that_exist_for_a_reason(line: str) -> None:
    tests, _, reason = line.partition(" | ")
    assert reason.strip(), "a reason why another Python may behave differently"
    file, _, function = tests.partition("::")
    tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
    names = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
    assert not function or function in names


def test_a_session_in_which_no_test_runs_leaves_nothing_of_ros(tmp_path: Path) -> None:
    words = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider", __file__]
    environment = os.environ | {"TMPDIR": str(tmp_path)}
    subprocess.run(words, cwd=ROOT, env=environment, check=True, capture_output=True, timeout=COMPLETION_S)
    assert list(tmp_path.glob("embodied-iqa-ros-log-*")) == []
