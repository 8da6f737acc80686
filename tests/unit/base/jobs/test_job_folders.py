"""Folders of results: one job at a time, the same plan at every start, and words for what differs."""

from __future__ import annotations

import json
import signal
from dataclasses import replace
from pathlib import Path

import pytest

from embodied_iqa.base.errors import InputError, UsageError
from embodied_iqa.base.jobs.folder import JobFolder
from embodied_iqa.base.jobs.plan import another_plan, differences, digest_of

PLAN = {"seed": 1, "metrics": {"psnr": "a", "ssim": "b"}, "views": ("top", "wrist")}


def test_a_new_folder_gets_the_plan_and_the_same_plan_opens_it_again(tmp_path: Path) -> None:
    folder = JobFolder(tmp_path / "new", "metric benchmark")
    with folder.opened(PLAN):
        assert (folder.path / ".lock").read_text() == "metric benchmark"
    written = (folder.path / "plan.json").read_bytes()
    assert json.loads(written) == {**PLAN, "views": ["top", "wrist"]}
    (folder.path / ".part-00000.parquet.17.part").touch()
    with folder.opened(PLAN):
        assert not list(folder.path.glob(".*.part"))
    assert (folder.path / "plan.json").read_bytes() == written
    assert (folder.path / ".lock").read_bytes() == b""


def test_another_plan_is_refused_by_the_settings_that_differ(tmp_path: Path) -> None:
    folder = JobFolder(tmp_path, "metric benchmark")
    with folder.opened(PLAN):
        (tmp_path / "rows").mkdir()
        (tmp_path / "rows" / "1.parquet").touch()
    asked = {"seed": 2, "metrics": {"psnr": "a", "vsi": "c"}, "views": ["top", "wrist"]}
    with pytest.raises(UsageError) as refused, folder.opened(asked):
        pass
    assert str(refused.value) == (
        f"{tmp_path} holds another plan: metrics.ssim is 'b' there, not asked; "
        "metrics.vsi is not there, 'c' asked; seed is 1 there, 2 asked; "
        "expected the same plan, or another folder"
    )


def test_the_plan_of_a_job_that_failed_before_its_first_result_is_replaced(tmp_path: Path) -> None:
    folder = JobFolder(tmp_path, "label build")
    with folder.opened(PLAN):
        (tmp_path / "rows").mkdir()
        (tmp_path / ".part-00000.parquet.17.part").touch()
    assert not folder.check({"seed": 2})
    with folder.opened({"seed": 2}):
        assert json.loads((tmp_path / "plan.json").read_bytes()) == {"seed": 2}


@pytest.mark.parametrize("content", ["[1]", "{", ""])
def test_a_plan_that_cannot_be_read_is_named(tmp_path: Path, content: str) -> None:
    (tmp_path / "plan.json").write_text(content)
    with pytest.raises(InputError, match=r"plan\.json"), JobFolder(tmp_path, "build").opened(PLAN):
        pass


def test_something_else_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").touch()
    refused = pytest.raises(InputError, match="holds no label build; expected a new or empty folder")
    with refused, JobFolder(tmp_path, "label build").opened(PLAN):
        pass
    assert [file.name for file in tmp_path.iterdir()] == ["thesis.tex"]
    below = JobFolder(tmp_path / "thesis.tex" / "below", "label build")
    with pytest.raises(InputError, match="cannot write to"), below.locked():
        pass


def test_the_job_that_works_in_a_folder_is_named(tmp_path: Path) -> None:
    with JobFolder(tmp_path, "database build").locked():
        with pytest.raises(InputError) as refused, JobFolder(tmp_path, "judging by a gate").locked():
            pass
        assert str(refused.value) == (f"another database build works in {tmp_path}; expected one at a time")
        assert (tmp_path / ".lock").read_text() == "database build"
    with JobFolder(tmp_path, "judging by a gate").locked():
        assert (tmp_path / ".lock").read_text() == "judging by a gate"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize(
    ("folder", "said"),
    [(JobFolder(Path(), "build"), "the same command goes on"), (JobFolder(Path(), "x", resumes=False), "")],
)
def test_a_job_that_is_ended_says_whether_it_resumes(
    folder: JobFolder, said: str, number: signal.Signals, tmp_path: Path
) -> None:
    before, folder = signal.getsignal(signal.SIGTERM), replace(folder, path=tmp_path)
    with pytest.raises(KeyboardInterrupt) as ended, folder.locked():
        signal.raise_signal(number)
    assert str(ended.value).startswith(said)
    assert bool(str(ended.value)) == bool(said)
    assert signal.getsignal(signal.SIGTERM) == before
    assert (tmp_path / ".lock").read_text() == ""


def test_a_signal_that_is_ignored_stays_ignored(tmp_path: Path) -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with JobFolder(tmp_path, "build").locked():
            signal.raise_signal(signal.SIGHUP)
    finally:
        signal.signal(signal.SIGHUP, before)


def test_long_lists_of_differences_and_long_values_are_cut(tmp_path: Path) -> None:
    parts = differences({str(number): 0 for number in range(6)}, {str(number): 1 for number in range(6)})
    assert str(another_plan(tmp_path, parts)).count(" there, ") == 3
    assert "; and 3 more; expected" in str(another_plan(tmp_path, parts))
    (part,) = differences({"seeds": list(range(1000))}, {"seeds": [1]})
    assert len(part) < 200
    assert part.endswith("... there, [1] asked")


def test_of_hashes_only_the_change_is_named() -> None:
    said = differences({"samples": digest_of(1), "name": "fade"}, {"samples": digest_of(2), "name": "cafe"})
    assert said == ("name is 'fade' there, 'cafe' asked", "samples have changed since")


def test_a_setting_that_is_none_may_be_lacking() -> None:
    assert differences({"judge": None}, {}) == differences({}, {"judge": None}) == ()


def test_the_hash_of_a_plan_is_that_of_stored_databases() -> None:
    assert digest_of({"b": 2, "a": [0.5, None]}) == digest_of({"a": (0.5, None), "b": 2})
    assert digest_of("pairs", 1) == "a7e87a96618649c34d739481ab667f38"
