"""Builds of a small database: complete, the same for any workers, growing, and sound after faults."""

from __future__ import annotations

import argparse
import dataclasses
import errno
import multiprocessing
import random
import signal
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from photo_database import VLA, VLM, build_and_leave, build_photos, make_photos

from embodied_iqa.base import files
from embodied_iqa.base.errors import InputError, UsageError
from embodied_iqa.base.jobs.engine import EngineKind, EngineOptions
from embodied_iqa.base.jobs.folder import JobFolder
from embodied_iqa.base.records import structure, unstructure
from embodied_iqa.base.tables import write_table
from embodied_iqa.cli import annotate as annotate_command
from embodied_iqa.cli import build as build_command
from embodied_iqa.cli.build import building as building_command
from embodied_iqa.cli.main import main
from embodied_iqa.data.analysis.loading import load_grid
from embodied_iqa.data.database.building import build_subjects
from embodied_iqa.data.database.building import builder as builder_module
from embodied_iqa.data.database.building.build_options import BuildOptions, BuildPlan, ImageStorage, Step
from embodied_iqa.data.database.building.builder import build
from embodied_iqa.data.database.building.step_annotate import Block
from embodied_iqa.data.database.building.step_distort import specs_of
from embodied_iqa.data.database.building.step_score import _scorer, _scores
from embodied_iqa.data.database.check import check_database
from embodied_iqa.data.database.record import DatabaseRecord, RecordedSubject
from embodied_iqa.data.database.schema import TASKS, Annotation
from embodied_iqa.data.database.sources.simulated import SimulationSource
from embodied_iqa.data.database.store import DatabaseStore
from embodied_iqa.imaging.distortions import LEVELS
from embodied_iqa.imaging.images.frame import Frame, View
from embodied_iqa.models.scoring.cognition import score_cognition
from embodied_iqa.models.scoring.constants import SubjectConstants, load_constants
from embodied_iqa.models.subjects.backends.classical import vlm
from embodied_iqa.models.subjects.backends.classical.vlm import ClassicalVlm
from embodied_iqa.models.subjects.catalogue import Role
from embodied_iqa.models.subjects.reference import parse_reference
from embodied_iqa.world.protocols import ChunkStatus, SubjectInfo
from embodied_iqa.world.simulation.camera import CameraModel
from embodied_iqa.world.simulation.camera.simulated_cameras import delivered

BLOCK_RENAMES = 140
"""More than a build finishes for its first block, fewer than for both."""
NEVER = 10**6


@pytest.fixture(scope="module")
def tasks_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_photos(tmp_path_factory.mktemp("photos") / "set", range(6))


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory, tasks_file: Path) -> DatabaseStore:
    """An undisturbed database of five references, two blocks."""
    path = tmp_path_factory.mktemp("whole") / "db"
    build_photos(path, tasks_file, references=5)
    return DatabaseStore(path)


def test_everything_is_there_once(whole: DatabaseStore) -> None:
    record = whole.record()
    assert record.counts == {
        "references": 5, "tasks": 5, "pairs": 150, "scores": 150, "annotations": 155, "failures": {VLM: 0},
    }  # fmt: skip
    report = check_database(whole)
    assert report.errors == report.remarks == ()
    pairs = whole.pairs().to_pylist()
    by_reference = {row["reference_id"] for row in pairs}
    for name in by_reference:
        assert {row["distortion_id"] for row in pairs if row["reference_id"] == name} == {
            f"{number:02d}" for number in range(1, 31)
        }
    assert {row["level"] for row in pairs} == {1, 2, 3, 4, 5}


def test_scores_are_those_of_the_scoring_functions(whole: DatabaseStore) -> None:
    rows = [row for part in whole.annotation_parts(VLM) for row in part.to_pylist()]
    first = {row["reference_id"]: row["answer"] for row in rows if row["pair_id"] is None}
    second = {row["pair_id"]: row["answer"] for row in rows if row["pair_id"] is not None}
    frequencies = load_constants(whole.constants_file(VLM)).frequencies
    assert frequencies is not None
    assert frequencies.n_documents == len(first) == 5
    scores = whole.scores().to_pylist()
    for row in scores:
        expected = score_cognition(second[row["pair_id"]], first[row["reference_id"]], frequencies)
        assert row["score"] == expected.score
        assert row["semantics"] == expected.cider / 10
    assert len({row["score"] for row in scores}) > 3


def test_workers_change_nothing(tmp_path: Path, tasks_file: Path, whole: DatabaseStore) -> None:
    build_photos(tmp_path / "db", tasks_file, references=5, workers=2)
    assert DatabaseStore(tmp_path / "db").record() == whole.record()


def test_ray_changes_nothing(tmp_path: Path, tasks_file: Path, whole: DatabaseStore) -> None:
    pytest.importorskip("ray")
    engine = EngineOptions(EngineKind.RAY, 2)
    build_photos(tmp_path / "db", tasks_file, references=5, engine=engine)
    assert DatabaseStore(tmp_path / "db").record() == whole.record()


def test_second_build_does_nothing(tasks_file: Path, whole: DatabaseStore) -> None:
    before = _states(whole.path)
    summary = build_photos(whole.path, tasks_file, references=5)
    assert {step: item.rows for step, item in summary.steps.items()} == dict.fromkeys(Step, 0)
    after = _states(whole.path)
    rewritten = {"dataset.json", ".lock", f"constants/{VLM}.json"}
    assert {name for name in after if before.get(name) != after[name]} <= rewritten


def _states(folder: Path) -> dict[str, int]:
    return {
        str(path.relative_to(folder)): path.stat().st_mtime_ns for path in folder.rglob("*") if path.is_file()
    }


def test_kills_lose_nothing_and_double_nothing(
    tmp_path: Path, tasks_file: Path, whole: DatabaseStore
) -> None:
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["photo_database", "sacrebleu", vlm.__name__, "onnxruntime", "pandas"])
    codes = []
    for kill_at in [*random.Random(3).sample(range(1, BLOCK_RENAMES), 6), NEVER]:
        counted = str(tmp_path / f"renames{len(codes)}")
        arguments = (str(tmp_path / "db"), str(tasks_file), 5, kill_at, counted)
        builder = context.Process(target=build_and_leave, args=arguments)
        builder.start()
        builder.join()
        codes.append(builder.exitcode)
    assert codes[-1] == 0
    assert codes.count(-signal.SIGKILL) > 3, "the build was over before it could be disturbed"
    store = DatabaseStore(tmp_path / "db")
    assert store.record() == whole.record()
    assert check_database(store).errors == ()


def _refuse(*_arguments: object) -> None:
    raise InputError("no answer")


def test_growing_and_a_new_subject_compute_only_what_is_missing(
    tmp_path: Path, tasks_file: Path, whole: DatabaseStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    build_photos(tmp_path / "db", tasks_file, references=4)
    first = DatabaseStore(tmp_path / "db").annotation_part(VLM, 0)
    state = first.stat().st_mtime_ns
    build_photos(tmp_path / "db", tasks_file, references=5)
    assert DatabaseStore(tmp_path / "db").record() == whole.record()
    assert first.stat().st_mtime_ns == state

    def never(*_arguments: object) -> str:
        pytest.fail("was asked again")

    monkeypatch.setattr(ClassicalVlm, "answer", never)
    store, record = DatabaseStore(tmp_path / "db"), whole.record()
    store.write_record(
        dataclasses.replace(record, subjects=(dataclasses.replace(record.subjects[0], version="1"),))
    )
    with pytest.raises(InputError, match=r"answered in .*db as another version; expected 1, .*; got '2'"):
        build_photos(tmp_path / "db", tasks_file, references=5, chosen=False)
    store.write_record(record)
    with monkeypatch.context() as down:
        down.setattr(builder_module, "load_member", _refuse)
        with pytest.raises(InputError, match=r"a subject of .*db, cannot be queried: no answer; .*--panel"):
            build_photos(tmp_path / "db", tasks_file, references=5, chosen=False)
    summary = build_photos(tmp_path / "db", tasks_file, references=5, subjects=(VLM, VLA))
    assert summary.steps[Step.ANNOTATE].rows == 155
    assert summary.record.counts["annotations"] == 310


def test_seeds_give_the_images_that_are_not_kept(
    tmp_path: Path, tasks_file: Path, whole: DatabaseStore
) -> None:
    build_photos(tmp_path / "db", tasks_file, references=5, store=ImageStorage.SEEDS)
    store = DatabaseStore(tmp_path / "db")
    assert not (store.images / "distorted").exists()
    assert store.scores().equals(whole.scores())
    assert store.pairs(["sha256"]).equals(whole.pairs(["sha256"]))
    assert check_database(store).errors == ()


def test_another_plan_or_folder_is_refused(tmp_path: Path, tasks_file: Path, whole: DatabaseStore) -> None:
    with pytest.raises(UsageError, match="another plan: store is 'images' there, 'seeds' asked"):
        build_photos(whole.path, tasks_file, references=5, store=ImageStorage.SEEDS)
    (tmp_path / "mine.txt").write_text("x", encoding="utf-8")
    with pytest.raises(InputError, match="holds no database build"):
        build_photos(tmp_path, tasks_file)
    with pytest.raises(UsageError, match="needs references first"):
        build_photos(tmp_path / "new", tasks_file, steps=(Step.DISTORT,))


def test_the_record_of_a_build_without_a_reference_binds_nobody(
    tmp_path: Path, tasks_file: Path, whole: DatabaseStore
) -> None:
    """A build writes it before it reads its first photograph."""
    record = DatabaseStore(tmp_path / "db")
    record.write_record(whole.record())
    options = {"references": 5, "store": ImageStorage.SEEDS, "steps": (Step.REFERENCES,)}
    build_photos(record.path, tasks_file, **options)
    assert record.record().plan["store"] == "seeds"
    with pytest.raises(UsageError, match="another plan"):
        build_photos(record.path, tasks_file, **{**options, "store": ImageStorage.IMAGES})


def test_second_builder_is_refused(tmp_path: Path, tasks_file: Path) -> None:
    with (
        JobFolder(tmp_path / "db", "merge of databases").locked(),
        pytest.raises(InputError, match="another merge of databases works"),
    ):
        build_photos(tmp_path / "db", tasks_file)


def test_steps_one_by_one_give_the_same(tmp_path: Path, tasks_file: Path, whole: DatabaseStore) -> None:
    for step in Step:
        build_photos(tmp_path / "db", tasks_file, references=5, steps=(step,))
    assert DatabaseStore(tmp_path / "db").record() == whole.record()


def test_bad_photographs_are_skipped_by_name(tmp_path: Path) -> None:
    tasks_file = make_photos(tmp_path / "photos", range(6))
    (tasks_file.parent / "p1.png").write_bytes(b"\x89PNG broken")
    (tasks_file.parent / "p3.png").write_bytes((tasks_file.parent / "p0.png").read_bytes())
    files.write_whole(tasks_file.parent / "unlisted.png", lambda file: file.write_bytes(
        (tasks_file.parent / "p4.png").read_bytes()
    ))  # fmt: skip
    summary = build_photos(tmp_path / "db", tasks_file, references=4, steps=(Step.REFERENCES,))
    assert summary.record.skipped == {"no tasks": 1, "twin": 1, "unusable": 1}
    assert summary.steps[Step.REFERENCES].rows == 4, "not the twin"
    skipped = (tmp_path / "db" / "skipped.csv").read_text(encoding="utf-8")
    assert "\np1.png,unusable: " in skipped
    assert "\nunlisted.png,no tasks: " in skipped
    with pytest.raises(InputError, match=r"too few references.*1 no tasks, 1 twin, 1 unusable"):
        build_photos(tmp_path / "db", tasks_file, references=5)
    photos = ["--from-folder", str(tasks_file.parent), "--tasks", str(tasks_file)]
    assert main(["build", *photos, "--steps", "references,tasks", "--out", str(tmp_path / "all")]) == 0
    every = DatabaseStore(tmp_path / "all")
    assert len(every.references()) == 4, "without a number, all that can be used"
    assert every.record().skipped == summary.record.skipped


def _labelled(tasks_file: Path, background: str) -> Path:
    head, columns, *lines = tasks_file.read_text(encoding="utf-8").splitlines()
    lines = [line + (f",cube,{background},false" if line.startswith("p0") else ",,,") for line in lines]
    text = "\n".join([head, f"{columns},main_kind,background,real", *lines])
    tasks_file.write_text(text + "\n", encoding="utf-8")
    return tasks_file


def test_labels_of_photographs_arrive_and_may_be_corrected(
    tmp_path: Path, whole: DatabaseStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    tasks_file = make_photos(tmp_path / "set", range(6))
    plain = tasks_file.read_text(encoding="utf-8")
    build_photos(tmp_path / "db", _labelled(tasks_file, "Wood"), references=5)
    store = DatabaseStore(tmp_path / "db")
    names = ["main_object", "main_kind", "background", "real"]
    rows = store.references(["origin", *names]).to_pylist()
    labels = {row["origin"].split(".")[0]: [row[name] for name in names] for row in rows}
    assert labels.pop("p0") == [None, "cube", "wood", False]
    assert list(labels.values()) == [[None, None, None, True]] * 4
    pairs = load_grid(store).pairs
    own = pairs.labels["background"] == "wood"
    assert own.sum() == 30
    assert set(pairs.labels["origin"][own].tolist()) == {"simulation"}
    with monkeypatch.context() as patch:
        patch.setattr(ClassicalVlm, "answer", lambda *_: pytest.fail("was asked again"))
        tasks_file.write_text(plain, encoding="utf-8")
        build_photos(tmp_path / "db", _labelled(tasks_file, "cloth"), references=5)
    assert store.references(["background"])["background"].to_pylist().count("cloth") == 1
    assert store.scores().equals(whole.scores())
    tasks_file.write_text(plain.replace("pick the", "take the"), encoding="utf-8")
    summary = build_photos(tmp_path / "db", tasks_file, references=5)
    assert summary.steps[Step.ANNOTATE].rows == 155
    assert summary.steps[Step.DISTORT].rows == 0
    assert check_database(store).errors == ()


class _Moody(ClassicalVlm):
    """Fails on every third question."""

    asked = 0

    def answer(self, frame: Frame, task: str) -> str:
        type(self).asked += 1
        if self.asked % 3 == 0:
            raise RuntimeError("out of tokens")
        return super().answer(frame, task)


def _with_subject(monkeypatch: pytest.MonkeyPatch, subject: object) -> None:
    build_subjects.load_member.cache_clear()
    monkeypatch.setattr(build_subjects, "make_vlm", lambda *_: subject)


@pytest.fixture
def fresh_members() -> object:
    yield
    build_subjects.load_member.cache_clear()


@pytest.mark.usefixtures("fresh_members")
def test_failures_are_counted_named_and_asked_again(
    tmp_path: Path, tasks_file: Path, whole: DatabaseStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        _with_subject(patch, _Moody())
        summary = build_photos(tmp_path / "db", tasks_file, references=5)
    failures = summary.steps[Step.ANNOTATE].failures[VLM]
    store = DatabaseStore(tmp_path / "db")
    rows = [row for part in store.annotation_parts(VLM) for row in part.to_pylist()]
    errors = [row["error"] for row in rows if row["error"] is not None]
    assert len(errors) == failures == summary.record.counts["failures"][VLM] > 40
    assert set(errors) == {"RuntimeError: out of tokens", "no answer on the reference"}
    scores = store.scores(["score"])["score"]
    assert scores.null_count == sum(row["error"] is not None for row in rows if row["pair_id"] is not None)
    report = check_database(store)
    assert report.errors == ()
    assert f"{VLM} failed {failures} times" in report.remarks
    build_subjects.load_member.cache_clear()
    build_photos(tmp_path / "db", tasks_file, references=5, retry=True)
    assert store.record() == whole.record()


@pytest.mark.usefixtures("fresh_members")
def test_a_subject_that_fails_on_everything_stops_the_build(
    tmp_path: Path, tasks_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Gone(ClassicalVlm):
        def answer(self, frame: Frame, task: str) -> str:
            raise ConnectionError("server is gone")

    _with_subject(monkeypatch, Gone())
    with pytest.raises(InputError, match=f"{VLM} failed on all of block 0: ConnectionError: server is gone"):
        build_photos(tmp_path / "db", tasks_file)
    assert not DatabaseStore(tmp_path / "db").annotation_files(VLM)


@pytest.mark.usefixtures("fresh_members")
def test_all_tasks_of_an_image_show_the_subject_one_frame(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So a subject that keeps what it saw in a frame looks at each image once."""
    asked: list[Frame] = []

    class Side(ClassicalVlm):
        info = dataclasses.replace(ClassicalVlm().info, views=(View.SIDE,))

        def answer(self, frame: Frame, task: str) -> str:
            asked.append(frame)
            return task

    _with_subject(monkeypatch, Side())
    build_photos(tmp_path / "db", make_photos(tmp_path / "set", range(1), tasks=3), references=1)
    assert [frame.view for frame in asked] == [View.SIDE] * 93
    assert all(asked[at] is asked[at + 1] is asked[at + 2] for at in range(0, 93, 3))
    assert len({id(frame) for frame in asked}) == 31


@pytest.mark.usefixtures("fresh_members")
def test_one_bad_question_of_a_batch_spoils_only_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    class Batched(ClassicalVlm):
        def answer_batch(self, questions: Sequence[tuple[Frame, str]]) -> list[str]:
            if any(task == "bad" for _, task in questions):
                raise ValueError("bad task")
            return [task.upper() for _, task in questions]

    _with_subject(monkeypatch, Batched())
    member = build_subjects.load_member(parse_reference(VLM), None, None)  # type: ignore[arg-type]
    frame = None
    answers = member.answers([(frame, "a"), (frame, "bad"), (frame, "b")])  # type: ignore[list-item]
    assert answers == ["A", build_subjects.Failure("ValueError: bad task"), "B"]
    assert (member.cost.queries, member.cost.failures) == (3, 1)


@pytest.mark.usefixtures("fresh_members")
@pytest.mark.parametrize(
    ("home", "own"), [({"views": (View.TOP,)}, True), ({"views": (View.WRIST,)}, False),
                      ({"views": (View.WRIST,), "any_view": True}, True)],
)  # fmt: skip
def test_own_view_is_the_subjects_home(
    tmp_path: Path, tasks_file: Path, monkeypatch: pytest.MonkeyPatch, home: dict[str, Any], own: bool
) -> None:
    class Elsewhere(ClassicalVlm):
        info = dataclasses.replace(ClassicalVlm().info, **home)

    _with_subject(monkeypatch, Elsewhere())
    build_photos(tmp_path / "db", tasks_file, references=1)
    store = DatabaseStore(tmp_path / "db")
    rows = next(store.annotation_parts(VLM)).to_pylist()
    assert (
        {row["own_view"] for row in rows} == set(store.scores(["own_view"])["own_view"].to_pylist()) == {own}
    )
    assert store.record().subjects[0].info == Elsewhere.info


def test_subjects_of_older_databases_read_back() -> None:
    info = SubjectInfo("a", "1", "for tests", (View.TOP,))
    subject = RecordedSubject.of("a", Role.VLM, info)
    tree = unstructure(subject)
    older = structure(RecordedSubject, {name: tree[name] for name in tree if name != "any_view"}, "older")
    assert older == structure(RecordedSubject, tree, "now") == subject
    assert older.info == info
    general = RecordedSubject.of("a", Role.VLM, dataclasses.replace(info, any_view=True))
    assert structure(RecordedSubject, unstructure(general), "any view") == general
    block = Block(0, (), (), ())
    assert block.digest(older) == block.digest(subject) != block.digest(general)


@pytest.mark.parametrize("status", ChunkStatus)
@pytest.mark.parametrize("first_status", ChunkStatus)
def test_refusals_are_kept_apart_from_wrong_motions(status: ChunkStatus, first_status: ChunkStatus) -> None:
    scale = SubjectConstants("a", "1", "", 2, d_max_m=0.1)

    def answer(status: ChunkStatus, pair: str | None, up_m: float) -> Annotation:
        rows = (0.0, 0.0, up_m, 0.0, 0.0, 0.0, 1.0) if status is ChunkStatus.ACT else ()
        return Annotation(
            subject="a", subject_version="1", role=Role.VLA, reference_id="r", pair_id=pair, task_id="t",
            rank=1, distortion_id="01", level=1, own_view=True, answer=None, status=status,
            increments=rows, reason="", seen=None, error=None,
        )  # fmt: skip

    rows = answer(status, "p", 0.1), answer(first_status, None, 0.0)
    shown = {"r": (View.TOP, 0.0)}
    (score,) = _scores(rows, shown, _scorer(scale))
    assert score.refused == (status is ChunkStatus.NO_TARGET and first_status is not ChunkStatus.NO_TARGET)
    vlm = [dataclasses.replace(row, role=Role.VLM, error="failed") for row in rows]
    (score,) = _scores(vlm, shown, _scorer(scale))
    assert score.refused is None


@pytest.mark.parametrize("writes", [1, 4, 9, 13])
def test_full_disk_stops_and_goes_on(
    tmp_path: Path,
    tasks_file: Path,
    whole: DatabaseStore,
    monkeypatch: pytest.MonkeyPatch,
    writes: int,
) -> None:
    left = iter(range(writes))

    def sync(_handle: int) -> None:
        if next(left, None) is None:
            raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(files.os, "fsync", sync)
        with pytest.raises(InputError, match="No space left on device"):
            build_photos(tmp_path / "db", tasks_file, references=5)
    assert not list((tmp_path / "db").rglob("*.part"))
    build_photos(tmp_path / "db", tasks_file, references=5)
    assert DatabaseStore(tmp_path / "db").record() == whole.record()


def test_damage_is_named(tmp_path: Path, tasks_file: Path) -> None:
    build_photos(tmp_path / "db", tasks_file)
    store = DatabaseStore(tmp_path / "db")
    image = store.path / store.references().to_pylist()[0]["image"]
    other = store.path / store.references().to_pylist()[1]["image"]
    image.write_bytes(other.read_bytes())
    write_table(store.tasks_file, store.tasks(), TASKS, "changed")
    part = store.annotation_part(VLM, 0)
    part.unlink()
    report = check_database(store)
    assert report.result == "damaged"
    errors = "\n".join((*report.errors, *report.unfinished))
    for name in (image.name, "tasks.parquet", str(part.relative_to(store.path)), "lacks 93 of 93 answers"):
        assert name in errors
    with pytest.raises(InputError, match=image.name):
        build_photos(store.path, tasks_file)


def test_levels_and_seeds_depend_on_the_reference_only() -> None:
    one, same, other = (specs_of(5, name) for name in ("a", "a", "b"))
    assert one == same != other
    assert len({spec.seed for spec in one}) == 30
    assert [(spec.id, spec.level, spec.seed) for spec in one[:3]] == [  # in this process and in any other
        ("01", 4, 5093708581847131533),
        ("02", 3, 2633506309579097743),
        ("03", 3, 3024588914828177699),
    ]
    assert sum(spec.seed for spec in one) == 132314495828098562544
    every = specs_of(5, "a", LEVELS)
    assert len(every) == 150
    assert set(one) <= set(every)
    some = specs_of(5, "a", (2, 4))
    assert some == tuple(spec for spec in every if spec.level in {2, 4})


@pytest.mark.parametrize(
    ("words", "levels", "kept"),
    [
        ([], (), "one at random"),
        (["--levels", "random"], (), "one at random"),
        (["--levels", "one"], (), "one at random"),
        (["--levels", "all"], LEVELS, "all"),
        (["--levels", "5,1-2"], (1, 2, 5), "1,2,5"),
    ],
)
def test_levels_of_a_build_are_written_as_everywhere(
    words: list[str], levels: tuple[int, ...], kept: str, capsys: pytest.CaptureFixture[str]
) -> None:
    parser = argparse.ArgumentParser()
    build_command.configure(parser)
    plan = building_command._plan(parser.parse_args(["--out", "db", *words]))
    assert (plan.levels, plan.tree()["levels"]) == (levels, kept)
    note = "embodied-iqa: --levels one is called --levels random; 0.2 no longer knows it\n"
    assert capsys.readouterr().err == (note if "one" in words else "")


def test_without_a_panel_the_subjects_of_the_database_are_asked(
    tmp_path: Path, whole: DatabaseStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    parser = argparse.ArgumentParser()
    annotate_command.configure(parser)

    def asked(out: Path, *words: str) -> list[str]:
        arguments = parser.parse_args(["--out", str(out), *words])
        return [one.text for one in building_command._options(arguments).subjects]

    own = [subject.name for subject in whole.record().subjects]
    assert asked(whole.path) == own
    embedded = asked(tmp_path / "new")
    assert len(embedded) > len(own) > 0
    assert asked(whole.path, "--panel", "embedded") == embedded
    assert asked(tmp_path / "new", "--panel", "embedded") == embedded
    missing = DatabaseRecord(subjects=(dataclasses.replace(whole.record().subjects[0], name="gone"),))
    monkeypatch.setattr(DatabaseStore, "record", lambda _: missing)
    with pytest.raises(UsageError, match=r"--panel NAMES is needed: one of .*db is not there: unknown"):
        asked(whole.path)


SIMULATED = {
    0: (
        "r63da5b6c3aab",
        "turn the red knob",
        "could you push the toy?",
        "now lift the object closest to the purple cap",
        "turn the thing which is neither green nor purple nor yellow",
        "before you shove the green cylinder, twist the red knob",
    ),
    11: (
        "rff18e11f2566",
        "place the purple ball marked A in the orange bowl marked B, please",
        "please shove the object nearest to you",
        "please pick the object which is to the right of the dotted purple ball",
        "could you set the purple sphere marked A in the object that is neither orange nor purple?",
        "place the dotted purple ball in the yellow bowl and then lift the purple ball marked A",
    ),
}
"""What another process made of seed 4."""


def test_simulated_references_are_the_same_in_any_process() -> None:
    source = SimulationSource(4, 160, 120)
    again = SimulationSource(4, 160, 120)
    for index, (reference_id, *tasks) in SIMULATED.items():
        first, second = source.read(index), again.read(index)
        assert first.reference_id == second.reference_id == reference_id
        assert [task.text for task in first.tasks] == [task.text for task in second.tasks] == tasks
        assert all((first.frames[view].rgb == second.frames[view].rgb).all() for view in first.frames)
    with pytest.raises(UsageError, match="wrong number of references; expected 1 or more; got 0"):
        BuildPlan(0, source)
    with pytest.raises(UsageError, match="wrong seed; expected 0 to 4294967295; got 4294967296"):
        BuildPlan(1, source, 2**32)


def test_simulated_references_come_through_the_camera_model(tmp_path: Path) -> None:
    ideal, real = (
        SimulationSource(4, 160, 120, camera_model=model) for model in (CameraModel.IDEAL, CameraModel.D455)
    )
    plain, taken = ideal.read(0), real.read(0)
    assert plain.reference_id != taken.reference_id
    assert [task.text for task in plain.tasks] == [task.text for task in taken.tasks]
    for view, frame in taken.frames.items():
        expected = delivered(plain.frames[view], plain.scene_seed or 0)
        assert (frame.rgb == expected.rgb).all()
        assert (frame.rgb != plain.frames[view].rgb).any()
    only = BuildOptions(steps=(Step.REFERENCES,))
    record = build(tmp_path / "db", BuildPlan(1, real), only).record
    assert record.plan["source"].endswith("camera model d455")
    with pytest.raises(UsageError, match=r"source is .*d455.* there, .*camera model ideal.* asked"):
        build(tmp_path / "db", BuildPlan(1, ideal), only)
