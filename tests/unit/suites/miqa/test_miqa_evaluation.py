"""Evaluation on labels of machine vision: the logistic, its identity, subsets, intervals, the split."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from embodied_iqa.base.errors import InputError, UsageError
from embodied_iqa.base.jobs.engine import EngineOptions
from embodied_iqa.base.jobs.folder import JobFolder
from embodied_iqa.base.records import read_json
from embodied_iqa.cli.main import main
from embodied_iqa.models.vision.predictions import VisionTask
from embodied_iqa.pages.reports.kit.formatting import number
from embodied_iqa.pages.reports.miqa.miqa_report import evaluation_chapters
from embodied_iqa.pages.reports.miqa.published_metrics import published_rows
from embodied_iqa.pages.reports.stored import write_report
from embodied_iqa.quality.metrics.benchmark.logistic import Logistic, fit_logistic
from embodied_iqa.suites.miqa.evaluation.agreement import agreements, mapped_to_labels
from embodied_iqa.suites.miqa.evaluation.comparing import MeasuredMetric, compare_task, held_out_rows
from embodied_iqa.suites.miqa.evaluation.evaluating import EvaluationPlan, evaluate
from embodied_iqa.suites.miqa.evaluation.evaluation_results import Breakdown, MiqaEvaluation
from embodied_iqa.suites.miqa.training_rows import Label, held_out_set, parse_target, training_set
from miqa_folders import KINDS, make_miqa

CLS, DET = VisionTask.CLASSIFICATION, VisionTask.DETECTION


@pytest.mark.parametrize("seed", range(5))
def test_the_error_after_the_logistic_follows_from_the_correlation(seed: int) -> None:
    rng = np.random.default_rng(seed)
    labels = rng.beta(2, 1, 400)
    values = 30 + 12 * labels**2 + rng.normal(0, 4, 400)
    mapped = mapped_to_labels(values, labels)
    (found,) = agreements(values[:, None], mapped[:, None], labels)
    assert found.plcc is not None
    assert found.rmse == pytest.approx(labels.std() * np.sqrt(1 - found.plcc**2), abs=1e-12)
    assert found.plcc >= np.corrcoef(values, labels)[0, 1]


def test_all_published_rows_satisfy_the_same_identity() -> None:
    rows = [row for row in published_rows() if row.rmse is not None and row.plcc is not None]
    assert len(rows) == 33
    deviations = {"cls": 0.3008, "det": 0.2835, "ins": 0.2729}
    for row in rows:
        assert row.rmse is not None
        assert row.plcc is not None
        assert row.rmse / np.sqrt(1 - row.plcc**2) == pytest.approx(deviations[row.task], abs=2e-4), row


def test_the_logistic_recovers_known_parameters() -> None:
    rng = np.random.default_rng(3)
    values, true = rng.uniform(10, 50, 300), Logistic(0.8, 0.3, 28.0, 0.004, 0.5)
    found = fit_logistic(values, true(values))
    assert found is not None
    np.testing.assert_allclose(
        [found.a1, found.a2, found.a3, found.a4, found.a5], [0.8, 0.3, 28.0, 0.004, 0.5], rtol=1e-4
    )
    np.testing.assert_allclose(mapped_to_labels(values, true(values)), true(values), atol=1e-8)


def test_a_constant_metric_has_no_correlation_and_the_spread_of_the_labels_as_error() -> None:
    labels = np.linspace(0, 1, 20)
    mapped = mapped_to_labels(np.full(20, 3.0), labels)
    (found,) = agreements(np.full((20, 1), 3.0), mapped[:, None], labels)
    assert (found.srcc, found.plcc, found.krcc) == (None, None, None)
    assert found.rmse == pytest.approx(labels.std())


def test_training_and_held_out_images_share_no_reference(tmp_path: Path) -> None:
    database = make_miqa(tmp_path / "db", 11)
    parts = training_set(database, CLS, Label.COMPOSITE), held_out_set(database, CLS, Label.COMPOSITE)
    training, held_out = (set(part.reference_ids) for part in parts)
    assert not training & held_out
    assert training | held_out == {f"r{index:02d}" for index in range(11)}
    assert not set(parts[0].pair_ids) & set(parts[1].pair_ids)
    assert {row.reference for row in held_out_rows(database, CLS)} == held_out
    some = held_out_rows(database, CLS, images_each=4)
    assert len(some) == 4 * len(held_out)
    assert set(some) < set(held_out_rows(database, CLS))
    accuracy = training_set(database, CLS, Label.ACCURACY).labels
    np.testing.assert_allclose(accuracy / parts[0].labels, 0.9 / 0.95)


def test_targets_name_task_and_label() -> None:
    assert parse_target("miqa:det:accuracy") == (DET, Label.ACCURACY)
    assert parse_target("miqa:cls") == (CLS, Label.COMPOSITE)
    with pytest.raises(UsageError, match=r"wrong target; expected miqa:TASK:LABEL.*got 'miqa:depth'"):
        parse_target("miqa:depth")


def test_subsets_and_paired_differences(tmp_path: Path) -> None:
    rows = held_out_rows(make_miqa(tmp_path / "db", 20), CLS)
    labels = np.array([row.composite for row in rows])
    rng = np.random.default_rng(0)
    values = {
        "good": labels + rng.normal(0, 0.01, len(rows)),
        "noisy": labels + rng.normal(0, 0.2, len(rows)),
    }
    values["failed"] = np.where(np.arange(len(rows)) % 2, values["good"], np.nan)
    metrics = [MeasuredMetric(name, "", column, 1.0) for name, column in values.items()]
    found = compare_task(CLS, Label.COMPOSITE, rows, metrics, draws=60)
    assert found.facts.images == 4 * 50
    assert found.facts.references == 4
    assert {row.metric: row.failures for row in found.metrics} == {"good": 0, "noisy": 0, "failed": 100}
    by = {one: {row.value: row.images for row in found.subsets if row.by is one} for one in Breakdown}
    assert by[Breakdown.MODE] == {"UD": 40, "ROI-DD": 80, "BG-DD": 80}
    assert by[Breakdown.KIND] == dict.fromkeys(sorted(KINDS), 100)
    assert len(by[Breakdown.LEVELS]) == 25
    (difference,) = [row for row in found.differences if {row.first, row.second} == {"good", "noisy"}]
    assert difference.first == "good"
    assert difference.value > 0.2
    assert (difference.low, difference.high) == (None, None), "four references give no interval"
    assert {(row.low, row.high) for row in found.metrics} == {(None, None)}


def test_an_evaluation_is_written_reported_and_reuses_what_was_measured(tmp_path: Path) -> None:
    database = make_miqa(tmp_path / "db", 5, (CLS, DET))
    plan, out = EvaluationPlan(("psnr", "gmsd"), (CLS, DET), draws=20), tmp_path / "out"
    steps: list[int] = []
    result = evaluate(database, plan, out, EngineOptions(), lambda _, done, __: steps.append(done))
    assert steps == [1, 1]
    again = evaluate(database, plan, out, EngineOptions(), lambda *_: pytest.fail("measured again"))
    assert [row.agreement for row in again.metrics] == [row.agreement for row in result.metrics]
    assert read_json(MiqaEvaluation, out / "evaluation.json", "it") == again
    with (
        JobFolder(out, "evaluation of metrics").locked(),
        pytest.raises(InputError, match="another evaluation"),
    ):
        evaluate(database, plan, out, EngineOptions(), lambda *_: None)
    psnr = next(row for row in result.metrics if (row.metric, row.task) == ("psnr", CLS))
    assert psnr.agreement.srcc is not None
    assert psnr.agreement.srcc > 0.3
    page = write_report(out).read_text(encoding="utf-8")
    assert "published: RA-MIQA" in page
    assert "psnr" in page
    tables = {file.stem for file in (out / "report_tables").iterdir()}
    assert {"agreement_cls", "mode_det", "type_cls", "levels_cls", "transfer", "differences_det"} <= tables


def test_published_numbers_of_other_labels_do_not_stand_beside(tmp_path: Path) -> None:
    database = make_miqa(tmp_path / "db", 5, (CLS, DET))
    plan = EvaluationPlan(("psnr",), (CLS, DET), Label.ACCURACY, draws=20)
    result = evaluate(database, plan, tmp_path / "out", EngineOptions(), lambda *_: None)
    chapters = {chapter.anchor: chapter for chapter in evaluation_chapters(result)}
    assert chapters["agreement"].paper == "RA-MIQA, accuracy labels: cls 0.66, det 0.74, ins 0.74."
    (table,) = (table for part in chapters["transfer"].parts for table in part.tables)
    assert not table.rows
    composite = replace(result, label=Label.COMPOSITE)
    (*_, last) = evaluation_chapters(composite)
    assert [row[:2] for row in last.parts[0].tables[0].rows] == [
        ("published: RA-MIQA", "cls"),
        ("published: RA-MIQA", "det"),
    ]
    assert next(evaluation_chapters(composite)).paper.endswith("cls 0.70, det 0.81, ins 0.82.")


def test_the_results_page_shows_labels_and_published_rows(tmp_path: Path) -> None:
    database = make_miqa(tmp_path / "db", 5, (CLS, DET))
    plan = EvaluationPlan(("psnr", "gmsd"), (CLS, DET), draws=20, images_each=5)
    result = evaluate(database, plan, tmp_path / "out", EngineOptions(), lambda *_: None)
    assert [facts.images for facts in result.tasks] == [5, 5]
    page = tmp_path / "page.md"
    page.write_text(
        "A note.\n\n<!-- begin labels -->\n<!-- end labels -->\n<!-- begin miqa -->\n<!-- end miqa -->\n"
    )
    for folder in (database.path, tmp_path / "out"):
        assert main(["report", str(folder), "--markdown", str(page)]) == 0
    text = page.read_text(encoding="utf-8")
    composite = float(np.mean([row.composite for row in database.rows(DET)]))
    assert f"| det | 5 | 250 | 0 | {number(composite / 0.95, 3)}" in text
    assert text.count("published: RA-MIQA") >= 2
    assert text.startswith("A note.")
    assert main(["report", str(database.path)]) == 0
    assert "Labels of machine vision: 250 images of cls" in (database.path / "report.html").read_text("utf-8")


def test_the_command_prints_intervals_and_refuses_unknown_tasks(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    database = make_miqa(tmp_path / "db", 5)
    words = ["evaluate", "miqa", "psnr", str(database.path), "--out", str(tmp_path / "out"), "--draws", "10"]
    assert main([*words, "--metrics", "gmsd", "--json"]) == 0
    tree = json.loads(capsys.readouterr().out)
    assert {row["metric"] for row in tree["metrics"]} == {"psnr", "gmsd"}
    assert main([*words, "--vision-task", "depth"]) == 2
    assert "argument --vision-task: unknown word" in capsys.readouterr().err
    assert main([*words, "--metrics", ""]) == 0
    assert "report:" in capsys.readouterr().out


def test_metrics_are_compared_on_references_that_none_of_them_was_trained_on(tmp_path: Path) -> None:
    database = make_miqa(tmp_path / "db", 15, (CLS,))
    make_miqa(tmp_path / "db", 15, (DET,), seed=8)  # another split
    own = {task: {row.reference for row in held_out_rows(database, task)} for task in (CLS, DET)}
    assert own[CLS] != own[DET]
    moved = held_out_rows(database, CLS, trained=[DET])
    assert {row.reference for row in moved} == own[DET]
    assert {row.image for row in moved} <= {row.image for row in database.rows(CLS)}
    both = own[CLS] & own[DET]
    assert both
    assert {row.reference for row in held_out_rows(database, DET, trained=[CLS, DET])} == both


def test_a_database_without_held_out_references_is_refused(tmp_path: Path) -> None:
    database = make_miqa(tmp_path / "db", 2)
    with pytest.raises(InputError, match="no held-out images of cls"):
        held_out_rows(database, CLS)
