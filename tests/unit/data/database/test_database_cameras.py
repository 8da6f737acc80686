"""Cameras of photographs are not known unless declared; wrong numbers that are stored are found."""

from __future__ import annotations

import json
import math
import re
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from photo_database import VLM, build_photos, make_photos

from embodied_iqa.base.errors import InputError
from embodied_iqa.base.tables import rows_of, table_of, write_table
from embodied_iqa.cli.build.summary import next_report
from embodied_iqa.cli.main import main
from embodied_iqa.data.database.check import check_database
from embodied_iqa.data.database.database_images import reference_frame
from embodied_iqa.data.database.schema import REFERENCES, SCORES, Camera, Reference, Score
from embodied_iqa.data.database.sources.photographs import FolderSource
from embodied_iqa.data.database.store import DatabaseStore
from embodied_iqa.imaging.images.codecs import write_image
from embodied_iqa.imaging.images.frame import View
from embodied_iqa.pages.reports.database.database_report import page_of
from embodied_iqa.world.scenes.viewpoints import viewpoint_of


@pytest.fixture(scope="module")
def tasks_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_photos(tmp_path_factory.mktemp("photos") / "set", range(2))


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory, tasks_file: Path) -> DatabaseStore:
    path = tmp_path_factory.mktemp("whole") / "db"
    build_photos(path, tasks_file, references=2)
    return DatabaseStore(path)


def test_camera_of_a_photograph_is_not_known_unless_it_is_declared(tasks_file: Path) -> None:
    unknown = FolderSource(tasks_file.parent, tasks_file)
    declared = FolderSource(tasks_file.parent, tasks_file, cell_cameras=True)
    frame = unknown.read(0).frames[View.TOP]
    assert (frame.intrinsics, frame.T_base_camera) == (None, None)
    frame = declared.read(0).frames[View.TOP]
    assert frame.intrinsics is not None
    np.testing.assert_array_equal(frame.T_base_camera, viewpoint_of(View.TOP).T_base_camera)
    assert unknown.description != declared.description, "one database does not mix them"


def test_photographs_in_folders_of_a_folder_are_read_and_have_tasks_of_their_own(tmp_path: Path) -> None:
    for name in ("a.png", "top/a.png"):
        write_image(tmp_path / name, np.full((32, 32, 3), len(name), np.uint8))
    source = FolderSource(tmp_path, None, task="open the drawer")
    found = [source.read(index) for index in range(2)]
    assert [one.origin.split()[0] for one in found] == ["a.png", "top/a.png"]
    assert len({one.tasks[0].id for one in found}) == 2


def test_subject_that_needs_the_camera_says_so_and_the_build_goes_on(
    tmp_path: Path, tasks_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["--from-folder", str(tasks_file.parent), "--tasks", str(tasks_file), "--panel", VLM]
    assert main(["build", "--out", str(tmp_path / "db"), *words]) == 0
    store = DatabaseStore(tmp_path / "db")
    for reference in rows_of(Reference, store.references()):
        assert {camera.T_base_camera for camera in reference.cameras} == {None}
        assert {camera.pinhole_px for camera in reference.cameras} == {None}
    errors = [row for part in store.annotation_parts(VLM) for row in part["error"].to_pylist()]
    assert "the intrinsics of the top camera are not known" in errors[0]
    assert store.scores(["score"])["score"].null_count == len(store.scores(["score"]))
    count = len(errors)
    line = f"{VLM}: all {count} answers missing; reason: {errors[0]}"
    said = capsys.readouterr().out
    assert said.count("intrinsics of the top camera") == said.count(line) == 1
    assert said.count("1 subject without answers") == 2, "of the steps annotate and score"
    assert "has no scale" not in said
    assert main(["db", "health", str(store.path)]) == 0
    assert capsys.readouterr().out == f"cognition: no pair has a score\n  {line}\n"
    remarks = page_of(store, tmp_path / "report.html").remarks
    assert [remark for remark in remarks if VLM in remark] == [line]
    assert main(["db", "check", str(store.path), "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert [remark for remark in report["remarks"] if VLM in remark] == [line]
    assert any("2 references with a camera" in remark for remark in report["remarks"])
    assert main(["build", "--out", str(tmp_path / "db"), *words, "--cell-cameras"]) != 0


def test_all_photographs_may_share_one_task(
    tmp_path: Path, tasks_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    photos, out = ["--from-folder", str(tasks_file.parent)], ["--out", str(tmp_path / "db")]
    steps = ["--steps", "references,tasks", *out]
    assert main(["build", *photos, "--task", "open the drawer", *steps]) == 0
    tasks = DatabaseStore(tmp_path / "db").tasks(["text", "rank"]).to_pylist()
    assert tasks == [{"text": "open the drawer", "rank": 1}] * 2
    said = capsys.readouterr()
    assert "not finished: the same command without --steps goes on" in said.out
    assert "next:" not in said.err
    both = ["--task", "open the drawer", "--tasks", str(tasks_file)]
    for words in ([], both, ["--task", "open the drawer", "--every", "2"]):
        assert main(["build", *photos, *words, *steps]) == 2
        assert capsys.readouterr().err.count("\n") == 1


def test_the_next_command_reports_what_no_subject_is_made_for(
    tmp_path: Path, whole: DatabaseStore, capsys: pytest.CaptureFixture[str]
) -> None:
    store = DatabaseStore(tmp_path / "db")
    shutil.copytree(whole.path, store.path)
    next_report(store)
    assert capsys.readouterr().err == f"next: embodied-iqa report {store.path}\n"
    rows = [replace(row, own_view=False) for row in rows_of(Score, store.scores())]
    write_table(store.scores_file, table_of(Score, rows), SCORES, "x")
    next_report(store)
    assert capsys.readouterr().err == f"next: embodied-iqa report {store.path} --all-views\n"
    assert main(["report", str(store.path), "--all-views"]) == 0


def test_cells_cameras_are_of_photographs_only(tmp_path: Path) -> None:
    assert main(["build", "--out", str(tmp_path / "db"), "--cell-cameras"]) == 2


@pytest.mark.parametrize("option", [("--size", "64x48"), ("--camera-model", "ideal")])
@pytest.mark.parametrize("source", [("--from-folder", "x"), ("--from-bag", "x"), ("--world", "libero_goal")])
def test_options_of_simulated_images_are_refused_for_others(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], option: tuple[str, str], source: tuple[str, str]
) -> None:
    assert main(["build", "--out", str(tmp_path / "db"), *source, *option]) == 2
    assert f"{option[0]} is of simulated images" in capsys.readouterr().err


def _nan_pose(camera: Camera) -> Camera:
    return replace(camera, T_base_camera=(math.nan,) * 16)


def _sheared(camera: Camera) -> Camera:
    numbers = np.eye(4)
    numbers[0, 1] = 0.1
    return replace(camera, T_base_camera=tuple(numbers.ravel().tolist()))


def _short(camera: Camera) -> Camera:
    return replace(camera, T_base_camera=(1.0, 2.0))


def _zeros(camera: Camera) -> Camera:
    return replace(camera, fx_px=0.0, fy_px=0.0, cx_px=0.0, cy_px=0.0)


def _half(camera: Camera) -> Camera:
    return replace(camera, cy_px=None)


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (_nan_pose, "the pose of the top camera is not finite"),
        (_sheared, "the pose of the top camera is not a rigid motion"),
        (_short, "the pose of the top camera is of 2 numbers instead of 16"),
        (_zeros, r"the pinhole model of the top camera is \[0\.0, 0\.0, 0\.0, 0\.0\] px"),
        (_half, "the pinhole model of the top camera is incomplete"),
    ],
)
def test_stored_numbers_that_are_no_camera_are_found_and_not_used(
    whole: DatabaseStore, tmp_path: Path, damage: Callable[[Camera], Camera], words: str
) -> None:

    shutil.copytree(whole.path, tmp_path / "db")
    store = DatabaseStore(tmp_path / "db")
    first, second = rows_of(Reference, store.references())
    second = replace(second, cameras=tuple(map(damage, second.cameras)))
    write_table(store.references_file, table_of(Reference, [first, second]), REFERENCES, "x")
    errors = [error for error in check_database(store).errors if "references.parquet" not in error]
    assert len(errors) == 1
    assert re.search(f"reference {second.reference_id}: {words}", errors[0]), errors
    with pytest.raises(InputError, match=words):
        reference_frame(store.path, second)
    assert reference_frame(store.path, first).T_base_camera is not None


def test_pose_of_the_tool_is_checked_too(whole: DatabaseStore, tmp_path: Path) -> None:

    shutil.copytree(whole.path, tmp_path / "db")
    store = DatabaseStore(tmp_path / "db")
    first, second = rows_of(Reference, store.references())
    first = replace(first, T_base_tool=(math.nan, *first.T_base_tool[1:]))
    write_table(store.references_file, table_of(Reference, [first, second]), REFERENCES, "x")
    errors = check_database(store).errors
    assert f"reference {first.reference_id}: the pose of the tool is not finite" in errors
