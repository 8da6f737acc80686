"""The report of a planner in the simulated cell: `report.html`, with every table as CSV beside it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from embodied_iqa.base.user_files.json_files import parse_json
from embodied_iqa.pages.reports.kit.chapters import ChapterPage, tables_folder, write_chapters
from embodied_iqa.pages.reports.kit.formatting import number, plural, share
from embodied_iqa.pages.reports.kit.page import Chapter, Tile
from embodied_iqa.pages.reports.manipulation.chapters import (
    arms_chapter,
    distortion_chapter,
    failures_chapter,
    leaderboard_chapter,
    success_chapter,
)
from embodied_iqa.pages.reports.manipulation.study import (
    PlannerStudy,
    arm_title,
    load_study,
    mean,
    success_of,
)
from embodied_iqa.suites.cell_manipulation.planning.labels import Labels
from embodied_iqa.suites.cell_manipulation.planning.planner_results import PLAN_FILE

REPORT: Final = "report.html"


def write_manipulation_report(folder: Path, labels: Labels | None = None) -> Path:
    """Write the report of a run into its folder, whole or not at all; return the page's path.

    Args:
        folder: Of `embodied-iqa evaluate manipulation`.
        labels: Hand labels of errors.

    Raises:
        InputError: A file of the run is damaged, or the page cannot be written.
    """
    path = folder / REPORT
    study = load_study(folder, labels)
    write_chapters(path, "manipulation.html.j2", build_page(study, tables_folder(path)))
    return path


def page_of(folder: Path, out: Path) -> ChapterPage:
    """Return the page of a folder of `embodied-iqa evaluate manipulation`, to be written to ``out``.

    Raises:
        InputError: A file is missing or damaged.
    """
    return build_page(load_study(folder), tables_folder(out))


def build_page(study: PlannerStudy, tables: str) -> ChapterPage:
    """Assemble the page.

    Args:
        study: The run.
        tables: Name of the folder of CSV files beside the page.
    """
    return ChapterPage(
        name=study.planner,
        headline=_headline(study),
        tiles=tuple(_tiles(study)),
        remarks=(),
        lead=f"{plural(len(study.transcripts), 'episode')} of cell-manipulation in "
        f"{plural(len(study.arms), 'condition')}: EmbodiedBench's protocol in our simulated cell. "
        f"{_options(study)}",
        chapters=tuple(_chapters(study)),
        record_text=study.record,
        tables_folder=tables,
    )


def _options(study: PlannerStudy) -> str:
    """Return what the planner was shown, in words."""
    plan = parse_json(study.record, str(study.folder / PLAN_FILE))
    prompt = plan["loop"]["prompt"]
    source = prompt["coordinates"]
    detector = f" {prompt['detector']}" if source == "detector" else ""
    words = [f"coordinates from {source}{detector}", f"{prompt['shots']} text examples"]
    words += ["no images"] if prompt["language_only"] else [f"images of {plan['size_px']} px"]
    words += [f"gate judged by {plan['judge']}"] if plan["judge"] else []
    return f"Options: {', '.join(words)}."


def _chapters(study: PlannerStudy) -> Iterator[Chapter]:
    made = (success_chapter(study), distortion_chapter(study), arms_chapter(study), failures_chapter(study))
    yield from (chapter for chapter in made if chapter is not None)
    yield leaderboard_chapter(study)


def _headline(study: PlannerStudy) -> str:
    arm = study.arms[0]
    solved = success_of(study.of(arm))
    ends = f"{100 * solved.low:.1f} to {100 * solved.high:.1f}"
    return (
        f"{study.planner} solves {100 * solved.value:.1f} % of {plural(solved.n, 'episode')} "
        f"(95 % interval {ends}): {arm_title(arm)[0].lower()}{arm_title(arm)[1:]}."
    )


def _tiles(study: PlannerStudy) -> Iterator[Tile]:
    own = study.of(study.arms[0])
    solved = success_of(own)
    yield Tile("Success", f"{100 * solved.value:.1f} %", plural(solved.n, "episode"), share(solved.value, 1))
    turns = mean(len(one.turns) for one in own)
    yield Tile("Planner steps", number(turns), "questions an episode", share(turns, 15))
    errors, answers = sum(one.format_errors for one in own), sum(len(one.turns) for one in own)
    yield Tile("Format errors", str(errors), f"in {plural(answers, 'answer')}", None)
    seconds = mean(turn.asked_s for one in own for turn in one.turns)
    yield Tile("Time of the planner", number(seconds, 2, "s"), "an answer", None)
