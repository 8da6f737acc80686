"""The report of an experiment that compares gates: `report.html`, with every table as CSV beside it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from embodied_iqa.pages.reports.experiment import detectors, gate_arms
from embodied_iqa.pages.reports.kit.chapters import ChapterPage, tables_folder, write_chapters
from embodied_iqa.pages.reports.kit.formatting import number, plural, share
from embodied_iqa.pages.reports.kit.page import Tile
from embodied_iqa.runs.experiment.gate_arms import ALL, Comparison, Measure
from embodied_iqa.runs.peers.stored import ComparedDetectors

REPORT: Final = "report.html"


def write_experiment_report(
    comparison: Comparison, folder: Path, peers: ComparedDetectors | None = None
) -> Path:
    """Write the report of an experiment into its folder, whole or not at all.

    Args:
        comparison: Its arms.
        folder: With `experiment.json`; the tables go to `report_tables`.
        peers: Failure detectors on its runs; None for no chapter.

    Returns:
        The page's path.

    Raises:
        InputError: The page cannot be written.
    """
    path = folder / REPORT
    record = (folder / "experiment.json").read_text(encoding="utf-8")
    page = ChapterPage(
        name=folder.resolve().name,
        headline=gate_arms.headline(comparison),
        tiles=tuple(_tiles(comparison)),
        remarks=tuple(_remarks(comparison)),
        lead=f"{plural(len(comparison.arms), 'gate')} on the same scenes, seeds and schedules.",
        chapters=(gate_arms.chapter(comparison), *(() if peers is None else (detectors.chapter(peers),))),
        record_text=record,
        tables_folder=tables_folder(path),
    )
    write_chapters(path, "experiment.html.j2", page)
    return path


def _tiles(comparison: Comparison) -> Iterator[Tile]:
    for arm in comparison.arms:
        success = comparison.of(ALL, arm, Measure.SUCCESS)
        value, runs = success.estimate.value, plural(success.runs, "run")
        yield Tile(f"Success, {arm}", number(value, 3), f"of {runs}", share(value, 1))


def _remarks(comparison: Comparison) -> Iterator[str]:
    if comparison.left_out:
        yield f"{plural(comparison.left_out, 'match')} left out: the policy fails on undistorted images"
    if comparison.unmatched:
        yield f"{plural(comparison.unmatched, 'situation')} without a run of every gate left out"
