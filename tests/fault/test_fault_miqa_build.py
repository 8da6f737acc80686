"""`miqa build`: killed, on a full disk, with a failing model, and in other processes: the same bytes."""

from __future__ import annotations

import hashlib
import multiprocessing
import os
import signal
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

import miqa_vision
from embodied_iqa.base.jobs.engine import EngineKind
from embodied_iqa.cli.main import main
from embodied_iqa.models.vision.predictions import VisionTask
from embodied_iqa.suites.miqa.database import MiqaDatabase
from fail_points import fail_point, kill_before
from live_process import TRIAL_S, running_program
from miqa_vision import FAULT, MODELS, write_coco
from small_disk import small_disk

TESTS = Path(__file__).resolve().parents[1]
KILLS = 3
DISK_MB = 1
FREE_BYTES = 24_000
"""Less than the files of two references need."""


@dataclass(frozen=True)
class Build:
    """`miqa build` of four images, whose folder comes last, and the result of one undisturbed worker."""

    words: list[str]
    whole: Path


@pytest.fixture(scope="module")
def build(tmp_path_factory: pytest.TempPathFactory) -> Build:
    source = write_coco(tmp_path_factory.mktemp("images"))
    words = ["miqa", "build", *source, "--models", MODELS, "--share", "0.2", "--out"]
    path = tmp_path_factory.mktemp("whole") / "mdb"
    assert main([*words, str(path)]) == 0
    return Build(words, path)


@pytest.fixture(autouse=True)
def _models_in_other_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(TESTS), os.environ.get("PYTHONPATH", "")]))


def files(path: Path) -> list[Path]:
    return [file for file in sorted(path.rglob("*")) if file.is_file() and file.name != ".lock"]


def tree(path: Path) -> dict[str, str]:
    return {
        str(file.relative_to(path)): hashlib.sha256(file.read_bytes()).hexdigest() for file in files(path)
    }


def killed_here(words: list[str], moment: int, path: Path, notes: Path) -> None:
    """Build with one worker in a fork of a process that has loaded what a build takes a second to load."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["miqa_vision", "embodied_iqa.suites.miqa.building.builder", "pandas"])
    notes.mkdir()
    builder = context.Process(target=build_until, args=(words, moment, path, notes / "renames"))
    builder.start()
    builder.join(TRIAL_S)
    assert builder.exitcode == -signal.SIGKILL


def build_until(words: list[str], moment: int, path: Path, counted: Path) -> None:
    """The process that is killed."""
    kill_before(moment, path, counted)
    sys.exit(main(words))


def killed_elsewhere(words: list[str], moment: int, path: Path, notes: Path) -> None:
    """Build by the command, which is killed with its workers."""
    command = [sys.executable, "-m", "embodied_iqa.cli.main", *words]
    with running_program(command, notes / "logs", fail_point(moment, path, notes)) as killed:
        assert killed.wait(TRIAL_S) == -signal.SIGKILL


@pytest.mark.parametrize("workers", ["1", "2"])
def test_killed_at_any_file_it_ends_with_the_same_bytes(workers: str, build: Build, tmp_path: Path) -> None:
    path, wanted = tmp_path / "mdb", tree(build.whole)
    words = [*build.words, str(path), "--workers", workers]
    moments = np.random.default_rng(int(workers)).integers(1, len(wanted) // KILLS, KILLS)
    for kill, moment in enumerate(moments.tolist()):
        begin = killed_here if workers == "1" else killed_elsewhere
        begin(words, moment, path, tmp_path / f"kill{kill}")
    assert tree(path) != wanted, "it was killed after its end"
    assert main(words) == 0
    assert tree(path) == wanted


@pytest.mark.parametrize("engine", list(EngineKind))
def test_workers_change_nothing(engine: EngineKind, build: Build, tmp_path: Path) -> None:
    if engine is EngineKind.RAY:
        pytest.importorskip("ray")
    assert main([*build.words, str(tmp_path / "mdb"), "--workers", "2", "--engine", str(engine)]) == 0
    assert tree(tmp_path / "mdb") == tree(build.whole)


def test_a_full_disk_is_reported_and_the_build_continues_with_room(
    build: Build, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with small_disk(tmp_path / "disk", DISK_MB) as disk:
        free = os.statvfs(disk).f_bavail * os.statvfs(disk).f_frsize
        (disk / "other").write_bytes(bytes(free - FREE_BYTES))
        assert main([*build.words, str(disk / "mdb")]) == 1
        (line,) = capsys.readouterr().err.strip().splitlines()
        assert "No space left on device" in line
        assert not [file for file in files(disk / "mdb") if ".part" in file.name]
        assert not list((disk / "mdb").rglob("manifest.json"))
        (disk / "other").unlink()
        assert main([*build.words, str(disk / "mdb")]) == 0
        assert tree(disk / "mdb") == tree(build.whole)


@pytest.mark.parametrize("case", [("raises", "1"), ("nan", "1"), ("raises", "2")], ids=" by workers ".join)
def test_a_failing_model_is_named_and_what_is_finished_stays(
    case: tuple[str, str],
    build: Build,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    (fault, workers), path = case, tmp_path / "mdb"
    words = [*build.words, str(path), "--workers", workers]
    monkeypatch.setenv(FAULT, fault)
    assert main(words) == 1
    errors = capfd.readouterr().err  # also that of the workers
    line = errors.strip().splitlines()[-1]
    assert "Traceback" not in errors
    assert "image p3" in line
    assert "det-60" in line
    assert {"raises": "no such operator", "nan": "finite"}[fault] in line
    assert not list(path.rglob("manifest.json"))
    values = {file.stem for file in path.glob("miqa_det/values/*")}
    assert "p3" not in values
    assert values == {"p0", "p1", "p2"} or workers == "2"
    monkeypatch.delenv(FAULT)
    assert main(words) == 0
    assert tree(path) == tree(build.whole)


def test_a_model_that_predicts_nothing_is_consistent_and_never_right(
    build: Build, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(FAULT, "nothing")
    monkeypatch.setattr(miqa_vision, "_blue", lambda _: True)
    assert main([*build.words, str(tmp_path / "mdb"), "--vision-task", "det"]) == 0
    rows = MiqaDatabase(tmp_path / "mdb").rows(VisionTask.DETECTION)
    assert {(row.weighted_consistency, row.weighted_accuracy, row.composite) for row in rows} == {(1, 0, 0.5)}
    usual = MiqaDatabase(build.whole).rows(VisionTask.DETECTION)
    assert len({row.composite for row in usual}) > 5
    assert [row.image for row in rows] == [row.image for row in usual]


def test_references_of_a_database_give_the_same_bytes_in_any_number_of_workers(
    tmp_path: Path,
) -> None:
    database = ["--out", str(tmp_path / "db"), "--references", "2", "--size", "160x120", "--views", "top"]
    assert main(["build", *database, "--steps", "references,tasks"]) == 0
    words = ["miqa", "build", "--database", str(tmp_path / "db"), "--models", MODELS, "--share", "0.04"]
    for workers in ("1", "2"):
        assert main([*words, "--out", str(tmp_path / workers), "--workers", workers]) == 0
    assert tree(tmp_path / "1") == tree(tmp_path / "2")
    assert len(MiqaDatabase(tmp_path / "1").rows(VisionTask.DETECTION)) == 20
