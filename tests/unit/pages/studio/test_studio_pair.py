"""The page of a pair: answers, differences, actions, neighbours, images made from their seeds."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import cv2
import numpy as np
import pytest

from database_folders import add_cameras, write_database
from embodied_iqa.base.tables import rows_of, table_of, write_table
from embodied_iqa.data.database.schema import ANNOTATIONS, PAIRS, Annotation, Pair, Reference
from embodied_iqa.data.database.store import DatabaseStore
from embodied_iqa.imaging.distortions import DistortionSpec, FrameDistorter
from embodied_iqa.imaging.images.codecs import read_image
from embodied_iqa.imaging.images.frame import View
from embodied_iqa.models.subjects.catalogue import Role
from embodied_iqa.pages.studio.browse.browser_images import ByteCache
from embodied_iqa.pages.studio.browse.lookup import pair_of
from embodied_iqa.pages.studio.browse.overview import Overview
from embodied_iqa.pages.studio.browse.pair_answers import subject_views
from embodied_iqa.pages.studio.kit.sources import NotFoundError
from embodied_iqa.world.protocols import ChunkStatus
from studio_client import client_of

PAIR = "r00000-12"


def _answer(subject: str, role: Role, pair_id: str | None, **values: object) -> Annotation:
    row = Annotation(
        subject, "1", role, "r00000", pair_id, "r00000/1", 1, "12" if pair_id else "", 1 if pair_id else 0,
        True, None, None, None, None, None, None,
    )  # fmt: skip
    return replace(row, **values)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> DatabaseStore:
    """A database of `--store seeds` with a camera, answers of a VLM and of a VLA."""
    store = write_database(tmp_path_factory.mktemp("pair") / "made", references=2)
    add_cameras(store, 1)
    moves = ((0.0, 0.1, 0.0, 0.0, 0.0, 0.0, 0.0), (0.05, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0))
    act = {"status": ChunkStatus.ACT, "increments": tuple(np.ravel(moves)), "reason": "plans", "seen": 0.75}
    answers = {
        "vlm-0": [
            _answer("vlm-0", Role.VLM, None, answer="a red cube"),
            _answer("vlm-0", Role.VLM, PAIR, answer="a <b>blue</b> cube"),
        ],
        "vla-0": [
            _answer("vla-0", Role.VLA, None, **act),
            _answer("vla-0", Role.VLA, PAIR, status=ChunkStatus.NO_TARGET, increments=(), reason="sees none"),
        ],
    }
    for subject, rows in answers.items():
        part = store.annotation_part(subject, 0)
        part.parent.mkdir(parents=True)
        write_table(part, table_of(Annotation, rows), ANNOTATIONS)
    return store


def test_answers_stand_beside_each_other(store: DatabaseStore) -> None:
    overview = Overview(store)
    pair, reference = pair_of(overview, PAIR)
    views = {view.subject.name: view for view in subject_views(overview, pair, reference, "r00000/1")}
    assert set(views) == {f"{role}-{n}" for role in ("vlm", "vla") for n in range(3)}
    vlm, vla = views["vlm-0"], views["vla-0"]
    assert vlm.distorted is not None
    assert [(part.text, part.differs) for part in vlm.distorted.words] == [
        ("a", False), ("<b>blue</b>", True), ("cube", False),
    ]  # fmt: skip
    assert vla.reference is not None
    assert vla.reference.motion is not None
    assert vla.reference.motion.moved_mm == pytest.approx((50, 100, 0))
    assert vla.reference.motion.seen == 0.75
    assert vla.score is not None
    assert vla.total == pytest.approx(next(
        row["score"] for row in overview.rows(
            "SELECT score FROM totals WHERE pair_id = ? AND subject = 'vla-0'", [PAIR])
    ))  # fmt: skip


def test_actions_are_drawn_where_the_camera_sees_them(store: DatabaseStore) -> None:
    overview = Overview(store)
    pair, reference = pair_of(overview, PAIR)
    views = subject_views(overview, pair, reference, "r00000/1")
    overlays = [overlay for view in views for overlay in view.overlays]
    assert len(overlays) == 1, "a refusal draws nothing"
    # 1 m below the camera, 100 px a metre; the camera's y points to -y of the base
    assert overlays[0].lines == ("64.0,48.0 64.0,38.0 69.0,38.0",)


def test_the_page_shows_everything_escaped(store: DatabaseStore) -> None:
    client, _ = client_of(store.path)
    text = client.get(f"/db/made/pair/{PAIR}?level=1&sort=level").text
    assert "&lt;b&gt;blue&lt;/b&gt;" in text
    assert "<b>blue" not in text
    assert "of 30</span>" in text
    assert 'aria-current="page"><img' in text
    assert client.get(f"/db/made/pair/{PAIR}?task=6").status_code == 400
    assert client.get("/db/made/pair/none").status_code == 404
    assert "sharpness" in client.get(f"/db/made/pair/{PAIR}/statistics").text
    assert "no image of the" in client.get("/db/made/pair/r00001-01/statistics").text


def test_an_image_without_a_file_is_made_from_its_seed(store: DatabaseStore) -> None:
    client, studio = client_of(store.path)
    data = client.get(f"/db/made/pair/{PAIR}/distorted/full").content
    shown = cv2.cvtColor(cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_COLOR), cv2.COLOR_BGR2RGB)
    rgb = read_image(store.path / rows_of(Reference, store.references())[0].image)
    pair = next(row for row in rows_of(Pair, store.pairs()) if row.pair_id == PAIR)
    spec = DistortionSpec(pair.distortion_id, pair.level, pair.seed)
    assert np.array_equal(shown, FrameDistorter(spec).apply(rgb, View(View.WRIST), 0))
    assert studio.part(ByteCache).size == len(data)


def test_images_outside_of_the_database_are_refused(tmp_path: Path) -> None:
    store = write_database(tmp_path / "made", references=1)
    (tmp_path / "secret.png").write_bytes(b"secret")
    rows = [replace(row, image="../secret.png") for row in rows_of(Pair, store.pairs())]
    write_table(store.pairs_file, table_of(Pair, rows), PAIRS)
    client, _ = client_of(store.path)
    answer = client.get(f"/db/made/pair/{PAIR}/distorted/full")
    assert answer.status_code == 400
    assert "outside of the database" in answer.text


def test_the_cache_is_bounded() -> None:
    cache = ByteCache(most_bytes=10)
    for number in range(5):
        cache.get(number, lambda: b"1234")
    assert cache.size == 8
    assert cache.get(4, lambda: b"") == b"1234"
    assert cache.get(0, lambda: b"new") == b"new"


def test_an_unknown_pair_is_not_found(store: DatabaseStore) -> None:
    with pytest.raises(NotFoundError):
        pair_of(Overview(store), "x")
