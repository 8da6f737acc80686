"""`embodied-iqa miqa score`: what images are worth to machine vision, by a trained metric."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

from embodied_iqa.base.errors import UsageError
from embodied_iqa.cli.metrics.scores import print_scores
from embodied_iqa.cli.metrics.scoring import scores_of
from embodied_iqa.data.database.clean_frames import open_clean
from embodied_iqa.quality.metrics import MetricContext, Needs
from embodied_iqa.quality.metrics.catalogue import metric_by_name
from embodied_iqa.quality.metrics.learned.trained import KIND


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    add = parser.add_argument
    add("images", nargs="+", type=Path, metavar="IMAGE", help="images, or folders of images")
    add("--trained", type=Path, required=True, metavar="DIR", help="folder of `embodied-iqa miqa train`")
    add("--json", action="store_true", help="print the values as JSON")


def run(arguments: argparse.Namespace) -> int:
    """Measure images, and those of folders, with a trained metric; return 1 if one has no value."""
    metric = metric_by_name(f"{KIND}:{arguments.trained}")
    if metric.info.needs is Needs.REFERENCE:
        raise UsageError(
            f"{arguments.trained} compares with a reference",
            expected="`embodied-iqa metrics score` with --reference",
        )
    scored = []
    for path in arguments.images:
        found = scores_of(metric, open_clean(path), None, MetricContext())
        scored += [replace(row, image=str(path / row.image) if path.is_dir() else str(path)) for row in found]
    print_scores(metric.info, scored, as_json=arguments.json)
    return int(any(row.value is None for row in scored))
