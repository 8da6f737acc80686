"""Metrics and gate statistics of a pair: from a benchmark beside the database, else computed for the page."""

from __future__ import annotations

import re
from html import unescape
from pathlib import Path

import pytest

from benchmark_databases import TRUTH, Truth, telling_database
from database_folders import add_cameras, write_database
from embodied_iqa.base.jobs.engine import EngineOptions
from embodied_iqa.base.tables import rows_of
from embodied_iqa.data.database.schema import Pair
from embodied_iqa.data.database.store import DatabaseStore
from embodied_iqa.pages.studio.browse.browser_images import PairImages, Which
from embodied_iqa.pages.studio.browse.lookup import pair_of
from embodied_iqa.pages.studio.browse.measures import Measures, measures_of
from embodied_iqa.pages.studio.browse.overview import Overview
from embodied_iqa.quality.gate.image_statistics import Statistic, measure
from embodied_iqa.quality.metrics.benchmark.benchmark_plan import BenchmarkPlan, Target
from embodied_iqa.quality.metrics.benchmark.runner import run_benchmark
from embodied_iqa.quality.metrics.metric import MetricContext
from embodied_iqa.quality.metrics.psnr import psnr
from studio_client import client_of


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> DatabaseStore:
    """A database with a benchmark beside it."""
    folder = tmp_path_factory.mktemp("measures")
    store = telling_database(folder / "db", references=10)
    plan = BenchmarkPlan((TRUTH, "psnr"), targets=(Target.DECISION,), repeats=1, draws=2)
    run_benchmark(store, folder / "bench", plan, EngineOptions(), lambda *_: None)
    return store


def _measures(store: DatabaseStore, pair_id: str) -> tuple[Measures, PairImages]:
    overview = Overview(store)
    pair, reference = pair_of(overview, pair_id)
    images = PairImages(store.path, reference, pair)
    return measures_of(overview, images), images


@pytest.mark.parametrize("place", [0, 130, -1])
def test_values_of_a_benchmark_come_first(store: DatabaseStore, place: int) -> None:
    pair = rows_of(Pair, store.pairs())[place]
    found, images = _measures(store, pair.pair_id)
    rows = {row.name: row for row in found.metrics}
    first, second = (images.rgb(which) for which in Which)
    assert rows["psnr"].value == pytest.approx(psnr(second, first))
    assert rows["psnr"].source == "bench"
    assert rows["psnr"].direction == "higher is better"
    truth = Truth().measure(second, first, MetricContext())
    assert (rows[TRUTH].value, rows[TRUTH].source) == (truth, "bench"), "in every block"
    assert rows["ssim"].source == rows["gmsd"].source == "computed"


def test_a_benchmark_of_other_scores_does_not_count(store: DatabaseStore) -> None:
    plan = store.path.parent / "bench" / "plan.json"
    text = plan.read_text()
    try:
        plan.write_text(text.replace('"scores.parquet": "', '"scores.parquet": "0'))
        found, _ = _measures(store, rows_of(Pair, store.pairs())[0].pair_id)
    finally:
        plan.write_text(text)
    assert {row.source for row in found.metrics} == {"computed"}


def test_without_a_benchmark_the_cheap_metrics_are_computed(tmp_path: Path) -> None:
    store = write_database(tmp_path / "made", references=2)
    add_cameras(store, 1)
    found, images = _measures(store, "r00000-12")
    first, second = (images.rgb(which) for which in Which)
    assert {row.name: row.value for row in found.metrics}["psnr"] == pytest.approx(psnr(second, first))
    assert len(found.metrics) == 3
    assert [row.name for row in found.statistics] == [str(name) for name in Statistic]
    expected = measure(second)
    assert [row.distorted for row in found.statistics] == [expected.value(name) for name in Statistic]
    client, _ = client_of(store.path)
    assert "pair/r00000-12/statistics" in client.get("/db/made/pair/r00000-12").text, "in a second request"
    page = unescape(re.sub(r"<.*?>", " ", client.get("/db/made/pair/r00000-12/statistics").text))
    assert "lower is better" in page
    assert f"{psnr(second, first):.3f}" in page
    missing, _ = _measures(store, "r00001-01")
    assert missing.metrics == missing.statistics == ()
    assert "no image of the" in missing.remarks[0]
