"""Merging, querying and showing databases."""

from __future__ import annotations

import json
import re
import shlex
import shutil
from collections.abc import Sequence
from pathlib import Path

import cv2
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from photo_database import VLA, VLM, build_photos, make_photos

from embodied_iqa.base.errors import InputError
from embodied_iqa.base.jobs.folder import JobFolder
from embodied_iqa.cli.main import main
from embodied_iqa.data.database.attributes import QualityLimits, attributes_of, rejection_reason
from embodied_iqa.data.database.building.build_subjects import frames_for
from embodied_iqa.data.database.building.merge import merge_databases
from embodied_iqa.data.database.check import check_database
from embodied_iqa.data.database.joined_runs import joined_execution
from embodied_iqa.data.database.run_rows import COLUMNS
from embodied_iqa.data.database.store import DatabaseStore, open_database
from embodied_iqa.imaging.images.frame import Frame, Intrinsics, View


@pytest.fixture(scope="module")
def halves(tmp_path_factory: pytest.TempPathFactory) -> tuple[DatabaseStore, DatabaseStore]:
    folder = tmp_path_factory.mktemp("halves")
    for name, numbers in (("a", range(3)), ("b", range(2, 5))):
        build_photos(folder / name, make_photos(folder / f"photos-{name}", numbers))
    return open_database(folder / "a"), open_database(folder / "b")


def test_merged_halves_are_whole(tmp_path: Path, halves: tuple[DatabaseStore, DatabaseStore]) -> None:
    record = merge_databases(*halves, tmp_path / "both")
    both = open_database(tmp_path / "both")
    assert record.counts == {
        "references": 5, "tasks": 5, "pairs": 150, "scores": 150, "annotations": 155, "failures": {VLM: 0},
    }  # fmt: skip
    assert check_database(both).errors == ()
    assert record.subjects[0].documents == 5
    direct = build_photos(tmp_path / "direct", make_photos(tmp_path / "photos", range(5)), references=5)
    assert direct.record.counts == record.counts
    for read in (DatabaseStore.pairs, DatabaseStore.scores):
        assert read(both).to_pylist() == read(DatabaseStore(tmp_path / "direct")).to_pylist()
    with pytest.raises(InputError, match="exists"):
        merge_databases(*halves, tmp_path / "both")


def test_a_merge_of_other_subjects_says_how_to_complete_it(
    tmp_path: Path, halves: tuple[DatabaseStore, DatabaseStore], capsys: pytest.CaptureFixture[str]
) -> None:
    other, out = tmp_path / "other", tmp_path / "out"
    build_photos(other, make_photos(tmp_path / "photos", range(5, 6)), references=1, subjects=(VLA,))
    assert main(["db", "merge", str(halves[0].path), str(other), "--out", str(out)]) == 0
    said = capsys.readouterr().err
    assert f"note: in one of them only: {VLA}, {VLM}; " in said
    command = f"embodied-iqa annotate --out {out}"
    assert f"next: {command}" in said
    assert main(["db", "check", str(out)]) == 1
    assert f"this goes on with it: {command}" in capsys.readouterr().out
    assert main(shlex.split(command)[1:]) == 0
    assert main(["db", "check", str(out)]) == 0


def test_merging_takes_the_home_that_either_side_knows(
    tmp_path: Path, halves: tuple[DatabaseStore, DatabaseStore]
) -> None:
    stores = []
    for store, any_view in zip(halves, (True, None), strict=True):
        shutil.copytree(store.path, tmp_path / store.path.name)
        copy = open_database(tmp_path / store.path.name)
        tree = json.loads(copy.record_file.read_text(encoding="utf-8"))
        tree["subjects"][0] |= {"views": ["side"], "any_view": any_view}
        if any_view is None:
            del tree["subjects"][0]["any_view"]
        copy.record_file.write_text(json.dumps(tree), encoding="utf-8")
        stores.append(copy)
    assert merge_databases(stores[1], stores[0], tmp_path / "any").subjects[0].any_view
    assert set(DatabaseStore(tmp_path / "any").scores(["own_view"])["own_view"].to_pylist()) == {True}
    merge_databases(stores[1], stores[1], tmp_path / "side")
    rows = next(DatabaseStore(tmp_path / "side").annotation_parts(VLM)).to_pylist()
    assert {row["own_view"] for row in rows} == {False}, "photographs from above"


def _with_runs(store: DatabaseStore, runs: Sequence[tuple[int, float]], schedule: str = "") -> DatabaseStore:
    """Keep made-up runs, a scene and its score each, in a database."""
    texts = ("subject", "subject_version", "task", "distortion_id", "distortion_name", "gate_mode", "outcome",
             "reason", "reference_outcome", "schedule", "arm")  # fmt: skip
    rows = [
        {name: "x" if name in texts else 0.0 for name in COLUMNS}
        | {"scene_seed": scene, "level": 1, "distortion_seed": 0, "execution_score": score,
           "cognition_score": None, "schedule": schedule}
        for scene, score in runs
    ]  # fmt: skip
    folder = store.path.parent / f"experiment-{store.path.name}"
    folder.mkdir()
    pq.write_table(pa.Table.from_pylist(rows).select(list(COLUMNS)), folder / "runs.parquet")
    assert main(["db", "join-execution", str(store.path), str(folder)]) == 0
    return store


def test_merging_carries_runs_of_both_sides_once(
    tmp_path: Path, halves: tuple[DatabaseStore, DatabaseStore]
) -> None:
    stores = []
    for store, runs in zip(
        halves, ([(1, 10.0), (2, float("nan"))], [(2, float("nan")), (3, 30.0)]), strict=True
    ):
        shutil.copytree(store.path, tmp_path / store.path.name)
        stores.append(_with_runs(open_database(tmp_path / store.path.name), runs))
    record = merge_databases(stores[0], stores[1], tmp_path / "both")
    both = open_database(tmp_path / "both")
    table = joined_execution(both)
    assert table["scene_seed"].to_pylist() == [1, 2, 3]
    assert table["execution_score"].to_pylist()[::2] == [10.0, 30.0]
    assert "execution.parquet" in record.sha256
    report = check_database(both)
    assert (report.errors, report.counts["execution"]) == ((), 3)
    assert main(["db", "sql", str(both.path), "SELECT count(*) FROM execution"]) == 0
    one = merge_databases(stores[0], halves[1], tmp_path / "one")
    assert joined_execution(open_database(tmp_path / "one")).num_rows == 2
    assert one.sha256["execution.parquet"] == stores[0].record().sha256["execution.parquet"]
    assert "execution.parquet" not in merge_databases(*halves, tmp_path / "none").sha256


def test_runs_that_contradict_or_are_damaged_are_refused(
    tmp_path: Path, halves: tuple[DatabaseStore, DatabaseStore]
) -> None:
    stores = []
    for store, score in zip(halves, (10.0, 11.0), strict=True):
        shutil.copytree(store.path, tmp_path / store.path.name)
        stores.append(_with_runs(open_database(tmp_path / store.path.name), [(1, score)]))
    with pytest.raises(InputError, match="different results of the same run"):
        merge_databases(stores[0], stores[1], tmp_path / "both")
    assert not (tmp_path / "both").exists()
    file = stores[0].execution_file
    twice = pq.read_table(file)
    pq.write_table(pa.concat_tables([twice, twice]), file)
    errors = "\n".join(check_database(stores[0]).errors)
    assert "execution.parquet is not the file that was written" in errors
    assert "a run is there more than once" in errors
    file.write_bytes(b"PAR1")
    assert any("cannot be read" in line for line in check_database(stores[0]).errors)
    with JobFolder(stores[1].path, "database build").locked():
        folder = str(tmp_path / "experiment-b")
        assert main(["db", "join-execution", str(stores[1].path), folder]) == 1


def test_sql_reads_every_table(
    halves: tuple[DatabaseStore, DatabaseStore],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    text = (
        "SELECT count(*) AS n, avg(s.score) AS mean FROM scores s JOIN pairs USING (pair_id) "
        "JOIN refs r ON r.reference_id = s.reference_id JOIN tasks t USING (task_id) "
        "JOIN annotations a ON a.pair_id = s.pair_id AND a.subject = s.subject"
    )
    assert main(["db", "sql", str(halves[0].path), text, "--json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)
    values = halves[0].scores(["score"])["score"].to_pylist()
    assert row == {"n": 90, "mean": pytest.approx(np.mean(values))}
    text = "SELECT sum(rank) AS s, 0.5 AS h FROM scores"
    assert main(["db", "sql", str(halves[0].path), text, "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == [{"s": 90, "h": 0.5}]
    monkeypatch.setenv("COLUMNS", "80")
    assert main(["db", "sql", str(halves[0].path), "SELECT * FROM scores LIMIT 2"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 80
    assert [line.split() for line in lines if line.startswith("rank")] == [["rank", "1"], ["rank", "1"]]
    assert main(["db", "sql", str(halves[0].path), "SELECT nothing"]) == 2
    assert "available: refs, tasks, pairs, scores, annotations, opinions" in capsys.readouterr().err


def test_show_draws_reference_and_distorted_image(
    tmp_path: Path, halves: tuple[DatabaseStore, DatabaseStore], capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "sample.png"
    assert main(["db", "show", str(halves[0].path), "--pairs", "2", "--out", str(out), "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)["pairs"]
    assert len(shown) == 2
    assert all(item["subjects"][VLM]["reference"] for item in shown)
    assert cv2.imread(str(out)).shape == (2 * (26 + 360), 960, 3)
    assert all(item["subjects"][VLM]["own_view"] for item in shown)
    assert main(["db", "show", str(halves[0].path)]) == 0
    said = capsys.readouterr().out
    assert VLM in said
    assert "does not count" not in said


def test_show_marks_scores_of_views_that_count_nowhere(
    tmp_path: Path, halves: tuple[DatabaseStore, DatabaseStore], capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(halves[0].path, tmp_path / "db")
    store = DatabaseStore(tmp_path / "db")
    table = pq.read_table(store.scores_file)
    place = table.schema.get_field_index("own_view")
    pq.write_table(table.set_column(place, "own_view", pa.array([False] * len(table))), store.scores_file)
    assert main(["db", "show", str(store.path), "--pairs", "1"]) == 0
    said = capsys.readouterr().out
    assert re.search(r"\d\.\d{3}\*", said)
    assert "\n* not made for this view: does not count\n" in said


def test_check_reports_by_its_exit_code(
    tmp_path: Path, halves: tuple[DatabaseStore, DatabaseStore], capsys: pytest.CaptureFixture[str]
) -> None:
    merge_databases(*halves, tmp_path / "db")
    assert main(["db", "check", str(tmp_path / "db")]) == 0
    (tmp_path / "db" / "scores.parquet").unlink()
    assert main(["db", "check", str(tmp_path / "db"), "--json"]) == 1
    assert "scores.parquet is missing" in json.loads(capsys.readouterr().out.split("\n", 1)[1])["errors"]
    assert main(["db", "check", str(tmp_path)]) == 1


def test_build_command_reports_its_work(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tasks_file = make_photos(tmp_path / "photos", range(2))
    words = ["build", "--from-folder", str(tasks_file.parent), "--tasks", str(tasks_file)]
    words += ["--panel", f"{VLM},{VLA}", "--out", str(tmp_path / "db"), "--store", "seeds"]
    words += ["--cell-cameras", "--json"]
    assert main(words) == 0
    tree = json.loads(capsys.readouterr().out)
    assert tree["counts"]["annotations"] == 124
    assert 0.0 <= tree["steps"]["annotate"]["share_outside_inference"] < 1.0
    assert main([*words[:-1], "--steps", "annotate,nonsense"]) == 2
    assert main(["build", "--out", str(tmp_path / "x"), "--from-folder", str(tasks_file.parent)]) == 2
    assert main(["build", "--out", str(tmp_path / "x"), "--panel", "nobody"]) == 2
    assert not (tmp_path / "x").exists()


def test_attributes_of_known_images() -> None:
    gray = np.full((100, 120, 3), 128, np.uint8)
    flat = attributes_of(gray)
    assert flat.luminance == pytest.approx(128 / 255)
    assert flat.contrast == flat.sharpness == flat.spatial_information == 0.0
    assert flat.chrominance == pytest.approx(0.0, abs=1e-4)
    half = gray.copy()
    half[:, :60] = 0
    half[:, 60:] = 255
    assert attributes_of(half).contrast == pytest.approx(0.5)
    coloured = np.zeros((100, 120, 3), np.uint8)
    coloured[..., 0] = 200
    assert attributes_of(coloured).chrominance == pytest.approx(0.3 * np.hypot(200, 100), rel=1e-4)
    noisy = np.random.default_rng(0).integers(0, 256, (100, 120, 3), np.uint8)
    blurred = cv2.GaussianBlur(noisy, (0, 0), 2.0)
    assert attributes_of(blurred).sharpness < attributes_of(noisy).sharpness


@pytest.mark.parametrize(
    ("kind", "image"),
    [
        ("too small", np.full((90, 200, 3), 128, np.uint8)),
        ("too dark", np.zeros((100, 120, 3), np.uint8)),
        ("too bright", np.full((100, 120, 3), 255, np.uint8)),
        ("too flat", np.full((100, 120, 3), 128, np.uint8)),
        ("blurred", np.tile(np.linspace(60, 190, 120, dtype=np.uint8)[None, :, None], (100, 1, 3))),
    ],
)
def test_reasons_to_reject(kind: str, image: np.ndarray) -> None:
    reason = rejection_reason(image, attributes_of(image))
    assert reason is not None
    assert reason.startswith(f"{kind}: ")
    limits = QualityLimits(1, (0.0, 1.0), 0.0, 0.0)
    assert rejection_reason(image, attributes_of(image), limits) is None


def test_every_subject_is_shown_the_image() -> None:
    frames = {
        view: Frame(view, 0, np.full((2, 2, 3), index, np.uint8), Intrinsics(2, 2, 1, 1, 1, 1), np.eye(4))
        for index, view in enumerate((View.WRIST, View.TOP))
    }
    shown = frames_for((View.TOP,), View.WRIST, frames)
    assert {view: frame.rgb[0, 0, 0] for view, frame in shown.items()} == {View.TOP: 0}
    shown = frames_for((View.TOP, View.WRIST), View.WRIST, frames)
    assert {view: frame.rgb[0, 0, 0] for view, frame in shown.items()} == {View.TOP: 1, View.WRIST: 0}
    shown = frames_for((View.WRIST, View.SIDE), View.WRIST, frames)
    assert {view: frame.rgb[0, 0, 0] for view, frame in shown.items()} == {View.WRIST: 0, View.SIDE: 0}
    assert all(view == frame.view for view, frame in shown.items())


def test_runs_whose_level_changes_over_time_are_not_joined(
    tmp_path: Path, halves: tuple[DatabaseStore, DatabaseStore], capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(halves[0].path, tmp_path / halves[0].path.name)
    store = open_database(tmp_path / halves[0].path.name)
    with pytest.raises(AssertionError):  # the command fails
        _with_runs(store, [(1, 10.0)], "burst:start=1.0,length=1.0,every=0.0")
    assert "level changes over time; expected runs of constant levels" in capsys.readouterr().err
    assert joined_execution(store) is None
