"""Which report a folder of stored results has."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from embodied_iqa.base.errors import InputError
from embodied_iqa.base.user_files.json_files import load_json
from embodied_iqa.data.database.database_folder import is_database
from embodied_iqa.data.database.store import open_database
from embodied_iqa.pages.reports.benchmark import benchmark_report as benchmark
from embodied_iqa.pages.reports.database import database_report as database
from embodied_iqa.pages.reports.experiment import experiment_report as experiment
from embodied_iqa.pages.reports.kit.chapters import ChapterPage, write_chapters
from embodied_iqa.pages.reports.manipulation import manipulation_report as manipulation
from embodied_iqa.pages.reports.miqa import labels
from embodied_iqa.pages.reports.miqa import miqa_report as miqa
from embodied_iqa.pages.reports.panel import vision_panel_report as vision
from embodied_iqa.pages.reports.static import static_report as static
from embodied_iqa.pages.reports.static.stored_results import is_static_results
from embodied_iqa.quality.metrics.benchmark.benchmark_plan import PLAN_FILE
from embodied_iqa.quality.metrics.benchmark.benchmark_results import RESULTS
from embodied_iqa.runs.experiment.folder import RECORD_FILE as EXPERIMENT_FILE
from embodied_iqa.suites.cell_manipulation.planning.planner_results import PLAN_FILE as RUN_FILE
from embodied_iqa.suites.miqa.evaluation.evaluation_results import EVALUATION_FILE

PAGE: Final = "report.html"


@dataclass(frozen=True, slots=True)
class Stored:
    """A kind of stored results with a page of chapters.

    Attributes:
        name: In words; its first word names the section of a Markdown page.
        template: Of the HTML page.
        is_in: Whether a folder holds such results.
        page: Page of a folder, to be written to a path; whether the scores of all views count, and the seed
            of intervals, are for databases.
    """

    name: str
    template: str
    is_in: Callable[[Path], bool]
    page: Callable[[Path, Path, bool, int], ChapterPage]


def _holds(*names: str) -> Callable[[Path], bool]:
    return lambda folder: all((folder / name).is_file() for name in names)


def _is_miqa(folder: Path) -> bool:
    file = folder / EVALUATION_FILE
    if not file.is_file():
        return False
    tree = load_json(file, "an evaluation")
    return isinstance(tree, dict) and "metrics" in tree


def _database(folder: Path, out: Path, all_views: bool, seed: int) -> ChapterPage:  # noqa: FBT001 - a row of a table
    return database.page_of(open_database(folder), out, all_views=all_views, seed=seed)


def _plain(page_of: Callable[[Path, Path], ChapterPage]) -> Callable[[Path, Path, bool, int], ChapterPage]:
    return lambda folder, out, _all_views, _seed: page_of(folder, out)


KINDS: Final = (
    Stored("database", "database.html.j2", is_database, _database),
    Stored("benchmark", "benchmark.html.j2", _holds(RESULTS, PLAN_FILE), _plain(benchmark.page_of)),
    Stored("experiment", "experiment.html.j2", _holds(EXPERIMENT_FILE), _plain(experiment.page_of)),
    Stored("labels of machine vision", "miqa.html.j2", labels.has_labels, _plain(labels.page_of)),
    Stored("miqa evaluation", "miqa.html.j2", _is_miqa, _plain(miqa.page_of)),
    Stored("static benchmark", "static.html.j2", is_static_results, _plain(static.page_of)),
    Stored("vision panel", "vision_panel.html.j2", vision.is_vision_panel, _plain(vision.page_of)),
    Stored("planner run", "manipulation.html.j2", _holds(RUN_FILE), _plain(manipulation.page_of)),
)


def kind_of(folder: Path) -> Stored | None:
    """Return the kind of the results in a folder; None for another folder, such as that of a trial run."""
    return next((kind for kind in KINDS if kind.is_in(folder)), None)


def write_report(folder: Path) -> Path:
    """Write `report.html` into a folder of results that are not those of a trial run; return its path.

    Args:
        folder: Of finished results; the tables go to `report_tables`.

    Raises:
        InputError: It holds no results, a file is damaged, or the page cannot be written.
    """
    kind = kind_of(folder)
    if kind is None:
        raise InputError(f"{folder} holds no results", available=[known.name for known in KINDS])
    path = folder / PAGE
    write_chapters(path, kind.template, kind.page(folder, path, False, 0))
    return path
