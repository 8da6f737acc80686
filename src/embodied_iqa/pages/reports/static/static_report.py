"""The report of a static benchmark: `report.html`, with every table as CSV beside it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from embodied_iqa.pages.reports.kit.chapters import ChapterPage, tables_folder
from embodied_iqa.pages.reports.kit.formatting import number, plural, share
from embodied_iqa.pages.reports.kit.page import Chapter, Tile
from embodied_iqa.pages.reports.static.further import distorted_chapters, failed_chapters, s2d_chapters
from embodied_iqa.pages.reports.static.grey import text_alone_chapters
from embodied_iqa.pages.reports.static.leaderboards import findings_chapter, vla_chapter, vlm_chapter
from embodied_iqa.pages.reports.static.stored_results import StaticResults, read_static_results
from embodied_iqa.suites.static_benchmark.vla.baselines import BASELINES
from embodied_iqa.suites.static_benchmark.vla.timing import Timing
from embodied_iqa.suites.static_benchmark.vla.vla_results import VlaRow
from embodied_iqa.suites.static_benchmark.vlm_scores import SubjectScore, without_dummies

_WHOLE = 100.0


def page_of(folder: Path, out: Path) -> ChapterPage:
    """Return the page of a folder of `embodied-iqa evaluate static`, to be written to ``out``.

    Raises:
        InputError: There are no results, or one is damaged.
    """
    return build_page(read_static_results(folder), tables_folder(out))


def build_page(results: StaticResults, tables: str) -> ChapterPage:
    """Assemble the page; ``tables`` is the name of the folder of CSV files beside it."""
    return ChapterPage(
        name=results.name,
        headline=_headline(results),
        tiles=tuple(_tiles(results)),
        remarks=tuple(_remarks(results)),
        lead="Static evaluation: no robot moves. VLMs answer questions about images; actions of VLAs are "
        "held against an expert's.",
        chapters=tuple(_chapters(results)),
        record_text=str(results.bench),
        tables_folder=tables,
    )


def _chapters(results: StaticResults) -> Iterator[Chapter]:
    if results.vlm is not None:
        yield vlm_chapter(results.vlm)
    if results.vla is not None:
        yield vla_chapter(results.vla)
    yield from distorted_chapters(results)
    yield from text_alone_chapters(results)
    yield from s2d_chapters(results)
    yield from failed_chapters(results)
    yield findings_chapter()


def _best_vlm(results: StaticResults) -> SubjectScore | None:
    rows = [] if results.vlm is None else list(results.vlm.subjects)
    counted = without_dummies(row.subject for row in rows)
    return max((row for row in rows if row.subject in counted), key=lambda row: row.plain.value, default=None)


def _best_vla(results: StaticResults) -> VlaRow | None:
    """Return the best of the policies by one timing: that of their main scores, else that of the arm."""
    rows = [] if results.vla is None else list(results.vla.main_rows())
    rows = [row for row in rows if row.subject not in BASELINES] or rows
    if results.vla is not None and len({row.timing for row in rows}) > 1:
        subjects = {row.subject for row in rows}
        by_arm = [row for row in results.vla.rows if row.timing is Timing.ARM and not row.distortion]
        by_arm = [row for row in by_arm if row.subject in subjects]
        rows = sorted(by_arm, key=lambda row: (-row.overall, row.subject)) or rows
    return next(iter(rows), None)


def _headline(results: StaticResults) -> str:
    vlm, vla = _best_vlm(results), _best_vla(results)
    parts = (
        []
        if vlm is None
        else [f"{vlm.subject} answers {number(_WHOLE * vlm.plain.value, 1)} % of the items correctly"]
    )
    if vla is not None:
        parts.append(f"{vla.subject} has {number(vla.overall, 1)} of 100 points (timing {vla.timing})")
    return f"{'; '.join(parts)}."


def _tiles(results: StaticResults) -> Iterator[Tile]:
    vlm, vla = _best_vlm(results), _best_vla(results)
    if vlm is not None:
        low, high = (number(_WHOLE * end, 1) for end in (vlm.plain.low, vlm.plain.high))
        note = f"{vlm.subject}; {low} to {high}, chance {number(_WHOLE * vlm.chance, 1)}"
        text = number(_WHOLE * vlm.plain.value, 1)
        yield Tile("Best VLM, % of items", text, note, share(vlm.plain.value, 1))
    if vla is not None:
        ends = f"; {number(vla.low, 1)} to {number(vla.high, 1)}" if vla.low is not None else ""
        note = f"{vla.subject}, timing {vla.timing}{ends}"
        yield Tile("Best VLA, points", number(vla.overall, 1), note, share(vla.overall, _WHOLE))


def _remarks(results: StaticResults) -> Iterator[str]:
    for row in () if results.vlm is None else results.vlm.subjects:
        if failed := row.readings["failed"]:
            yield f"{row.subject}: {plural(failed, 'item')} without an answer, counted as wrong"
    if results.outdated:
        number_of = plural(results.outdated, "correlation")
        yield f"{number_of} with execution left out: static scores have changed; run static s2d again"
    for vla in () if results.vla is None else results.vla.main_rows():
        if vla.failed:
            yield f"{vla.subject}: {plural(vla.failed, 'task')} without a usable chunk, counted with 0 points"
