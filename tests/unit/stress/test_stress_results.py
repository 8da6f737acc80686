"""Repeated tests: reports are read whole or not at all, runs are resumed, the table shows failures first."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

import stress.main
from stress.main import MARKED, busy_processes, collected, main, run_file
from stress.results import CRASHED, Load, Result, append, left_of, parse_report, read, table

REPORT = """<testsuites><testsuite>
<testcase classname="tests.ros.test_a" name="test_good" time="1.5" />
<testcase classname="tests.ros.test_a" name="test_bad[x]" time="2.0"><failure message="no
 lease">long</failure></testcase>
<testcase classname="tests.ros.test_a" name="test_skipped" time="0"><skipped message="no dog" /></testcase>
<testcase classname="tests.ros.test_a" name="test_torn" time="1.0" />
<testcase classname="tests.ros.test_a" name="test_torn" time="0.5"><error message="left open" /></testcase>
</testsuite></testsuites>"""
FILE = "tests/ros/test_a.py"


def _result(test: str, outcome: str, *, repeat: int = 1, version: str = "abc", busy: int = 2) -> Result:
    return Result(version, repeat, FILE, f"{FILE}::{test}", outcome, 1.0, busy)


def _parsed(folder: Path, text: str) -> list[Result]:
    (folder / "report.xml").write_text(text)
    return parse_report(folder / "report.xml", FILE, version="abc", repeat=3, busy=2)


def test_a_report_is_read(tmp_path: Path) -> None:
    found = {result.test.partition("::")[2]: result for result in _parsed(tmp_path, REPORT)}
    outcomes = {name: result.outcome for name, result in found.items()}
    assert outcomes == {
        "test_good": "passed",
        "test_bad[x]": "failed",
        "test_skipped": "skipped",
        "test_torn": "failed",
    }
    assert found["test_bad[x]"].message == "no lease"
    assert found["test_good"].seconds == 1.5
    assert found["test_good"].repeat == 3


def test_a_report_that_is_cut_short_or_missing_is_none(tmp_path: Path) -> None:
    assert _parsed(tmp_path, REPORT[:200]) == []
    assert parse_report(tmp_path / "none.xml", FILE, version="abc", repeat=1, busy=2) == []


def test_what_was_done_is_not_done_again(tmp_path: Path) -> None:
    store = tmp_path / "runs" / "stress.jsonl"
    append([_result("a", "passed"), _result("a", "failed", repeat=2)], store)
    append(
        [_result("a", "passed", version="other", repeat=3), _result("a", "passed", repeat=4, busy=0)], store
    )
    with store.open("a") as stream:
        stream.write('{"version": "abc", "repeat": 5, "fi')
    tests = {FILE: [f"{FILE}::a"]}
    assert left_of(read(store, "abc"), tests, 3, Load(2)) == [(3, FILE, [f"{FILE}::a"])]
    assert left_of(read(store, "abc"), tests, 4, Load(0)) == [
        (repeat, FILE, [f"{FILE}::a"]) for repeat in (1, 2, 3)
    ]
    assert read(tmp_path / "none.jsonl", "abc") == []


def test_a_run_with_freezes_is_not_one_without() -> None:
    tests = {FILE: [f"{FILE}::a"]}
    frozen = replace(_result("a", "passed"), freeze_s=2.0)
    assert left_of([frozen], tests, 1, Load(2)) == [(1, FILE, [f"{FILE}::a"])]
    assert left_of([frozen], tests, 1, Load(2, 2.0)) == []


def test_a_part_of_a_file_does_not_stand_for_the_file() -> None:
    other = "tests/ros/test_b.py"
    tests = {FILE: [f"{FILE}::a", f"{FILE}::b"], other: [f"{other}::c"]}
    assert left_of([_result("a", "passed")], tests, 1, Load(2)) == [
        (1, FILE, [f"{FILE}::b"]),
        (1, other, [f"{other}::c"]),
    ]
    crashed = Result("abc", 1, FILE, FILE, CRASHED, 1.0, 2)
    assert left_of([crashed], tests, 1, Load(2)) == [(1, other, [f"{other}::c"])]


def test_every_file_comes_once_before_any_is_repeated() -> None:
    tests = {"a.py": ["a.py::x"], "b.py": ["b.py::y"]}
    assert [row[:2] for row in left_of([], tests, 2, Load(2))] == [
        (1, "a.py"),
        (1, "b.py"),
        (2, "a.py"),
        (2, "b.py"),
    ]


def test_failing_tests_come_first_with_why_and_the_log() -> None:
    rows = [_result("good", "passed"), _result("bad", "passed"), _result("bad", CRASHED, repeat=2)]
    rows += [
        replace(_result("bad", "failed", repeat=repeat), message="no lease", log="a.log") for repeat in (3, 4)
    ]
    lines = [line.split() for line in table(rows).splitlines()]
    assert [line[:3] + line[-1:] for line in lines if line[-1].startswith(FILE)] == [
        ["4", "1", "3", f"{FILE}::bad"],
        ["1", "1", "0", f"{FILE}::good"],
    ]
    assert lines[2:5] == [["1", "x", "no", "message"], ["2", "x", "no", "lease"], ["a.log"]]


def test_busy_processes_are_there_and_then_gone() -> None:
    with busy_processes(2) as started:
        assert [os.waitpid(number, os.WNOHANG) for number in started] == [(0, 0), (0, 0)]
    for number in started:
        with pytest.raises(ProcessLookupError):
            os.kill(number, 0)


def test_a_file_is_run_in_a_group_of_its_own(tmp_path: Path) -> None:
    file = "tests/unit/base/test_pins.py"
    (result, *_) = run_file(file, [file], version="abc", repeat=1, busy=0)
    assert result.outcome == "passed"
    assert result.test.startswith(f"{file}::test_")


def test_a_run_that_takes_too_long_is_ended_and_counts_as_crashed(tmp_path: Path) -> None:
    file = "tests/unit/base/test_pins.py"
    for expected in ("v-busy0-1-test_pins.log", "v-busy0-1-test_pins-2.log"):
        (result,) = run_file(file, [file], version="v", repeat=1, busy=0, limit_s=0.01, logs=tmp_path)
        assert (result.outcome, result.test) == (CRASHED, file)
        assert "exit code" in result.message
        assert Path(result.log) == tmp_path / expected
        assert Path(result.log).is_file()


@pytest.mark.parametrize(("name", "logs"), [("mine", "mine-logs"), ("mine.jsonl", "mine-logs")])
def test_results_and_logs_are_beside_each_other_whatever_their_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, logs: str
) -> None:
    file = "tests/unit/base/test_pins.py"
    monkeypatch.setattr(stress.main, "collected", lambda _words: {file: [file]})
    monkeypatch.setattr(
        stress.main, "run_file", lambda *args, **words: run_file(*args, **words, limit_s=0.01)
    )
    words = ["--results", str(tmp_path / name), "--repeats", "2", "--busy", "0"]
    assert main(words) == 1
    assert {path.name for path in tmp_path.iterdir()} == {name, logs}
    assert len(list((tmp_path / logs).iterdir())) == 2


def test_a_test_without_a_result_counts_as_crashed() -> None:
    file = "tests/unit/base/test_pins.py"
    known = next(iter(collected([file])[file]))
    ids = [known, f"{known}[none]"]
    results = run_file(file, ids, version="abc", repeat=1, busy=0)
    outcomes = {result.test: result.outcome for result in results}
    assert outcomes == {known: "passed", f"{known}[none]": CRASHED}


def test_tests_for_stress_only_are_collected() -> None:
    file = "tests/unit/stress/test_stress_marked.py"
    assert collected([file]) == {file: [f"{file}::test_repeated_only"]}
    assert collected(["-m", MARKED, "tests/unit/stress"]) == {file: [f"{file}::test_repeated_only"]}


def test_wrong_words_are_a_usage_error(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        main(["--repeats", "0"])
    assert end.value.code == 2
    assert "--repeats must be at least 1" in capsys.readouterr().err
    with pytest.raises(SystemExit) as end:
        main(["--freeze-s", "31"])
    assert end.value.code == 2
    assert "--freeze-s must be 0 to 30" in capsys.readouterr().err
    with pytest.raises(SystemExit) as end:
        main(["--freeze-s", "2", "--freeze-every-s", "inf"])
    assert end.value.code == 2
    assert "--freeze-every-s must be above 0 and at most 3600" in capsys.readouterr().err
