"""Reports of a trial, a database, an experiment and vision labels: axe-core finds nothing in them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from report_pages import page_of, reported
from synthetic_trial import BLURRED, NOISY, REFERENCE, write_trial
from test_reports_experiment import gate_runs, stored_gates

from accessibility import needs_axe, report_violations
from chromium_pipe import Browser, chromium
from database_folders import write_database
from embodied_iqa.base.jobs.engine import EngineOptions
from embodied_iqa.cli.main import main
from embodied_iqa.imaging.images.frame import View
from embodied_iqa.models.vision.predictions import VisionTask
from embodied_iqa.pages.reports.experiment.experiment_report import write_experiment_report
from embodied_iqa.pages.reports.stored import write_report
from embodied_iqa.runs.experiment.gate_arms import compare_arms
from embodied_iqa.suites.miqa.evaluation.evaluating import EvaluationPlan, evaluate
from miqa_folders import make_miqa

pytestmark = needs_axe


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with chromium(tmp_path_factory.mktemp("profile")) as found:
        yield found


def test_page_of_a_trial(browser: Browser, tmp_path: Path) -> None:
    views = (View.TOP, View.WRIST)
    trial = write_trial(tmp_path / "trial.mcap", (REFERENCE, BLURRED, NOISY), width_px=320, views=views)
    page_of([reported(trial)], tmp_path)
    assert report_violations(browser, tmp_path / "report.html") == []


def test_page_of_a_database(browser: Browser, tmp_path: Path) -> None:
    store = write_database(tmp_path / "db", references=6, subjects=2)
    assert main(["report", str(store.path)]) == 0
    assert report_violations(browser, store.path / "report.html") == []


def test_page_of_vision_labels(browser: Browser, tmp_path: Path) -> None:
    tasks = (VisionTask.CLASSIFICATION, VisionTask.DETECTION)
    database, out = make_miqa(tmp_path / "db", 5, tasks), tmp_path / "out"
    plan = EvaluationPlan(("psnr", "gmsd"), tasks, draws=20)
    evaluate(database, plan, out, EngineOptions(), lambda *_: None)
    assert report_violations(browser, write_report(out)) == []


def test_page_of_an_experiment(browser: Browser, tmp_path: Path) -> None:
    (tmp_path / "experiment.json").write_text("{}")
    page = write_experiment_report(
        stored_gates(), compare_arms(gate_runs(), ["learned", "off", "oracle"], draws=20), tmp_path
    )
    assert report_violations(browser, page) == []
