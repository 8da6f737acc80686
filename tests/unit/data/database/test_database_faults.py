"""Faults around a build: what breaks is named, counted, refused or skipped; the rest is as undisturbed."""

from __future__ import annotations

import errno
import multiprocessing
from collections.abc import Iterator
from multiprocessing.synchronize import Event
from pathlib import Path

import cv2
import numpy as np
import pytest
from photo_database import VLM, build_photos, make_photos

from embodied_iqa.base.errors import InputError
from embodied_iqa.base.jobs.folder import JobFolder
from embodied_iqa.cli.main import main
from embodied_iqa.data.analysis.grid import Group
from embodied_iqa.data.analysis.loading import load_grid
from embodied_iqa.data.database.building import build_subjects
from embodied_iqa.data.database.building.build_options import Step
from embodied_iqa.data.database.check import check_database
from embodied_iqa.data.database.database_images import image_hash
from embodied_iqa.data.database.store import DatabaseStore
from embodied_iqa.imaging.images.frame import Frame
from embodied_iqa.models.subjects.backends.classical.vlm import ClassicalVlm


@pytest.fixture(scope="module")
def tasks_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_photos(tmp_path_factory.mktemp("photos") / "set", range(3))


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory, tasks_file: Path) -> DatabaseStore:
    path = tmp_path_factory.mktemp("whole") / "db"
    build_photos(path, tasks_file)
    return DatabaseStore(path)


@pytest.mark.parametrize("images", [0, 2, 3, 47])
def test_disk_that_fills_up_with_images(
    tmp_path: Path,
    tasks_file: Path,
    whole: DatabaseStore,
    monkeypatch: pytest.MonkeyPatch,
    images: int,
) -> None:
    write, left = Path.write_bytes, iter(range(images))

    def full(path: Path, data: bytes) -> int:
        if next(left, None) is None:
            write(path, data[: len(data) // 2])
            raise OSError(errno.ENOSPC, "No space left on device")
        return write(path, data)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "write_bytes", full)
        with pytest.raises(InputError, match=r"\.png' cannot be written: No space left on device"):
            build_photos(tmp_path / "db", tasks_file)
    assert not list((tmp_path / "db").rglob(".*partial"))
    assert len(list((tmp_path / "db").rglob("*.png"))) == images
    build_photos(tmp_path / "db", tasks_file)
    assert DatabaseStore(tmp_path / "db").record() == whole.record()
    assert check_database(DatabaseStore(tmp_path / "db")).errors == ()


@pytest.mark.parametrize("share", [0.0, 0.3, 0.97])
def test_torn_photographs_are_skipped_and_counted(tmp_path: Path, share: float) -> None:
    tasks_file = make_photos(tmp_path / "set", range(3))
    text = tasks_file.read_text(encoding="utf-8")
    for number, suffix in ((0, ".jpg"), (1, ".png")):
        photo = tasks_file.parent / f"p{number}.png"
        data = cv2.imencode(suffix, cv2.imread(str(photo)))[1].tobytes()
        photo.unlink()
        photo.with_suffix(suffix).write_bytes(data[: int(share * len(data))])
    tasks_file.write_text(text.replace("p0.png", "p0.jpg"), encoding="utf-8")
    summary = build_photos(tmp_path / "db", tasks_file, references=1)
    assert summary.record.skipped == {"unusable": 2}
    skipped = (tmp_path / "db" / "skipped.csv").read_text(encoding="utf-8")
    assert "p0.jpg" in skipped
    assert "p1.png" in skipped
    assert check_database(DatabaseStore(tmp_path / "db")).errors == ()


def test_corrupt_images_of_a_database_are_named(tmp_path: Path, tasks_file: Path) -> None:
    build_photos(tmp_path / "db", tasks_file)
    store = DatabaseStore(tmp_path / "db")
    distorted = store.path / store.pairs(["image"]).to_pylist()[7]["image"]
    distorted.write_bytes(distorted.read_bytes()[:100])
    (error,) = check_database(store).errors
    assert distorted.name in error
    reference = store.path / store.references(["image"]).to_pylist()[0]["image"]
    cv2.imwrite(str(reference), np.zeros((96, 128, 3), np.uint8))
    assert len(check_database(store).errors) == 2
    store.annotation_part(VLM, 0).unlink()
    with pytest.raises(InputError, match=f"{reference.name} is not the image that was written"):
        build_photos(store.path, tasks_file)


@pytest.fixture
def fresh_members() -> Iterator[None]:
    build_subjects.load_member.cache_clear()
    yield
    build_subjects.load_member.cache_clear()


@pytest.mark.usefixtures("fresh_members")
def test_a_subject_that_fails_on_one_image(
    tmp_path: Path, tasks_file: Path, whole: DatabaseStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    pair = whole.pairs(["pair_id", "sha256"]).to_pylist()[41]

    class Allergic(ClassicalVlm):
        def answer(self, frame: Frame, task: str) -> str:
            if image_hash(frame.rgb) == pair["sha256"]:
                raise ZeroDivisionError("of all images\nthis one")
            return super().answer(frame, task)

    monkeypatch.setattr(build_subjects, "make_vlm", lambda *_: Allergic())
    summary = build_photos(tmp_path / "db", tasks_file)
    assert summary.steps[Step.ANNOTATE].failures == {VLM: 1}
    assert summary.record.counts["failures"] == {VLM: 1}
    store = DatabaseStore(tmp_path / "db")
    rows = [row for part in store.annotation_parts(VLM) for row in part.to_pylist()]
    failed = [row for row in rows if row["error"] is not None]
    assert [(row["pair_id"], row["error"]) for row in failed] == [
        (pair["pair_id"], "ZeroDivisionError: of all images")
    ]
    columns = ["pair_id", "score"]
    ours, theirs = (
        {row["pair_id"]: row["score"] for row in one.scores(columns).to_pylist()} for one in (store, whole)
    )
    assert ours.pop(pair["pair_id"]) is None
    assert ours == {name: score for name, score in theirs.items() if name != pair["pair_id"]}
    report = check_database(store)
    assert (report.errors, report.remarks) == ((), (f"{VLM} failed 1 times", "1 rows without a score"))
    assert load_grid(store).groups[Group.COGNITION].missing.tolist() == [1]


def _hold(folder: str, holds: Event) -> None:
    with JobFolder(Path(folder), "database build").locked():
        holds.set()
        multiprocessing.Event().wait(60)


def test_second_builder_is_refused_until_the_first_is_gone(
    tmp_path: Path, tasks_file: Path, whole: DatabaseStore, capsys: pytest.CaptureFixture[str]
) -> None:
    context = multiprocessing.get_context("spawn")
    holds = context.Event()
    first = context.Process(target=_hold, args=(str(tmp_path / "db"), holds))
    first.start()
    try:
        assert holds.wait(60)
        words = ["build", "--from-folder", str(tasks_file.parent), "--tasks", str(tasks_file), "--panel", VLM]
        words += ["--cell-cameras", "--seed", "5", "--out", str(tmp_path / "db")]
        assert main(words) == 1
        assert f"another database build works in {tmp_path / 'db'}" in capsys.readouterr().err
        assert [item.name for item in (tmp_path / "db").iterdir()] == [".lock"]
    finally:
        first.kill()
        first.join()
    assert main(words) == 0
    assert DatabaseStore(tmp_path / "db").record() == whole.record()
