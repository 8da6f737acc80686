"""The leaderboard page of a static benchmark: own and published rows, sorting, failed items, a browser."""

from __future__ import annotations

import base64
import csv
import json
import re
from pathlib import Path

import cv2
import numpy as np
import pytest
from scipy.stats import binomtest

from accessibility import needs_axe, report_violations
from chromium_pipe import chromium, executable
from embodied_iqa.base.files import write_json_whole
from embodied_iqa.base.records import unstructure
from embodied_iqa.cli.main import main
from embodied_iqa.pages.reports.kit.table import Column, Table
from embodied_iqa.pages.reports.static.leaderboards import HERE, PUBLISHED
from embodied_iqa.suites.static_benchmark.benchmark import write_benchmark
from embodied_iqa.suites.static_benchmark.conditions import GREY_ITEMS
from embodied_iqa.suites.static_benchmark.items import Dimension, Item, Person
from embodied_iqa.suites.static_benchmark.published_subjects import published_tables
from embodied_iqa.suites.static_benchmark.static_to_simulated import Plcc, Relation, S2dRow, StaticScore
from embodied_iqa.suites.static_benchmark.tsv import ItemTable
from static_trajectories import write_trajectories

ITEMS = 12


def _bench(path: Path, source: str = "made for a test") -> Path:
    rng = np.random.default_rng(0)
    items, images = [], {}
    for index in range(ITEMS):
        _, data = cv2.imencode(".png", rng.integers(0, 256, (30, 40, 3), dtype=np.uint8))
        images[index] = base64.b64encode(data.tobytes()).decode("ascii")
        options = ("the cube", "the <b>ball</b>", "the bowl")
        dimension, person = tuple(Dimension)[index % 3], tuple(Person)[index % 2]
        items.append(
            Item(index, index, "What is red?", options, "ABC"[index % 3], dimension=dimension, person=person)
        )
    write_trajectories(path, 5)
    write_benchmark(path, ItemTable(tuple(items), images), source)
    return path


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("static")
    bench, out = _bench(folder / "bench"), folder / "results"
    words = ["--vlm", "letter-a,random", "--vla", "expert,still", "--distortion", "12:3"]
    words += ["--grey", "--circular"]
    assert main(["evaluate", "static", str(bench), *words, "--out", str(out)]) == 0
    row = S2dRow(
        "still", Relation.SIMULATED, StaticScore.MAIN, 40.0, 0.5, Plcc(None, None, None, 5, "constant")
    )
    write_json_whole(out / "s2d.json", unstructure([row]))
    assert main(["report", str(out)]) == 0
    return out


@pytest.fixture(scope="module")
def page(results: Path) -> str:
    return (results / "report.html").read_text(encoding="utf-8")


def _table(results: Path, name: str) -> list[dict[str, str]]:
    with (results / "report_tables" / f"{name}.csv").open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


def test_own_rows_equal_the_json_and_published_rows_are_marked(results: Path) -> None:
    tree = json.loads((results / "vlm.json").read_text())
    rows = _table(results, "vlm_leaderboard")
    own = {row["model"]: row for row in rows if row["source"] == HERE}
    for subject in tree["subjects"]:
        row = own[subject["subject"]]
        for name, value in (("score", "value"), ("low", "low"), ("high", "high")):
            assert float(row[name]) == pytest.approx(100 * subject["plain"][value])
        for name in ("unparsed", "refused", "empty", "failed"):
            assert int(row[name]) == subject["readings"][name]
    published = [row for row in rows if row["source"] == PUBLISHED]
    assert len(published) == 19
    assert [float(row["score"]) for row in published] == [row.score for row in published_tables().vlm]
    assert all(row["low"] == "" for row in published)


def test_circular_scores_equal_the_json(results: Path) -> None:
    rows = {row["subject"]: row for row in _table(results, "vlm_circular")}
    for subject in json.loads((results / "vlm.json").read_text())["subjects"]:
        row, circular = rows[subject["subject"]], subject["circular"]
        for name, value in (("circular", "value"), ("low", "low"), ("high", "high")):
            assert float(row[name]) == pytest.approx(100 * circular["hits"][value])
        assert float(row["minus_plain"]) == pytest.approx(100 * circular["minus_plain"])
        assert float(row["chance"]) == pytest.approx(100 / 27)


def test_items_of_grey_images_have_a_chapter_on_the_text_alone(tmp_path: Path) -> None:
    bench, out, page = (
        _bench(tmp_path / "bench", f"{GREY_ITEMS} version 3"),
        tmp_path / "out",
        tmp_path / "page.md",
    )
    assert main(["evaluate", "static", str(bench), "--vlm", "letter-a", "--out", str(out)]) == 0
    command = ["report", str(out), "--markdown", str(page), "--section", "grey", "--chapters", "text"]
    assert main(command) == 0
    text = page.read_text(encoding="utf-8")
    assert "## What does the text alone give away?" in text
    assert "**Hits: grey items version 3.** In percent." in text
    assert f"| letter-a | {Dimension.MACRO} | 4 | 0.0 | 0.0 | 0.0 |" in text
    (questions,) = (tmp_path / "tables").glob("page-grey-*questions.csv")
    assert f"{Dimension.STAGE}: is red?,4,4," in questions.read_text(encoding="utf-8")
    assert "**VLMs.**" not in text, "only the chosen chapter"


def test_a_markdown_page_has_published_rows_apart_and_no_single_tasks(results: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    assert main(["report", str(results), "--markdown", str(page)]) == 0
    text = page.read_text(encoding="utf-8")
    own = text[text.index("**VLMs.**") : text.index(" (CSV)")]
    assert own.count(f"| {HERE} |") == 2
    assert f"| {PUBLISHED} |" not in text
    files = [tmp_path / f"tables/page-static-{kind}-leaderboard.csv" for kind in ("vlm", "vla")]
    assert [file.read_text(encoding="utf-8").count(f",{PUBLISHED},") for file in files] == [19, 11]
    assert f"[VLAs](tables/{files[1].name})" in text
    assert "Tasks on clean images" not in text
    assert "What does the text alone" not in text, "of benchmarks of grey items only"


def test_grey_images_have_the_hits_of_answered_items_with_both_intervals(results: Path) -> None:
    rows = {(row["subject"], row["dimension"]): row for row in _table(results, "vlm_grey")}
    cells = [
        (subject["subject"], one)
        for subject in json.loads((results / "vlm.json").read_text())["subjects"]
        for one in subject["conditions"][0]["dimensions"]
        if one["dimension"] != "all"
    ]
    assert len(rows) == len(cells) == 2 * len(Dimension)
    for subject, one in cells:
        row, found = rows[subject, one["dimension"]], one["of_answered"]["hits"]
        theirs = binomtest(round(found["value"] * found["n"]), found["n"]).proportion_ci(
            1.0 - 0.05 / len(cells), method="wilson"
        )
        assert float(row["of_answered"]) == pytest.approx(100 * found["value"])
        assert int(row["answered"]) == found["n"]
        assert float(row["low_of_all"]) == pytest.approx(100 * max(0.0, theirs.low), abs=1e-6)
        assert float(row["high_of_all"]) == pytest.approx(100 * min(1.0, theirs.high), abs=1e-6)
        assert float(row["low_of_all"]) <= float(row["low"]) <= float(row["high"])


def test_vlas_equal_the_json_and_their_published_rows_too(results: Path) -> None:
    tree = json.loads((results / "vla.json").read_text())
    rows = _table(results, "vla_leaderboard")
    own = {row["model"]: row for row in rows if row["source"] == HERE}
    for item in tree["rows"]:
        if item["main"] and not item["level"]:
            row = own[item["subject"]]
            assert float(row["score"]) == item["overall"]
            assert float(row["low"]) == item["low"]
    assert float(own["expert"]["score"]) == pytest.approx(100.0)
    assert sum(row["source"] == PUBLISHED for row in rows) == 11


def test_items_that_every_subject_fails_are_shown_with_their_images(results: Path, page: str) -> None:
    failed = json.loads((results / "vlm.json").read_text())["failed_by_all"]
    assert failed
    shown = [int(number) for number in re.findall(r'alt="Item (\d+)"', page)]
    assert shown == failed
    assert page.count("data:image/webp;base64,") == len(failed)
    assert "(right)" in page


def test_the_page_is_self_contained_and_escapes_words_of_the_benchmark(page: str) -> None:
    assert "<script" not in page
    assert "<b>ball" not in page
    assert "&lt;b&gt;ball" in page
    assert not re.search(r'(?:src|href)="(?:https?:)?//', page)
    assert "static-to-simulated" in page
    assert "GPT-4o-mini: columns of first and third person are swapped" in page


def test_places_put_numbers_from_the_highest_down_and_absent_values_last() -> None:
    columns = (Column("Name"), Column("Number"))
    table = Table("t", "T", columns, [("b", 1.0), ("A", None), ("c", 3.0)], sorted_by="Number")
    assert [table.ranks(row) for row in range(3)] == [(1, 1), (0, 2), (2, 0)]


def test_without_the_benchmark_the_page_says_so(results: Path, tmp_path: Path) -> None:
    record = results / "evaluation.json"
    before = record.read_text()
    try:
        record.write_text(json.dumps({"bench": str(tmp_path / "gone")}))
        assert main(["report", str(results), "--out", str(tmp_path / "page.html")]) == 0
    finally:
        record.write_text(before)
    text = (tmp_path / "page.html").read_text()
    assert "Images are left out" in text
    assert "data:image/webp" not in text


@pytest.mark.skipif(executable() is None, reason="no Chromium")
@pytest.mark.parametrize("width", [1280, 420])
def test_a_browser_sorts_by_the_chosen_column_and_nothing_is_cut(
    results: Path, tmp_path: Path, width: int
) -> None:
    top = """[...document.querySelectorAll('#sort-vlm_leaderboard tbody tr')]
        .sort((a, b) => a.getBoundingClientRect().top - b.getBoundingClientRect().top)
        .map((row) => row.cells[0].textContent)"""
    with chromium(tmp_path / "profile") as browser:
        browser.show(results / "report.html", width, "light")
        first = browser.value(top)
        assert first[0] == "InternVL2.5-78B-MPO"
        browser.value(
            "[...document.querySelectorAll('#sort-vlm_leaderboard th label')]"
            ".find((label) => label.textContent == 'Micro perception').click()"
        )
        second = browser.value(top)
        assert second[0] == "InternVL2.5-38B-MPO"
        assert sorted(first) == sorted(second)
        assert browser.value("document.documentElement.scrollWidth") <= width


@needs_axe
def test_axe_finds_no_violation(results: Path, tmp_path: Path) -> None:
    with chromium(tmp_path / "profile") as browser:
        assert report_violations(browser, results / "report.html") == []
