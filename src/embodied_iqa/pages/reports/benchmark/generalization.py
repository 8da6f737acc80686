"""Chapters: metrics on what their training has not seen, and on other databases."""

from __future__ import annotations

from embodied_iqa.pages.reports.benchmark.lines import SRCC_RANGE
from embodied_iqa.pages.reports.kit.page import Chapter, Part
from embodied_iqa.pages.reports.kit.table import Column, Table
from embodied_iqa.quality.metrics.benchmark.benchmark_results import BenchmarkResults


def unseen_chapter(results: BenchmarkResults) -> Chapter:
    """Return the chapter on unseen distortions, subjects and cameras."""
    table = Table.of(
        "What the training has not seen",
        results.unseen,
        {
            Column("Metric"): lambda row: row.metric,
            Column("Unseen", name="study"): lambda row: str(row.study),
            Column("Score", name="target"): lambda row: str(row.target),
            Column("SRCC unseen", 3, SRCC_RANGE): lambda row: row.srcc,
            Column("Low", 3): lambda row: row.low,
            Column("High", 3): lambda row: row.high,
            Column("Spread", 3): lambda row: row.spread,
            Column("SRCC seen", 3, SRCC_RANGE): lambda row: row.seen,
            Column("AUC unseen", 3): lambda row: row.auc,
            Column("Labels agree", 3): lambda row: row.labels,
            Column("Folds"): lambda row: row.folds,
        },
        "SRCC unseen: mean over the folds; low and high: its 95 % interval from drawing whole references "
        "again; spread: over the folds. Types: six distortions at a time left out of the training. Subject: "
        "trained on the opinion of some subjects, tested on that of the others; labels agree: SRCC between "
        "the two opinions. Camera: one view left out. Seen: the same metrics on held-out references with "
        "nothing else unseen. Metrics that are not trained are tested on the same pairs.",
        name="unseen",
    )
    command = "" if results.unseen else "embodied-iqa benchmark DB --out DIR --unseen types,subject,view"
    parts = (Part("", (table,)),) if results.unseen else ()
    return Chapter(
        "unseen", "Unseen distortions, subjects and cameras",
        "Mean and spread over the folds of each study." if parts else "Not part of this benchmark.",
        "", parts, command,
    )  # fmt: skip


def cross_chapter(results: BenchmarkResults) -> Chapter:
    """Return the chapter on other databases and on execution."""
    table = Table.of(
        "Other databases",
        results.cross,
        {
            Column("Metric"): lambda row: row.metric,
            Column("Trained on"): lambda row: row.trained_on or "nothing",
            Column("Tested on"): lambda row: row.tested_on,
            Column("SRCC", 3, SRCC_RANGE): lambda row: row.srcc,
            Column("KRCC", 3): lambda row: row.krcc,
            Column("PLCC raw", 3): lambda row: row.plcc_raw,
            Column("PLCC", 3): lambda row: row.plcc,
            Column("Count"): lambda row: row.count,
        },
        "Execution: mean value of the metric by distortion against the mean execution score of the joined "
        "runs, over distortions, on held-out references, mean over the splits. Human databases: over images; "
        "trained metrics are those of split 0. Metrics trained on one score are tested on all others of this "
        "database in the leaderboards above.",
        name="cross",
    )
    parts = (Part("", (table,)),) if results.cross else ()
    command = "" if results.cross else "embodied-iqa benchmark DB --out DIR --human kadid10k:DIR"
    return Chapter(
        "cross", "Other databases and execution",
        "Trained or chosen here, tested elsewhere; and trained elsewhere." if parts
        else "No human database was given, and no runs are joined to the database.",
        "", parts, command,
    )  # fmt: skip
