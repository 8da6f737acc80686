"""Scores that references will lack, because no subject of the panel is made for their view."""

from __future__ import annotations

from pathlib import Path

import pytest
from photo_database import VLA, VLM, build_photos, make_photos

from embodied_iqa.cli.main import main
from embodied_iqa.data.database.building.own_views import UnscoredViews, unscored_views
from embodied_iqa.data.database.record import RecordedSubject
from embodied_iqa.data.database.store import DatabaseStore
from embodied_iqa.imaging.images.frame import View
from embodied_iqa.models.subjects.catalogue import Role

VIEWS = (View.TOP, View.SIDE, View.WRIST) * 4


def _subject(role: Role, *views: View, any_view: bool = False) -> RecordedSubject:
    return RecordedSubject(f"{role}-{'-'.join(views)}", role, "", "1", "", views, any_view=any_view)


def test_one_policy_leaves_the_references_of_other_views_without_a_decision_score() -> None:
    panel = [_subject(Role.VLA, View.TOP), _subject(Role.VLM, View.TOP, any_view=True)]
    (found,) = unscored_views(VIEWS, panel)
    assert str(found) == (
        "vla-top is made for top: 8 of 12 references (side, wrist) will have no decision score"
    )
    assert found.left == (View.TOP,)


def test_a_panel_for_every_view_lacks_nothing() -> None:
    policies = [_subject(Role.VLA, view) for view in (View.TOP, View.SIDE, View.WRIST)]
    assert not list(unscored_views(VIEWS, policies))
    (found,) = unscored_views(VIEWS, policies[:2])
    assert (found.without, found.views, found.left) == (4, (View.WRIST,), (View.SIDE, View.TOP))
    assert str(found).startswith("vla-top, vla-side are made for top, side: 4 of 12")


class _SeenEnoughError(Exception):
    pass


def test_a_build_says_so_before_images_are_distorted(tmp_path: Path) -> None:
    tasks = make_photos(tmp_path / "set", range(3))
    tasks.write_text(tasks.read_text(encoding="utf-8").replace("p1.png,,,top", "p1.png,,,side"))
    seen = list[UnscoredViews]()

    def stop(one: UnscoredViews) -> None:
        seen.append(one)
        raise _SeenEnoughError

    with pytest.raises(_SeenEnoughError):
        build_photos(tmp_path / "db", tasks, subjects=(VLM, VLA), note=stop)
    assert "pairs" not in DatabaseStore(tmp_path / "db").tables()
    assert [(one.without, one.views) for one in seen] == [(1, (View.SIDE,))]


def test_the_command_names_the_option_that_leaves_them_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ["--out", str(tmp_path / "db"), "--references", "2", "--size", "128x96", "--views", "top,side"]
    begun = ["build", *options, "--camera-model", "ideal", "--panel", VLA, "--steps"]
    assert main([*begun, "references"]) == 0
    assert "will have no" not in capsys.readouterr().err
    assert main([*begun, "references,annotate"]) == 2  # the steps between them are missing
    assert (
        f"note: {VLA} is made for top: 1 of 2 references (side) will have no decision score; --views top "
        "makes only those it scores"
    ) in capsys.readouterr().err
