"""`embodied-iqa benchmark`: the command, its page, its tables."""

from __future__ import annotations

import csv
import io
import json
import re
from contextlib import redirect_stdout
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pytest

from benchmark_databases import RECIPE, TRUTH, telling_database
from chromium_pipe import chromium, executable
from embodied_iqa.base.records import read_json
from embodied_iqa.base.tables import write_table
from embodied_iqa.cli.main import main
from embodied_iqa.data.analysis.published_results import published_metrics
from embodied_iqa.data.database.schema import SCORES
from embodied_iqa.data.database.splits import training_references
from embodied_iqa.pages.reports.benchmark.benchmark_report import build_page
from embodied_iqa.pages.reports.benchmark.leaderboard import chapter
from embodied_iqa.pages.reports.kit.figure import Dot
from embodied_iqa.quality.metrics.benchmark.benchmark_results import RESULTS, BenchmarkResults

METRICS = f"psnr,{TRUTH},train:{RECIPE}"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The database, what the benchmark writes of it, and what it prints, 80 columns wide."""
    root = tmp_path_factory.mktemp("benchmark")
    telling_database(root / "db", references=10)
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(io.StringIO()) as printed:
        patch.setenv("COLUMNS", "80")
        assert _benchmark(root) == 0
    (root / "printed.txt").write_text(printed.getvalue(), encoding="utf-8")
    return root


@pytest.fixture(scope="module")
def page(folder: Path) -> str:
    return (folder / "out" / "report.html").read_text(encoding="utf-8")


def _benchmark(folder: Path, *options: str) -> int:
    known = ["--metrics", METRICS, "--repeats", "2", "--draws", "20", "--unseen", "view"]
    return main(["benchmark", str(folder / "db"), "--out", str(folder / "out"), *known, *options])


def test_the_page_says_which_trained_metrics_may_have_seen_what_they_are_tested_on(page: str) -> None:
    assert (
        "train:NAME is trained anew for each split; trained:DIR is tested as it is, also on what it" in page
    )


def test_no_headline_names_a_metric_that_has_seen_the_references(folder: Path) -> None:
    results = read_json(BenchmarkResults, folder / "out" / RESULTS, "the benchmark")
    plain = build_page(results, "", "")
    best = plain.headline.partition(" has the highest SRCC on decision, not shown to be best: ")[0]
    assert "(no interval: 4 references, 10 are needed)." in plain.headline
    sure = replace(results, ranks=tuple(replace(rank, low=0.1, high=0.2) for rank in results.ranks))
    assert build_page(sure, "", "").headline.startswith(f"{best} predicts decision best: SRCC ")
    seen = replace(
        results,
        metrics=tuple(
            replace(row, trained_on_split="0" if row.name == best else "") for row in results.metrics
        ),
    )
    page = build_page(seen, "", "")
    assert "has the highest SRCC on decision" in page.headline
    assert best not in page.headline
    assert not any(best in tile.note for tile in page.tiles)
    every = replace(seen, metrics=tuple(replace(row, trained_on_split="0") for row in seen.metrics))
    assert build_page(every, "", "").headline.startswith("No metric is comparable on decision")
    assert not build_page(every, "", "").tiles


def test_no_tile_names_a_best_metric_where_no_correlation_is_defined(folder: Path) -> None:
    results = read_json(BenchmarkResults, folder / "out" / RESULTS, "the benchmark")
    assert build_page(results, "", "").tiles
    scores = tuple(replace(row, mean={**row.mean, "srcc": None}) for row in results.scores)
    ranks = tuple(replace(rank, srcc=None) for rank in results.ranks)
    page = build_page(replace(results, scores=scores, ranks=ranks), "", "")
    assert page.headline == "No metric has a defined correlation with decision."
    assert not page.tiles


def test_tables_fit_in_80_columns_and_json_is_the_file(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    printed = (folder / "printed.txt").read_text(encoding="utf-8")
    tables, *_ = printed.partition("decision, position")
    assert max(map(len, tables.splitlines())) <= 80
    assert "no PLCC and RMSE: each split tests fewer than 150 pairs" in printed
    assert "decision: mean of 2 splits" in printed
    assert _benchmark(folder, "--json") == 0
    tree = json.loads(capsys.readouterr().out)
    assert tree == json.loads((folder / "out" / "benchmark.json").read_text())


def test_the_lead_says_where_all_references_are_of_simulation(folder: Path) -> None:
    results = read_json(BenchmarkResults, folder / "out" / RESULTS, "the benchmark")
    assert "10 references. The" in build_page(results, "", "").lead
    for origin, words in (("simulation", "10 references of simulation. The"), ("real", "10 references. The")):
        rows = tuple(row for row in results.scores if row.by != "origin" or row.value == origin)
        assert words in build_page(replace(results, scores=rows), "", "").lead


def test_a_mean_says_of_how_many_splits_it_is(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store = telling_database(tmp_path / "db", references=10, subjects=2)
    pairs = {row["pair_id"]: row["reference_id"] for row in store.pairs().to_pylist()}
    first, second = (set(pairs.values()) - set(training_references(pairs.values(), n)) for n in (0, 1))
    assert first - second
    rows = store.scores().to_pylist()
    for row in rows:
        row["score"] = row["score"] if pairs[row["pair_id"]] in first - second else None
    write_table(store.scores_file, pa.Table.from_pylist(rows, schema=SCORES), SCORES)
    options = ["--metrics", "psnr", "--targets", "decision", "--repeats", "2", "--draws", "5"]
    assert main(["benchmark", str(store.path), "--out", str(tmp_path / "out"), *options]) == 0
    expected = "1 of 2 splits (1 holds out fewer than 10 pairs with a score, or equal ones)"
    assert f"decision: mean of {expected}" in " ".join(capsys.readouterr().out.split())
    page = " ".join((tmp_path / "out" / "report.html").read_text(encoding="utf-8").split())
    assert f"Means of {expected}." in page
    assert "over 2 splits of the references, 8:2, or those of them that a table names" in page


def test_another_plan_and_wrong_words_are_usage_errors(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    db, out = str(folder / "db"), str(folder / "out")
    for options, words in (
        (["--metrics", "psnr"], "another plan"),
        (["--targets", "descision"], "argument --targets: unknown word"),
        (["--unseen", "light"], "argument --unseen: unknown word"),
        (["--metrics", "psnrr"], "unknown metric"),
        (["--repeats", "11"], "argument --repeats: expected 1 to 10; got 11"),
        (["--draws", "0"], "argument --draws: expected 1 or more; got 0"),
    ):
        assert main(["benchmark", db, "--out", out, *options]) == 2, options
        error = capsys.readouterr().err
        assert words in error
        assert len(error.strip().splitlines()) == 1


def test_every_table_is_a_csv_file_with_the_numbers_of_the_results(folder: Path, page: str) -> None:
    tables = folder / "out" / "report_tables"
    named = set(re.findall(r'href="report_tables/([\w-]+\.csv)"', page))
    assert named == {file.name for file in tables.iterdir()}
    for file in tables.iterdir():
        rows = list(csv.reader(file.read_text(encoding="utf-8").splitlines()))
        assert len({len(row) for row in rows}) == 1
        assert len(set(rows[0])) == len(rows[0]), file.name
    results = read_json(BenchmarkResults, folder / "out" / "benchmark.json", "the results")
    found = pd.read_csv(tables / "scores.csv", dtype={"value": str}, keep_default_na=False)
    assert len(found) == len(results.scores)
    assert float(found["srcc"][0]) == results.scores[0].mean["srcc"]


def test_every_region_has_a_name_of_its_own(page: str) -> None:
    names = re.findall(r'role="region" aria-label="([^"]*)"', page)
    assert len(names) > 20
    assert len(set(names)) == len(names)


def test_published_rows_are_those_of_the_paper_and_marked(folder: Path, page: str) -> None:
    table = pd.read_csv(folder / "out" / "report_tables" / "paper_decision_srcc.csv").set_index("metric")
    topiq = table.loc["published: TOPIQ-FR, FR"]
    assert (topiq["position_all_all"], topiq["rotation_all_all"]) == (0.7748, 0.6428)
    assert "published: PSNR, zero-shot" in page
    assert len(published_metrics()) == 2 * 15 * 15
    assert table.loc[TRUTH, "decision_all_all"] == pytest.approx(1)
    assert not [column for column in table.columns if "medium" in column]
    assert "medium third" in page


def test_dots_of_negative_values_lie_left_of_zero(folder: Path) -> None:
    results = read_json(BenchmarkResults, folder / "out" / RESULTS, "the benchmark")
    ranks = tuple(
        replace(rank, srcc=-0.2, low=-0.3, high=-0.1) if rank.metric == "psnr" else rank
        for rank in results.ranks
    )
    figure = chapter(replace(results, ranks=ranks)).parts[0].figure
    assert figure is not None
    ticks = {tick.text: tick.at for tick in figure.ticks}
    assert ticks == {"\N{MINUS SIGN}0.5": 0.0, "0.0": 33.33, "0.5": 66.67, "1.0": 100.0}
    (dot,) = {row.lanes[0].dot for row in figure.rows if row.title == "psnr"}
    assert dot == Dot(20.0, 13.33, 26.67)


def test_the_report_of_the_database_shows_the_leaderboard_and_leads_to_the_page(
    folder: Path, tmp_path: Path
) -> None:
    database = folder / "db"
    assert main(["report", str(database)]) == 0
    report = (database / "report.html").read_text(encoding="utf-8")
    assert 'id="leaderboard"' in report
    (place,) = re.findall(r'href="([^"]*out/report.html)"', report)
    assert (database / place).resolve() == (folder / "out" / "report.html").resolve()
    own, other = (root / "report_tables" / "leaderboard_decision.csv" for root in (database, folder / "out"))
    assert own.read_bytes() == other.read_bytes()


def test_a_report_shows_no_benchmark_of_other_scores(tmp_path: Path) -> None:
    store = telling_database(tmp_path / "db", references=4, subjects=2)
    options = ["--metrics", "psnr", "--targets", "decision", "--repeats", "1", "--draws", "5"]
    assert main(["benchmark", str(store.path), "--out", str(tmp_path / "old"), *options]) == 0
    rows = store.scores().to_pylist()
    write_table(store.scores_file, pa.Table.from_pylist(rows[::-1], schema=SCORES), SCORES)
    assert main(["report", str(store.path)]) == 0
    report = (store.path / "report.html").read_text(encoding="utf-8")
    assert 'id="leaderboard"' not in report
    assert "The benchmark in old was made with other pairs or scores: not shown." in report


@pytest.mark.skipif(executable() is None, reason="needs a browser: apt-get install chromium (Debian)")
@pytest.mark.parametrize("width_px", [320, 1440])
def test_nothing_sticks_out_of_the_page(folder: Path, tmp_path: Path, width_px: int) -> None:
    with chromium(tmp_path) as browser:
        browser.show(folder / "out" / "report.html", width_px, "light")
        browser.value("document.querySelectorAll('details').forEach(item => item.open = true)")
        assert browser.value("document.documentElement.scrollWidth") <= width_px
        complaints = {"Log.entryAdded", "Runtime.exceptionThrown", "Network.loadingFailed"}
        assert [event for event in browser.events if event["method"] in complaints] == []
        assert browser.value("document.querySelectorAll('.spread').length") == 3 * 3
