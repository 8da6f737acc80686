"""The chapter with images of the worst and the best pairs."""

from __future__ import annotations

from pathlib import Path

import pytest

from database_folders import add_cameras, write_database
from embodied_iqa.data.analysis.loading import load_attributes, load_grid
from embodied_iqa.data.analysis.study import study
from embodied_iqa.data.database.query import query
from embodied_iqa.pages.reports.database.extremes import chapter
from embodied_iqa.pages.reports.kit.formatting import distortion_label


@pytest.mark.parametrize(("part", "order"), [(0, "ASC"), (1, "DESC")])
def test_images_are_those_of_the_extreme_pairs(tmp_path: Path, part: int, order: str) -> None:
    store = write_database(tmp_path / "made", references=2)
    add_cameras(store, 1)
    grid = load_grid(store)
    cards = chapter(study(grid, load_attributes(store, grid.pairs), None, draws=2), store).parts[part].images
    rows = query(store, f"FROM opinions ORDER BY decision_mean {order}, level DESC").to_pylist()
    first: dict[str, str] = {}
    for row in rows:
        label = distortion_label(row["distortion_id"])
        first.setdefault(label, f"{label}, level {row['level']}: {row['decision_mean']:.2f}")
    assert [card.title for card in cards] == list(first.values())[:6]
    assert all(card.uri.startswith("data:image/webp") for card in cards if "level 1" in card.title)
    assert all("no image of the" in card.lines[0] for card in cards if "level 2" in card.title)


@pytest.mark.parametrize(
    ("number", "label"),
    [("05", "05 Colour shift"), ("28", "28 Grey quantization"), ("07", "07 HSV saturation")],
)
def test_a_distortion_is_spelt_on_pages_as_their_prose_is(number: str, label: str) -> None:
    assert distortion_label(number) == label
