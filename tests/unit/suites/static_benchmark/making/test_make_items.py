"""Making of a benchmark: resumed work gives the same bytes; images show what the items say."""

from __future__ import annotations

from pathlib import Path

import pytest

from embodied_iqa.base.errors import InputError, UsageError
from embodied_iqa.cli.main import main
from embodied_iqa.suites.static_benchmark.benchmark import read_items, read_record
from embodied_iqa.suites.static_benchmark.items import Dimension
from embodied_iqa.suites.static_benchmark.making import make_items as making
from embodied_iqa.suites.static_benchmark.making import make_plan
from embodied_iqa.suites.static_benchmark.making.drafts import Slot, slots_of
from embodied_iqa.suites.static_benchmark.making.make_items import make_items
from embodied_iqa.suites.static_benchmark.making.make_plan import MakePlan
from embodied_iqa.world.simulation.camera import CameraModel

PLAN = MakePlan(3, 5, 96, 72, CameraModel.IDEAL)


def test_a_wrong_size_writes_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for half in ([], ["--trajectories"]):
        words = ["static", "make", *half, "--items", "1", "--size", "0x9", "--out", str(tmp_path / "bench")]
        assert main(words) == 2
        assert "bad image size" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_a_making_that_failed_before_its_first_block_refuses_no_other_plan(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(making, "_make_block", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            make_items(tmp_path, MakePlan(3, 6, 96, 72, CameraModel.IDEAL), lambda *_: None)
    assert make_items(tmp_path, PLAN, lambda *_: None).items == 3


def test_a_making_that_was_cut_short_goes_on_to_the_same_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(making, "_BLOCK", 1)
    seen: list[tuple[int, int]] = []
    make_items(tmp_path / "whole", PLAN, lambda done, total: seen.append((done, total)))
    assert seen == [(1, 3), (2, 3), (3, 3)]
    whole = (tmp_path / "whole" / "items.tsv").read_bytes()

    def stop(done: int, _total: int) -> None:
        if done == 1:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        make_items(tmp_path / "cut", PLAN, stop)
    with pytest.raises(UsageError, match=r"another plan: plan is .*seed 5.* there, .*seed 6.* asked"):
        make_items(tmp_path / "cut", MakePlan(3, 6, 96, 72, CameraModel.IDEAL), stop)
    seen.clear()
    make_items(tmp_path / "cut", PLAN, lambda done, total: seen.append((done, total)))
    assert seen == [(2, 3), (3, 3)]
    assert (tmp_path / "cut" / "items.tsv").read_bytes() == whole
    assert sorted(file.name for file in (tmp_path / "cut").iterdir()) == [
        ".lock",
        "benchmark.json",
        "items.tsv",
    ]
    table, record = read_items(tmp_path / "cut"), read_record(tmp_path / "cut")
    assert record.items == len(table.items) == 3
    assert "seed 5" in record.source
    slots = slots_of(3, 5)
    for item, slot in zip(table.items, slots, strict=True):
        assert isinstance(slot, Slot)
        assert (item.dimension, item.source) == (slot.dimension, str(slot.view))
        assert table.image(item).shape == (72, 96, 3)
        assert table.image(item).std() > 5
    assert Dimension.STAGE in {item.dimension for item in table.items}
    with pytest.raises(InputError, match="holds a benchmark already"):
        make_items(tmp_path / "cut", PLAN, stop)


def test_a_making_without_a_stored_block_binds_its_folder_to_no_seed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed(*_: object) -> object:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(making, "run_jobs", killed)
        with pytest.raises(KeyboardInterrupt):
            make_items(tmp_path, MakePlan(1, 6, 96, 72, CameraModel.IDEAL), lambda _done, _total: None)
    make_items(tmp_path, MakePlan(1, 5, 96, 72, CameraModel.IDEAL), lambda _done, _total: None)
    assert "seed 5" in read_record(tmp_path).source


def test_items_of_another_version_are_read_with_a_line_and_not_continued(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(make_plan, "ITEMS_VERSION", 2)
    one = MakePlan(1, 5, 96, 72, CameraModel.IDEAL)
    make_items(tmp_path / "old", one, lambda _done, _total: None)

    def stop(_done: int, _total: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        make_items(tmp_path / "cut", one, stop)
    monkeypatch.undo()
    with pytest.raises(UsageError, match=r"another plan.*version 2.*version 3"):
        make_items(tmp_path / "cut", one, stop)
    assert main(["evaluate", "static", str(tmp_path / "old"), "--vlm", "oracle"]) == 0
    assert "items of version 2: `static make` makes version 3" in capsys.readouterr().err
