"""A build that has not ended is incomplete, not damaged; another panel or fewer references are refused."""

from __future__ import annotations

import re
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from photo_database import VLA, VLM, build_photos, make_photos

from embodied_iqa.base.errors import UsageError
from embodied_iqa.base.jobs.engine import EngineOptions
from embodied_iqa.cli.main import main
from embodied_iqa.data.database.building import step_annotate
from embodied_iqa.data.database.building.build_options import BuildOptions, BuildPlan, Step
from embodied_iqa.data.database.building.builder import build
from embodied_iqa.data.database.check import check_database
from embodied_iqa.data.database.sources.photographs import FolderSource
from embodied_iqa.data.database.store import DatabaseStore
from embodied_iqa.imaging.images.frame import Frame, View
from embodied_iqa.models.subjects.reference import parse_reference
from embodied_iqa.world.protocols import SubjectInfo

COMMAND = "embodied-iqa build --out DB"
SAYS = "python:test_unfinished_builds:Says"


class Says:
    """Needs nothing but the image."""

    info = SubjectInfo("says", "1", "says how bright it is", (View.TOP,))

    def answer(self, frame: Frame, task: str) -> str:
        """Return the mean and the task."""
        return f"{round(frame.rgb.mean())}: {task}"


@pytest.fixture(scope="module")
def tasks_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_photos(tmp_path_factory.mktemp("set") / "photos", range(5))


def stopped(
    path: Path,
    tasks_file: Path,
    monkeypatch: pytest.MonkeyPatch,
    *,
    after: int,
    subjects: tuple[str, ...] = (VLM, VLA),
    references: int = 5,
) -> DatabaseStore:
    """Build, and stop before another part of answers than this many is written."""
    written, write = [0], step_annotate.write_table

    def once_more(*arguments: object) -> None:
        if written[0] == after:
            raise KeyboardInterrupt
        written[0] += 1
        write(*arguments)  # type: ignore[arg-type]

    with monkeypatch.context() as patch:
        patch.setattr(step_annotate, "write_table", once_more)
        with pytest.raises(KeyboardInterrupt):
            build_photos(path, tasks_file, references=references, subjects=subjects, command=COMMAND)
    return DatabaseStore(path)


@pytest.mark.parametrize("after", [0, 1, 3])
def test_a_stopped_build_is_incomplete_and_its_command_goes_on(
    after: int,
    tmp_path: Path,
    tasks_file: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    store = stopped(tmp_path / "db", tasks_file, monkeypatch, after=after)
    report = check_database(store)
    assert (report.result, report.errors, report.command) == ("incomplete", (), COMMAND)
    assert main(["db", "check", str(store.path)]) == 1
    shown = capsys.readouterr().out
    assert f"{store.path}: incomplete; " in shown
    assert f"this goes on with it: {COMMAND}\n" in shown
    assert "error" not in shown
    assert "damaged" not in shown
    summary = build_photos(store.path, tasks_file, references=5, subjects=(VLM, VLA))
    assert summary.record.unfinished is None
    assert check_database(store).result == "correct"


def test_a_database_that_was_to_grow_is_incomplete(
    tmp_path: Path, tasks_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    build_photos(tmp_path / "db", tasks_file, references=4)
    store = stopped(tmp_path / "db", tasks_file, monkeypatch, after=0, subjects=(VLM,))
    report = check_database(store)
    assert (report.result, report.errors) == ("incomplete", ())
    store.annotation_part(VLM, 0).write_bytes(b"PAR1")
    assert check_database(store).result == "damaged"


def test_steps_that_have_not_run_are_not_damage(tmp_path: Path, tasks_file: Path) -> None:
    for step in (Step.REFERENCES, Step.TASKS, Step.DISTORT):
        build_photos(tmp_path / "db", tasks_file, references=2, steps=(step,))
        report = check_database(DatabaseStore(tmp_path / "db"))
        assert (report.result, report.errors, report.command) == ("incomplete", (), None)
    DatabaseStore(tmp_path / "db").pairs_file.unlink()
    assert check_database(DatabaseStore(tmp_path / "db")).errors == ("pairs.parquet is missing",)


def test_subjects_without_an_answer_were_only_planned(
    tmp_path: Path, tasks_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = stopped(tmp_path / "db", tasks_file, monkeypatch, after=0)
    summary = build_photos(store.path, tasks_file, references=5, subjects=(VLM,))
    assert [subject.name for subject in summary.record.subjects] == [VLM]
    assert check_database(store).result == "correct"


@pytest.mark.parametrize("grows", [False, True])
def test_subjects_that_failed_on_everything_are_dropped(grows: bool, tmp_path: Path) -> None:
    tasks, out = make_photos(tmp_path / "photos", range(4)), tmp_path / "db"
    plan = BuildPlan(3, FolderSource(tasks.parent, tasks), seed=5)  # where the tool was is not known
    panel = (parse_reference(SAYS), parse_reference(VLA))
    both = BuildOptions(panel, engine=EngineOptions(workers=1))
    record = build(out, plan, both).record
    assert record.counts["failures"] == {SAYS: 0, VLA: 93}
    store = DatabaseStore(out)
    plan, alone = replace(plan, references=3 + grows), replace(both, subjects=panel[:1])
    # not where the scores would keep them
    build(out, replace(plan, references=3), replace(alone, steps=(Step.ANNOTATE,)))
    assert store.annotation_files(VLA)
    record = build(out, plan, alone).record
    assert [subject.name for subject in record.subjects] == [SAYS]
    assert record.counts["failures"] == {SAYS: 0}
    assert not store.annotations(VLA).exists()
    assert set(store.scores(["subject"])["subject"].to_pylist()) == {SAYS}
    assert check_database(store).result == "correct"
    assert not any(VLA in remark for remark in check_database(store).remarks)


def test_a_panel_that_leaves_a_subject_unfinished_is_refused(
    tmp_path: Path, tasks_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = stopped(tmp_path / "db", tasks_file, monkeypatch, after=2)
    line = f"another plan: {VLA} in panel lacks 31 answers there, not asked; expected --panel {VLA},{VLM}"
    before = store.record()
    with pytest.raises(UsageError, match=re.escape(line)):
        build_photos(store.path, tasks_file, references=5)
    assert store.record() == before
    shutil.rmtree(store.annotations(VLA))  # as the message says
    build_photos(store.path, tasks_file, references=5)
    assert check_database(store).result == "correct"
    grown = make_photos(tmp_path / "more", range(6))
    build_photos(tmp_path / "two", grown, references=4, subjects=(VLM, VLA))
    with pytest.raises(UsageError, match=f"{VLA} in panel lacks 31 answers there, not asked"):
        build_photos(tmp_path / "two", grown, references=5)


def test_fewer_references_are_refused(tmp_path: Path, tasks_file: Path) -> None:
    build_photos(tmp_path / "db", tasks_file, references=3)
    with pytest.raises(UsageError, match="another plan: references is 3 there, 2 asked"):
        build_photos(tmp_path / "db", tasks_file, references=2)
    assert check_database(DatabaseStore(tmp_path / "db")).result == "correct"
