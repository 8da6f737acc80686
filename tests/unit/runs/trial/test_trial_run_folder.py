"""The folder of a run: fresh, writable, files whole or not at all."""

from __future__ import annotations

import json
import os
import subprocess
from datetime import datetime
from pathlib import Path

import pytest

from embodied_iqa.base.errors import InputError
from embodied_iqa.runs.trial import run_folder
from embodied_iqa.runs.trial.run_folder import (
    drop_unbegun,
    make_run_folder,
    new_run_id,
    slug,
    task_slug,
    versions,
    write_json,
    write_yaml,
)


def test_a_new_folder_is_made_with_its_parents(tmp_path: Path) -> None:
    made = make_run_folder(tmp_path / "runs" / "a")
    assert made.is_dir()
    assert list(made.iterdir()) == []


def test_an_empty_folder_will_do(tmp_path: Path) -> None:
    assert make_run_folder(tmp_path) == tmp_path.resolve()


def test_a_folder_with_something_in_it_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "scores.json").write_text("mine")
    with pytest.raises(InputError, match=r"not empty.*new or empty"):
        make_run_folder(tmp_path)
    assert (tmp_path / "scores.json").read_text() == "mine"


def test_a_folder_of_a_failed_start_is_used_again(tmp_path: Path) -> None:
    (tmp_path / "log").mkdir()
    (tmp_path / "log" / "sim_node.log").write_text("no graphics")
    (tmp_path / "config.yaml").touch()
    (tmp_path / "pick-the-red-cube").mkdir()
    assert make_run_folder(tmp_path) == tmp_path.resolve()
    (tmp_path / "pick-the-red-cube" / "trial.mcap").touch()
    with pytest.raises(InputError, match="not empty"):
        make_run_folder(tmp_path)


def test_a_file_in_the_way_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_text("")
    for wanted in (path, path / "b"):
        with pytest.raises(InputError, match="cannot write to the run folder"):
            make_run_folder(wanted)


def test_a_folder_that_cannot_be_written_is_reported() -> None:
    with pytest.raises(InputError, match="cannot write to the run folder"):
        make_run_folder(Path("/proc/embodied-iqa"))


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_read_only_folder_is_reported(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(InputError, match="cannot write"):
        make_run_folder(tmp_path)


def test_the_commit_is_named_with_its_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def git(*words: str) -> str:
        command = ["git", "-C", str(tmp_path), "-c", "user.name=a", "-c", "user.email=a@b", *words]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()

    monkeypatch.setattr(run_folder, "source_checkout", lambda: tmp_path)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    assert run_folder.git_hash() == "unknown", "no repository"
    assert run_folder.commit_and_date("docs/results") == ("", "")
    git("init", "-q")
    git("commit", "-q", "--allow-empty", "-m", "first")
    commit = git("rev-parse", "HEAD")
    assert len(commit) == 40
    assert run_folder.git_hash() == commit
    date = git("show", "-s", "--format=%ad", "--date=short")
    (tmp_path / "docs/results").mkdir(parents=True)
    (tmp_path / "docs/results" / "page.md").touch()
    assert run_folder.commit_and_date("docs/results") == (commit[:8], date)
    (tmp_path / "new.txt").touch()
    assert run_folder.git_hash() == f"{commit}+changes"
    assert run_folder.commit_and_date("docs/results") == (f"{commit[:8]} with changes", date)
    monkeypatch.setattr(run_folder, "source_checkout", lambda: None)
    assert run_folder.git_hash() == "unknown"


def test_json_is_whole_or_not_there(tmp_path: Path) -> None:
    path = tmp_path / "scores.json"
    write_json(path, {"score": 1.0, "word": "über"})
    assert path.read_text(encoding="utf-8") == '{\n  "score": 1.0,\n  "word": "über"\n}\n'
    with pytest.raises(ValueError, match="JSON compliant"):
        write_json(path, {"score": float("nan")})
    assert json.loads(path.read_text(encoding="utf-8")) == {"score": 1.0, "word": "über"}
    assert [file.name for file in tmp_path.iterdir()] == ["scores.json"]


def test_yaml_keeps_its_order_and_its_characters(tmp_path: Path) -> None:
    write_yaml(tmp_path / "config.yaml", {"b": "über", "a": 1})
    assert (tmp_path / "config.yaml").read_text(encoding="utf-8") == "b: über\na: 1\n"


def test_a_file_that_cannot_be_written_is_reported(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match="cannot write"):
        write_yaml(tmp_path / "file" / "config.yaml", {})


def test_names_of_runs_and_tasks() -> None:
    assert new_run_id(datetime(2026, 1, 2, 3, 4, 5)) == "2026-01-02_030405"  # noqa: DTZ001 - only a name
    assert slug("Pick the red cube!") == "pick-the-red-cube"
    assert slug("...") == "task"
    assert task_slug("pick the red cube") == "pick-the-red-cube"
    assert task_slug("push the red ball marked A") == "push-the-red-ball-marked-a", "as in older folders"
    assert task_slug("开门") != task_slug("关门")
    assert task_slug("Open it") != task_slug("open it") == "open-it"


def test_versions_name_what_the_numbers_depend_on() -> None:
    found = versions()
    assert {"embodied_iqa", "python", "numpy", "mujoco"} <= set(found)
    assert all(found.values())


@pytest.mark.parametrize("keep_logs", [True, False])
@pytest.mark.parametrize("left", ["", "notes.txt"])
def test_nothing_is_left_of_a_trial_that_began_no_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, left: str, keep_logs: bool
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    for start in ("first", "second"):
        folder = make_run_folder(tmp_path / "runs" / "day")
        (folder / "config.yaml").touch()
        recording, other = folder / "task" / "trial.mcap", folder / "next" / "trial.mcap"
        for made in (folder / "log", recording.parent):
            made.mkdir(exist_ok=True)
        recording.touch()
        (folder / "log" / f"{start}.log").touch()
        logs = drop_unbegun(folder, [recording, other], keep_logs=keep_logs)
        assert not folder.exists()
    assert logs == (tmp_path / "cache" / "embodied-iqa" / "failed-start" if keep_logs else None)
    assert [entry.name for entry in logs.iterdir()] == ["second.log"] if logs else True
    folder = make_run_folder(folder)
    if left:
        (folder / left).touch()
    assert drop_unbegun(folder, [recording], keep_logs=keep_logs) is None
    assert [entry.name for entry in folder.parent.iterdir()] == (["day"] if left else [])


def test_a_folder_in_use_is_refused_with_a_free_name(tmp_path: Path) -> None:
    used = tmp_path / "day"
    used.mkdir()
    (used / "scores.json").touch()
    (tmp_path / "day-2").mkdir()
    with pytest.raises(InputError, match=r"is not empty; expected a new or empty folder, such as .*/day-3$"):
        make_run_folder(used)
