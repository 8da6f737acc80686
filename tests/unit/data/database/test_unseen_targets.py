"""Answers on references that name no target are counted alike by every command, and by the report."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from photo_database import make_photos

from database_folders import write_database
from embodied_iqa.base.tables import write_table
from embodied_iqa.cli.main import main
from embodied_iqa.data.database.schema import ANNOTATIONS, SCORES
from embodied_iqa.data.database.store import DatabaseStore
from embodied_iqa.data.database.unanswered import unseen_targets
from embodied_iqa.imaging.images.frame import Frame, View
from embodied_iqa.models.subjects.catalogue import Role
from embodied_iqa.models.subjects.unseen_targets import Seen, UnseenTargets
from embodied_iqa.world.protocols import ChunkStatus, SubjectInfo


class Blind:
    """Sees no red or green cube."""

    info = SubjectInfo("blind", "1", "sees blue and yellow", (View.TOP,))

    def answer(self, frame: Frame, task: str) -> str:
        colour = task.split()[2]
        if colour in {"red", "green"}:
            return f"I see no {colour} cube in this picture."
        return f"The {colour} cube is {round(frame.rgb.mean())} to the left; grip it."


def test_every_command_says_the_same(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tasks, out = make_photos(tmp_path / "photos", range(3), tasks=2), tmp_path / "db"
    words = ["build", "--from-folder", str(tasks.parent), "--tasks", str(tasks), "--out", str(out)]
    words += ["--panel", "python:test_unseen_targets:Blind", "--workers", "1"]

    def shown(*command: str) -> Any:
        assert main([*command, "--json"]) == 0
        return json.JSONDecoder().raw_decode(capsys.readouterr().out)[0]

    built = shown(*words)["unseen_targets"]
    store = DatabaseStore(out)
    colours = [text.split()[2] for text in store.tasks(["text"])["text"].to_pylist()]
    unseen = sum(colour in {"red", "green"} for colour in colours)
    assert 0 < unseen < len(colours) == 6
    counts = {"vlm": {"unseen": unseen, "total": 6}, "vla": {"unseen": 0, "total": 0}}
    assert built == shown("db", "show", str(out))["unseen_targets"] == counts
    assert shown("db", "health", str(out))["cognition"]["unseen_targets"] == counts["vlm"]
    (remark,) = unseen_targets(store).remarks
    assert remark == f"{unseen} of 6 reference answers name no target: their scores mean little"
    for command in (words, ["db", "show", str(out)], ["db", "health", str(out)]):
        assert main(command) == 0
        assert f"note: {remark}\n" in capsys.readouterr().out
    assert main(["report", str(out)]) == 0
    assert remark in (out / "report.html").read_text(encoding="utf-8")
    measured = ["--out", str(tmp_path / "bench"), "--metrics", "psnr", "--repeats", "1", "--draws", "10"]
    assert main(["benchmark", str(out), *measured]) == 0
    assert f"{remark}\n" in capsys.readouterr().out
    assert remark in (tmp_path / "bench" / "report.html").read_text(encoding="utf-8")
    for form in ("pyiqa", "hf", "csv"):
        assert main(["export", str(out), "--format", form, "--out", str(tmp_path / form)]) == 0
        assert f"\nNote: {remark}.\n" in (tmp_path / form / "README.md").read_text(encoding="utf-8")


def test_decisions_are_counted_apart() -> None:
    found = UnseenTargets()
    for status in (ChunkStatus.ACT, ChunkStatus.NO_TARGET, ChunkStatus.DONE):
        found.add(Role.VLA, status)
    found.add(Role.VLM, "")
    assert found.remarks == ("1 of 3 reference decisions see no target: their scores mean little",)


def test_only_what_scores_are_against_counts(tmp_path: Path) -> None:
    """Neither views that a subject is not made for, nor a subject without scores."""
    store = write_database(tmp_path / "db", references=3, subjects=1, homes={"vlm-0": "top"})
    views = dict(zip(*store.references(["reference_id", "view"]).to_pydict().values(), strict=True))
    for name, role, said in (
        ("vlm-0", Role.VLM, {"answer": "I see no red cube.", "status": None}),
        ("vla-0", Role.VLA, {"answer": None, "status": ChunkStatus.NO_TARGET}),
    ):
        rows = [
            {"subject": name, "subject_version": "1", "role": role, "reference_id": reference}
            | {"pair_id": None, "task_id": f"{reference}/{rank}", "rank": rank, "distortion_id": ""}
            | {"level": 0, "own_view": role is Role.VLA or view == "top", **said}
            for reference, view in views.items()
            for rank in range(1, 6)
        ]
        write_table(
            store.annotation_part(name, 0), pa.Table.from_pylist(rows, schema=ANNOTATIONS), ANNOTATIONS
        )
    scores = [
        row | {"score": None if row["subject"] == "vla-0" else row["score"]}
        for row in store.scores().to_pylist()
    ]
    write_table(store.scores_file, pa.Table.from_pylist(scores, schema=SCORES), SCORES)
    assert unseen_targets(store).counts == {Role.VLM: Seen(5, 5), Role.VLA: Seen(0, 0)}
    assert unseen_targets(store, all_views=True).counts == {Role.VLM: Seen(15, 15), Role.VLA: Seen(0, 0)}
    for more, count in ((), 5), (("--all-views",), 15):
        assert main(["report", str(store.path), *more]) == 0
        page = (store.path / "report.html").read_text(encoding="utf-8")
        assert f"{count} of {count} reference answers name no target" in page
        assert "reference decisions see" not in page
    store.scores_file.unlink()
    assert not unseen_targets(store).remarks
