"""Workers take running worlds first, then the longest groups; what shares fixtures stays together."""

from __future__ import annotations

from pathlib import Path

import pytest

import suite_order
from suite_order import (
    DURATIONS,
    EACH,
    WORLDS,
    group_durations,
    group_of,
    longest_first,
    read_durations,
    real_time_tests,
    write_durations,
)

ROOT = Path(__file__).resolve().parents[3]
SHORT, LONG = "tests/unit/a/test_short.py", "tests/unit/b/test_long.py"


@pytest.mark.parametrize(
    ("nodeid", "group"),
    [
        (f"{WORLDS[0]}::test_a", "worlds"),
        (f"{WORLDS[-1]}::test_b[c::d]", "worlds"),
        ("tests/fault/test_y.py::test_b[c::d]", "tests/fault/test_y.py"),
        ("tests/style/test_style_sizes.py::test_a", "reading"),
        ("tests/style/test_style_tools.py::test_a", "tests/style/test_style_tools.py"),
        (f"{EACH[0]}::test_a", f"{EACH[0]}::test_a"),
        (f"{LONG}::TestClass::test_a", LONG),
    ],
)
def test_groups(nodeid: str, group: str) -> None:
    assert group_of(nodeid) == group


def test_worlds_come_first_then_the_longest_file_real_time_last_and_files_stay_whole(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    timed = f"{LONG}::c[1]"
    monkeypatch.setattr(suite_order, "real_time_tests", lambda: {f"{LONG}::c"})
    collected = [timed, f"{SHORT}::a", f"{WORLDS[0]}::a", f"{SHORT}::b", f"{LONG}::a", f"{LONG}::b"]
    places = longest_first(collected, {LONG: 30.0, SHORT: 3.0, WORLDS[0]: 1.0})
    assert [collected[place] for place in places] == [
        f"{WORLDS[0]}::a",
        f"{LONG}::a",
        f"{LONG}::b",
        f"{SHORT}::a",
        f"{SHORT}::b",
        timed,
    ]


def test_functions_that_are_marked_are_those_of_real_time(tmp_path: Path) -> None:
    folder = tmp_path / "tests" / "unit"
    folder.mkdir(parents=True)
    source = "@pytest.mark.wall_clock\ndef test_a(): ...\n@pytest.mark.stress\ndef test_b(): ...\n"
    (folder / "test_marked.py").write_text(source, encoding="utf-8")
    (folder / "test_other.py").write_text("def test_a(): ...\n", encoding="utf-8")
    assert real_time_tests(folder.parent) == {"tests/unit/test_marked.py::test_a"}


def test_worlds_are_files_of_the_suite() -> None:
    assert all((ROOT / path).is_file() for path in WORLDS)


def test_files_without_a_duration_keep_their_order_at_the_end() -> None:
    collected = [f"{SHORT}::a", "tests/unit/c/test_new.py::a", f"{LONG}::a"]
    assert longest_first(collected, {LONG: 30.0}) == [2, 0, 1]


def test_a_file_that_workers_share_counts_in_parts() -> None:
    parts = group_durations([f"{EACH[0]}::a", f"{EACH[0]}::b"], {EACH[0]: 60.0})
    assert parts == {f"{EACH[0]}::a": 30.0, f"{EACH[0]}::b": 30.0}


def test_durations_are_written_longest_first_without_short_or_missing_files(tmp_path: Path) -> None:
    here = Path(__file__).relative_to(ROOT).as_posix()
    durations = {
        here: 2.4,
        "tests/conftest.py": 40.6,
        "tests/no_such_file.py": 99.0,
        "tests/suite_cost.py": 1.0,
    }
    write_durations(durations, tmp_path / "durations.txt")
    assert read_durations(tmp_path / "durations.txt") == {"tests/conftest.py": 41.0, here: 2.0}


def test_every_listed_file_exists() -> None:
    gone = [path for path in read_durations(DURATIONS) if not (ROOT / path).is_file()]
    assert not gone, f"pytest --record-durations takes these out: {gone}"
