"""The report of an experiment that compares gates: `report.html`, with every table as CSV beside it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from embodied_iqa.base.errors import InputError
from embodied_iqa.pages.reports.experiment import detectors, gate_arms, goals, policies
from embodied_iqa.pages.reports.kit.chapters import ChapterPage, tables_folder, write_chapters
from embodied_iqa.pages.reports.kit.formatting import distortion_label, number, plural, share
from embodied_iqa.pages.reports.kit.page import Chapter, Tile
from embodied_iqa.runs.experiment.command import command_of
from embodied_iqa.runs.experiment.folder import RECORD_FILE, StoredExperiment, read_experiment
from embodied_iqa.runs.experiment.gate_arms import ALL, Comparison, Measure, compare_arms
from embodied_iqa.runs.peers.stored import ComparedDetectors, read_detectors

REPORT: Final = "report.html"
_LEAST_GATES: Final = 2


def write_experiment_report(
    stored: StoredExperiment, comparison: Comparison, folder: Path, peers: ComparedDetectors | None = None
) -> Path:
    """Write the report of an experiment into its folder, whole or not at all.

    Args:
        stored: The experiment.
        comparison: Its arms.
        folder: With `experiment.json`; the tables go to `report_tables`.
        peers: Failure detectors on its runs; None for no chapter.

    Returns:
        The page's path.

    Raises:
        InputError: The page cannot be written.
    """
    path = folder / REPORT
    write_chapters(path, "experiment.html.j2", build_page(stored, comparison, folder, path, peers))
    return path


def page_of(folder: Path, out: Path) -> ChapterPage:
    """Return the page of a folder of `embodied-iqa experiment`, finished or not, to be written to ``out``.

    Tasks that lack a run of a distortion or a gate are left out, and the page says how many.

    Raises:
        InputError: It compares no gates, no task is finished, or a run is damaged.
        UsageError: It is of another version.
    """
    stored = read_experiment(folder)
    arms = [arm.name for arm in stored.plan.arms]
    if len(arms) < _LEAST_GATES:
        raise InputError(f"{folder} compares no gates", expected="an experiment with --gate off,...")
    if not stored.finished:
        raise InputError(f"no task in {folder} has all of its runs", expected="one or more")
    return build_page(stored, compare_arms(stored.rows, arms), folder, out, read_detectors(folder))


def build_page(
    stored: StoredExperiment, comparison: Comparison, folder: Path, out: Path, peers: ComparedDetectors | None
) -> ChapterPage:
    """Assemble the page.

    Args:
        stored: The experiment.
        comparison: Its arms.
        folder: With `experiment.json`.
        out: Where the page will be.
        peers: Failure detectors on its runs; None for no chapter.
    """
    return ChapterPage(
        name=folder.resolve().name,
        headline=gate_arms.headline(comparison),
        tiles=tuple(_tiles(comparison)),
        remarks=tuple(_remarks(comparison)),
        lead=_lead(stored),
        chapters=tuple(_chapters(stored, comparison, peers)),
        record_text=(folder / RECORD_FILE).read_text(encoding="utf-8"),
        tables_folder=tables_folder(out),
        command=command_of(stored.plan, stored.parameters),
    )


def _chapters(
    stored: StoredExperiment, comparison: Comparison, peers: ComparedDetectors | None
) -> Iterator[Chapter]:
    """Yield the chapters; goals compare one policy with and without a gate."""
    reached = goals.goals_of(comparison)
    if len(stored.plan.subjects) > 1:
        yield policies.chapter(stored)
    elif reached:
        yield goals.chapter(reached, stored.finished)
    yield gate_arms.chapter(comparison)
    if peers is not None:
        yield detectors.chapter(peers)


def _lead(stored: StoredExperiment) -> str:
    """Return what was run, in a sentence."""
    plan = stored.plan
    whole = f"{stored.finished} of {plural(len(plan.tasks), 'scene')}"
    scenes = plural(stored.finished, "scene") if stored.finished == len(plan.tasks) else whole
    specs = [f"{distortion_label(spec.id)} at level {spec.level}" for spec in plan.distortions]
    schedules = sorted({spec.schedule or "constant level" for spec in plan.distortions})
    runs = "Runs on the ROS graph" if stored.parameters.get("engine") == "ros" else "Headless runs"
    return (
        f"{runs} of {', '.join(map(str, plan.subjects))} in {scenes}, undistorted and with "
        f"{', '.join(specs)} ({', '.join(schedules)}), each repeated with {plural(len(plan.arms), 'gate')}: "
        f"{plural(len(stored.rows), 'run')}."
    )


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
