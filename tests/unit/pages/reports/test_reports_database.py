"""The report of a database: tables as CSV, whole or not at all, and the page in a real browser."""

from __future__ import annotations

import csv
import html
import json
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from chromium_pipe import Browser, chromium, executable
from database_folders import write_database, write_experiment
from embodied_iqa.base.tables import write_table
from embodied_iqa.cli.main import main
from embodied_iqa.data.analysis.breakdowns import columns_of
from embodied_iqa.data.analysis.grid import Group
from embodied_iqa.data.analysis.loading import load_grid
from embodied_iqa.data.analysis.study import TOTAL, GroupStudy
from embodied_iqa.data.database.query import query
from embodied_iqa.data.database.schema import REFERENCES, SCHEMA_VERSION, SCORES
from embodied_iqa.data.database.store import DatabaseStore
from embodied_iqa.data.export.opinions import opinions_of
from embodied_iqa.data.export.plain import opinion_columns
from embodied_iqa.pages.reports.database import header
from embodied_iqa.pages.reports.database.database_report import write_database_report
from embodied_iqa.quality.metrics.benchmark.targets import available_targets, subsets_of, target_scores
from page_checks import CONTRAST, sticking_out

ROOT = Path(__file__).resolve().parents[4]
HOMES = {"vla-0": "top", "vla-1": "side", "vla-2": "wrist", "vlm-0": "top"}
NAMES = ("cognition", "precision", "recall", "semantics", "decision", "position", "rotation", "state")
BROWSER = pytest.mark.skipif(
    executable() is None, reason="needs a browser: apt-get install chromium (Debian) to look at the page"
)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> DatabaseStore:
    folder = tmp_path_factory.mktemp("report")
    store = write_database(folder / "db <&> one", references=12)
    assert main(["db", "join-execution", str(store.path), str(write_experiment(folder / "exp"))]) == 0
    assert main(["report", str(store.path)]) == 0
    return store


@pytest.fixture(scope="module")
def page(store: DatabaseStore) -> Path:
    return store.path / "report.html"


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with chromium(tmp_path_factory.mktemp("profile")) as found:
        yield found


def test_a_mix_of_sources_is_shown_by_source(tmp_path: Path) -> None:
    """The simulated cell, LIBERO and photographs: in the report as in a benchmark."""
    mixed = write_database(tmp_path / "mixed", references=12)
    rows = mixed.references().to_pylist()
    for row in rows[1::3]:
        row["source"] = "libero"
    write_table(mixed.references_file, pa.Table.from_pylist(rows, schema=REFERENCES), REFERENCES)
    grid = load_grid(mixed)
    for target in target_scores(grid, available_targets(grid)):
        found = {one.value: one.references for one in subsets_of(target, grid.pairs) if one.by == "source"}
        assert found == {"folder": 4, "libero": 4, "simulation": 4}
    assert "source" in columns_of(grid.pairs), "by which the report has a table each"
    assert "source" not in load_grid(write_database(tmp_path / "two", references=3)).pairs.labels


def test_every_table_of_the_page_has_its_csv_file(page: Path) -> None:
    folder = page.with_name("report_tables")
    named = set(re.findall(r'href="report_tables/(\w+\.csv)"', page.read_text(encoding="utf-8")))
    assert named == {file.name for file in folder.iterdir()}
    for file in folder.iterdir():
        rows = list(csv.reader(file.read_text(encoding="utf-8").splitlines()))
        assert len(rows) > 1
        assert len({len(row) for row in rows}) == 1
        assert len(set(rows[0])) == len(rows[0]), file.name
        cells = {cell for row in rows for cell in row}
        assert "nan" not in cells
        assert not [cell for cell in cells if "np." in cell]


def test_numbers_in_the_csv_files_are_those_of_pandas(store: DatabaseStore, page: Path) -> None:
    scores = store.scores().to_pandas()
    totals = scores[scores["role"] == "vlm"].pivot_table("score", "pair_id", "subject", "sum")
    pairs = store.pairs().to_pandas().set_index("pair_id")
    means = totals.mean(axis=1).groupby([pairs["distortion_id"], pairs["level"]]).mean()
    table = pd.read_csv(page.with_name("report_tables") / "distributions_cognition.csv")
    for _, row in table.iterrows():
        for level in range(1, 6):
            expected = means.get((row["distortion"][:2], level), np.nan)
            np.testing.assert_allclose(row[f"mean_level_{level}"], expected)
    matrix = pd.read_csv(page.with_name("report_tables") / "srcc_cognition_score.csv", index_col=0)
    np.testing.assert_allclose(matrix.to_numpy(), totals.corr("spearman").to_numpy(), atol=1e-9)


def test_the_page_names_what_the_paper_found(page: Path) -> None:
    text = html.unescape(re.sub(r"<[^>]+>", " ", page.read_text(encoding="utf-8")))
    with (page.with_name("report_tables") / "agreement.csv").open(encoding="utf-8") as stream:
        agreement = {row["dimension"]: row for row in csv.DictReader(stream)}
    assert [agreement[part]["paper_mean_srcc"] for part in ("precision", "rotation")] == ["0.31", "0.23"]
    assert "0.671" in text
    assert "Paper: VLAs are very sensitive to it" in text


def test_the_same_database_gives_the_same_page(store: DatabaseStore, page: Path, tmp_path: Path) -> None:
    assert write_database_report(store, tmp_path / "report.html").read_bytes() == page.read_bytes()
    again = sorted((tmp_path / "report_tables").iterdir())
    assert [f.read_bytes() for f in again] == [
        f.read_bytes() for f in sorted(page.with_name("report_tables").iterdir())
    ]


def test_other_files_are_not_replaced(
    store: DatabaseStore, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "mine_tables").mkdir()
    (tmp_path / "mine_tables" / "thesis.tex").write_text("years")
    assert main(["report", str(store.path), "--out", str(tmp_path / "mine.html")]) == 1
    assert "other files" in capsys.readouterr().err
    assert (tmp_path / "mine_tables" / "thesis.tex").read_text() == "years"
    assert sorted(item.name for item in tmp_path.iterdir()) == ["mine_tables"]


def test_a_folder_that_is_neither_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", str(tmp_path)]) == 1
    assert main(["report", str(tmp_path), "--all-views"]) == 2
    assert "is not a database" in capsys.readouterr().err


def test_constant_and_missing_scores_are_reported(tmp_path: Path) -> None:
    store = write_database(tmp_path / "db", references=3)
    table = store.scores()
    other = pc.and_(pc.equal(table["subject"], "vla-1"), pc.equal(table["rank"], 2))
    for name in ("score", "position", "rotation", "state"):
        column = pc.if_else(pc.equal(table["subject"], "vla-0"), 1.0, table[name])
        column = pc.if_else(other, pa.scalar(None, pa.float64()), column)
        table = table.set_column(table.schema.get_field_index(name), SCORES.field(name), column)
    write_table(store.scores_file, table, SCORES)
    text = write_database_report(store).read_text(encoding="utf-8")
    assert "vla-0 gave every pair the same score" in text
    assert "90 pairs without the decision score of every VLA" in text
    assert "vla-1 scored no pair completely: not counted." in text
    headline = r"3 VLMs rank the images of 3 references alike with SRCC 0\.\d\d "
    headline += r"\(no interval: 3 references, 10 are needed\)"
    assert re.search(headline + "; 2 VLAs scored", text)
    worst = r"Worst for decision: \d\d [\w ]+, mean \d\.\d\d; whether it is a tie cannot be said from 3 "
    assert re.search(worst, text)
    assert "the mean of a distortion mixes mild and severe levels" in text
    assert ">nan<" not in text.lower()
    one = write_database(tmp_path / "one", references=1)
    text = write_database_report(one).read_text(encoding="utf-8")
    assert "(no interval: 1 reference, 10 are needed); 3 VLAs rank the images of 1 reference alike" in text


@pytest.mark.parametrize(
    ("agreeing", "words"),
    [
        ({(0, 1), (0, 2), (1, 2)}, "3 VLMs"),
        ({(0, 1), (1, 2)}, "3 VLMs (2 pairs)"),
        ({(0, 1)}, "2 of 3 VLMs (1 pair)"),
        (set(), "3 VLMs"),
    ],
)
def test_the_headline_counts_the_subjects_that_share_images(
    agreeing: set[tuple[int, int]], words: str
) -> None:
    matrix = np.where(np.eye(3, dtype=bool), 1.0, np.nan)
    for first, second in agreeing:
        matrix[first, second] = matrix[second, first] = 0.5
    study = SimpleNamespace(agreements={TOTAL: SimpleNamespace(matrix=matrix)}, scored=("a", "b", "c"))
    assert header._subjects(Group.COGNITION, cast("GroupStudy", study)) == words


def test_the_page_says_which_subjects_count_for_a_view(tmp_path: Path) -> None:
    homes = {"vlm-0": "wrist", "vlm-1": "top", "vlm-2": "top", "vla-0": "side"}
    store = write_database(tmp_path / "db", references=7, homes=homes)
    text = write_database_report(store).read_text(encoding="utf-8")
    assert "2 references without a cognition score: no VLM is made for the view side." in text
    assert "without a decision score" not in text
    views = pd.read_csv(store.path / "report_tables" / "views.csv", index_col="view")
    assert views.loc["top"].tolist() == [2, 2, 3, 2, 3]
    assert views.loc["side"].tolist() == [2, 0, 3, 3, 3]
    by_view = pd.read_csv(store.path / "report_tables" / "by_view.csv", index_col="view")
    assert by_view["cognition_pairs"].to_dict() == {"side": 0, "top": 60, "wrist": 90}
    subjects = pd.read_csv(store.path / "report_tables" / "subjects.csv", index_col="subject")
    assert subjects.loc["vlm-1", ["pairs", "missing", "pairs_of_other_views"]].tolist() == [60, 0, 150]
    assert main(["report", str(store.path), "--all-views"]) == 0
    text = (store.path / "report.html").read_text(encoding="utf-8")
    assert "without a cognition score" not in text
    assert "VLMs also count for images of views that they are not made for" in text


def test_subjects_without_a_single_score_are_reported(tmp_path: Path) -> None:
    store = write_database(tmp_path / "db", references=3, homes={f"vlm-{n}": "top" for n in range(3)})
    table = store.scores()
    is_vla = pc.equal(table["role"], "vla")
    for name in ("score", "position", "rotation", "state"):
        column = pc.if_else(is_vla, pa.scalar(None, pa.float64()), table[name])
        table = table.set_column(table.schema.get_field_index(name), SCORES.field(name), column)
    write_table(store.scores_file, table, SCORES)
    text = write_database_report(store).read_text(encoding="utf-8")
    assert "3 VLAs gave no score that counts" in text
    assert "2 references without a cognition score: no VLM is made for the views side and wrist." in text
    assert "not a number" not in text


def test_scores_of_one_kind_alone_make_a_page(tmp_path: Path) -> None:
    store = write_database(tmp_path / "db", references=3, subjects=1)
    table = store.scores()
    write_table(store.scores_file, table.filter(pc.equal(table["role"], "vla")), SCORES)
    assert "No subject of cognition" in write_database_report(store).read_text(encoding="utf-8")


@BROWSER
@pytest.mark.parametrize(
    ("width_px", "scheme"), [(320, "light"), (390, "dark"), (1024, "light"), (1440, "dark")]
)
def test_page_opens_without_complaint(browser: Browser, page: Path, width_px: int, scheme: str) -> None:
    browser.show(page, width_px, scheme)
    browser.value("document.querySelectorAll('details').forEach(item => item.open = true)")
    complaints = {"Log.entryAdded", "Runtime.exceptionThrown", "Network.loadingFailed"}
    assert [event for event in browser.events if event["method"] in complaints] == []
    asked = [
        e["params"]["request"]["url"] for e in browser.events if e["method"] == "Network.requestWillBeSent"
    ]
    assert [url for url in asked if not url.startswith("data:")] == [page.resolve().as_uri()]
    assert browser.value("document.documentElement.scrollWidth") <= width_px
    assert browser.value(sticking_out(width_px, ".scroll", ".visually-hidden")) == []
    assert browser.value("document.querySelectorAll('.spread').length") > 2 * 3 * 30
    assert browser.value("document.querySelectorAll('.scatter circle').length") == 2 * 30


@BROWSER
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_words_and_numbers_can_be_read(browser: Browser, page: Path, scheme: str) -> None:
    """WCAG 2.2, 1.4.3: contrast of at least 4.5."""
    browser.show(page, 1440, scheme)
    browser.value("document.querySelectorAll('details').forEach(item => item.open = true)")
    assert browser.value(CONTRAST) == []


@BROWSER
def test_drawings_have_words_and_lie_where_the_numbers_say(browser: Browser, page: Path) -> None:
    browser.show(page, 1440, "light")
    assert (
        browser.value("[...document.querySelectorAll('svg[role=img]')].filter(i => !i.ariaLabel).length") == 0
    )
    places = browser.value("""[...document.querySelectorAll('.with-number .spread')].map(svg => {
      const dot = svg.querySelector('circle'), frame = svg.getBoundingClientRect();
      if (!dot || !svg.ariaLabel.includes('pairs')) return null;
      const box = dot.getBoundingClientRect();
      return [parseFloat(svg.ariaLabel.match(/: ([0-9.]+)/)[1]),
              5 * ((box.left + box.right) / 2 - frame.left) / frame.width];
    }).filter(item => item)""")
    assert len(places) > 60
    np.testing.assert_allclose([a for a, _ in places], [b for _, b in places], atol=0.02)


@BROWSER
@pytest.mark.parametrize("width_px", [390, 1440])
def test_words_of_drawings_stay_inside(browser: Browser, page: Path, width_px: int) -> None:
    browser.show(page, width_px, "light")
    outside = """[...document.querySelectorAll('.scatter text, .axis-ticks text')].filter(item => {
      const a = item.getBoundingClientRect(), b = item.ownerSVGElement.getBoundingClientRect();
      const gap = item.closest('.axis-ticks') ? 8 : 1;  // lanes are 16 pixels apart
      return a.left < b.left - gap || a.right > b.right + gap || a.top < b.top - 1 || a.bottom > b.bottom + 1;
    }).map(item => item.textContent)"""
    assert browser.value(outside) == []


@BROWSER
def test_page_prints(browser: Browser, page: Path) -> None:
    browser.show(page, 794, "dark", medium="print")
    assert browser.value("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert browser.value(CONTRAST) == []
    assert browser.value("document.documentElement.scrollWidth") <= 794


def _with_answers_elsewhere(path: Path) -> DatabaseStore:
    """A database whose VLAs fail under distortion 07, but not in views that they are not made for."""
    store = write_database(path, references=9, homes=HOMES)
    table = store.scores()
    tested = pc.and_(pc.equal(table["role"], "vla"), pc.equal(table["distortion_id"], "07"))
    for name in ("score", "position", "rotation", "state"):
        column = pc.if_else(tested, pc.if_else(table["own_view"], 0.2, 1.0), table[name])
        table = table.set_column(table.schema.get_field_index(name), SCORES.field(name), column)
    missing = pc.and_(pc.equal(table["subject"], "vla-0"), pc.equal(table["pair_id"], "r00001-03"))
    column = pc.if_else(missing, pa.scalar(None, pa.float64()), table["score"])
    table = table.set_column(table.schema.get_field_index("score"), SCORES.field("score"), column)
    write_table(store.scores_file, table, SCORES)
    return store


def _documented(language: str, start: str) -> str:
    """The block of docs/database.md that holds a line with this start."""
    text = (ROOT / "docs" / "database.md").read_text(encoding="utf-8")
    return next(block for block in re.findall(rf"```{language}\n(.*?)```", text, re.DOTALL) if start in block)


def test_documented_queries_name_the_same_worst_distortion_as_the_report(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    store = _with_answers_elsewhere(tmp_path / "DB")
    write_database_report(store)
    reported = pd.read_csv(tmp_path / "DB" / "report_tables" / "by_distortion.csv")
    expected = dict(zip(reported["distortion"].str[:2], reported["decision_mean"], strict=True))
    worst = min(expected, key=expected.__getitem__)
    assert worst == "07"
    every = store.scores().to_pandas().query("role == 'vla'").groupby("distortion_id").score.mean()
    assert every.idxmin() != worst, "a mean over all rows would name the same"
    (line,) = [line for line in _documented("", "db sql DB").splitlines() if "db sql" in line]
    assert main([*shlex.split(line)[1:], "--json"]) == 0
    rows = [tuple(row.values()) for row in json.loads(capsys.readouterr().out)]
    assert rows[0][0] == worst
    assert dict(rows) == pytest.approx(expected)
    names: dict[str, object] = {}
    exec(_documented("python", "opinions"), names)
    assert dict(names["means"]) == pytest.approx(expected)
    assert names["means"].index[0] == worst


def test_every_column_of_the_opinions_is_that_of_the_export(tmp_path: Path) -> None:
    store = _with_answers_elsewhere(tmp_path / "DB")
    view = query(store, "FROM opinions ORDER BY pair_id").to_pylist()
    expected = opinion_columns(opinions_of(load_grid(store)))
    for name in view[0].keys() & expected.keys():
        assert [row[name] for row in view] == pytest.approx(expected[name]), name
    for name in ("refused_mean", "refusal_loss_mean", "wrong_motion_loss_mean"):
        assert name in view[0].keys() & expected.keys()
    assert {f"{name}_{kind}" for name in NAMES for kind in ("mean", "subjects")} <= view[0].keys()
    assert {row["decision_subjects"] for row in view} == {0, 1}


def test_losses_by_refusal_and_wrong_motion_add_up(tmp_path: Path) -> None:
    store = write_database(tmp_path / "DB")
    write_database_report(store)
    page = (store.path / "report.html").read_text(encoding="utf-8")
    assert "Which of the two does less harm is not measured." in page
    rows = store.scores().to_pandas().query("role == 'vla'")
    lost = (1 - rows["score"]).groupby(rows["refused"].astype(bool)).mean() * rows.groupby("refused").size()
    pairs = len(store.pairs()) * rows["subject"].nunique()
    for by, last in (("class", "all"), ("distortion", "all"), ("level", "all")):
        table = pd.read_csv(tmp_path / "DB" / "report_tables" / f"losses_by_{by}.csv")
        every = table[table[by].astype(str) == last].iloc[0]
        assert every["refusal_loss"] == pytest.approx(lost[True] / pairs)
        assert every["wrong_motion_loss"] == pytest.approx(lost[False] / pairs)
        assert every["refused_percent"] == pytest.approx(100 * rows["refused"].mean())
        assert table["share_percent"].sum() == pytest.approx(200)
    (row,) = query(
        store, "SELECT avg(decision_mean + refusal_loss_mean + wrong_motion_loss_mean) AS five FROM opinions"
    ).to_pylist()
    assert row["five"] == pytest.approx(5)


def test_databases_of_the_first_schema_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store = write_database(tmp_path / "DB")
    record = store.record_file.read_text()
    store.record_file.write_text(record.replace(f'"schema": {SCHEMA_VERSION}', '"schema": 1'))
    assert main(["report", str(store.path)]) == 1
    assert "is a database of another version" in capsys.readouterr().err
