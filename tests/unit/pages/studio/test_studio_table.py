"""The table of pairs: its numbers, filters, order and pages."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from database_folders import write_database
from embodied_iqa.base.errors import UsageError
from embodied_iqa.data.database.query import query
from embodied_iqa.data.database.store import DatabaseStore
from embodied_iqa.pages.studio.browse.filters import COLUMNS, PAIR, Filters, filters_from
from embodied_iqa.pages.studio.browse.overview import Overview
from embodied_iqa.pages.studio.browse.table_page import find
from studio_client import client_of


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> DatabaseStore:
    return write_database(tmp_path_factory.mktemp("studio") / "made", references=5, images=True)


@pytest.fixture(scope="module")
def overview(store: DatabaseStore) -> Overview:
    return Overview(store)


def test_scores_are_those_of_the_opinions(store: DatabaseStore, overview: Overview) -> None:
    rows = {row["pair_id"]: row for row in query(store, "FROM opinions").to_pylist()}
    for row in overview.rows("SELECT * FROM overview"):
        opinion = rows[row["pair_id"]]
        assert row["decision"] == pytest.approx(opinion["decision_mean"])
        assert row["cognition"] == pytest.approx(opinion["cognition_mean"])


@pytest.mark.parametrize("column", [PAIR, *COLUMNS])
@pytest.mark.parametrize("down", [False, True])
def test_every_column_sorts(overview: Overview, column: str, down: bool) -> None:
    values = [row[column] for row in find(overview, Filters(sort=column, down=down)).rows]
    known = [value for value in values if value is not None]
    assert known == sorted(known, reverse=down)
    assert values[: len(known)] == known, "absent values come last"


def test_filters_hold(overview: Overview) -> None:
    filters = Filters(level="3", of="decision", low=1.0, high=4.0, spread=0.1)
    found = find(overview, filters)
    assert found.count == len(found.rows) < 150
    for row in found.rows:
        assert row["level"] == 3
        assert 1.0 <= row["decision"] <= 4.0
        assert row["decision_spread"] >= 0.1
    one = find(overview, Filters(of="vlm-1", low=2.0, sort="score"))
    assert all(row["score"] >= 2.0 for row in one.rows)


def test_pages_hold_every_pair_once(overview: Overview) -> None:
    first = find(overview, Filters())
    ids = [row["pair_id"] for n in range(first.pages) for row in find(overview, Filters(page=n + 1)).rows]
    assert len(ids) == len(set(ids)) == first.count == 150
    assert find(overview, Filters(page=99)).rows == []


def test_a_link_carries_the_whole_state(overview: Overview) -> None:
    filters = Filters(level="2", of="vla-0", low=0.5, sort="score", down=True, page=2)
    values = dict(pair.split("=") for pair in filters.link(page=2)[1:].split("&"))
    assert filters_from(values, overview.choices) == filters


def test_the_order_by_a_subject_ends_with_the_choice_of_the_subject(overview: Overview) -> None:
    """The form sends the order of before with the new choice."""
    sent = {"level": "2", "of": "cognition", "sort": "score", "down": "1"}
    assert filters_from(sent, overview.choices) == Filters(level="2", of="cognition")


@pytest.mark.parametrize(
    "wrong",
    [
        {"level": "6"},
        {"low": "nan"},
        {"high": "x"},
        {"page": "0"},
        {"page": "9" * 30},
        {"page": "\N{SUPERSCRIPT TWO}"},
        {"sort": "1; DROP TABLE overview"},
        {"of": "nobody"},
        {"unknown": "1"},
        {"reference": "r" * 300},
        {"sort": "score"},
    ],
)
def test_wrong_filters_are_refused(overview: Overview, wrong: dict[str, str]) -> None:
    with pytest.raises(UsageError):
        filters_from(wrong, overview.choices)


def test_the_page_shows_the_pairs_and_follows_the_files(tmp_path: Path) -> None:
    store = write_database(tmp_path / "db", references=2, images=True)
    client, _ = client_of(tmp_path)
    text = client.get("/db/db?level=1").text
    assert "of 60 pairs" in re.sub(r"<.*?>", "", text)
    assert client.get("/db/db?level=9").status_code == 400
    assert client.get("/db/nothing").status_code == 404
    store.scores_file.unlink()
    assert "Nothing is scored yet" in client.get("/db/db").text
    store.pairs_file.unlink()
    assert "is being built" in client.get("/db/db").text
    (tmp_path / "db" / "tasks.parquet").write_bytes(b"damaged")
    assert client.get("/db/db").status_code == 400


def test_images_stay_inside_the_database(tmp_path: Path, store: DatabaseStore) -> None:
    client, _ = client_of(store.path)
    pair = Overview(store).rows("SELECT pair_id FROM pairs LIMIT 1")[0]["pair_id"]
    answer = client.get(f"/db/made/pair/{pair}/distorted/full")
    assert answer.headers["content-type"] == "image/png"
    assert client.get(f"/db/made/pair/{pair}/distorted/thumbnail").content[8:12] == b"WEBP"
    assert client.get(f"/db/made/pair/{pair}/other/full").status_code == 404
    assert client.get("/db/made/pair/none/distorted/full").status_code == 404
