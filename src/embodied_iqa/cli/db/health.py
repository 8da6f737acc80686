"""`embodied-iqa db health`: whether a database can tell metrics apart."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from dataclasses import asdict
from math import isfinite
from typing import Any

from embodied_iqa.cli.output import console, next_command, print_json, printable, table_of
from embodied_iqa.data.analysis.grid import Group
from embodied_iqa.data.analysis.health import UNHARMED, ClassLoss, GroupHealth, health
from embodied_iqa.data.analysis.loading import load_grid
from embodied_iqa.data.analysis.resampling import FEWEST_REFERENCES
from embodied_iqa.data.database.store import open_database
from embodied_iqa.data.database.unanswered import unanswered, unseen_targets
from embodied_iqa.imaging.distortions.catalogue import catalogue
from embodied_iqa.imaging.distortions.spec import LEVELS
from embodied_iqa.models.subjects.unseen_targets import Seen
from embodied_iqa.pages.reports.kit.formatting import interval_words


def run(arguments: argparse.Namespace) -> int:
    """Print how the scores of each group lie."""
    store = open_database(arguments.database)
    grid = load_grid(store)
    found = health(grid, {line.id: str(line.distortion_class) for line in catalogue()})
    unseen = unseen_targets(store)
    if arguments.json:
        print_json({str(group): _tree(row, unseen.counts[group.role]) for group, row in found.items()})
        return 0
    for group, row in found.items():
        if isfinite(row.unharmed):
            print_group(group, row)
            continue
        print(f"{group}: no pair has a score")
        for one in unanswered(store, grid.groups[group].subjects):
            print(printable(f"  {one}"))
    for remark in unseen.remarks:
        print(f"note: {remark}")
    next_command("report", arguments.database)
    return 0


def print_group(group: Group, health: GroupHealth) -> None:
    """Print the health of a group of scores."""
    share, levels = 100 * health.unharmed, health.levels
    print(f"{group}: {share:.1f} % of the pairs at {UNHARMED} of 5 or more; ", end="")
    if len(levels) == 1:
        print(f"every pair has level {levels[0]}: nothing can fall with the level")
    else:
        judged = sum(trend.falls is not None for trend in health.trends)
        print(f"{health.falling} of {judged} distortions fall with the level", end="")
        few = len(health.trends) - judged
        print(f"; {few} more have fewer than {FEWEST_REFERENCES} references" if few else "")
    _print_classes(health, severe=len(levels) > 1 or LEVELS[-1] in levels)
    views = table_of("view", "noise ceiling", "splits", right=("splits",))
    for view, ceiling in health.ceilings.items():
        shown = f"{ceiling.ceiling:.3f}" if not ceiling.reason else f"undefined: {ceiling.reason}"
        views.add_row(view, shown, str(ceiling.splits))
    console().print(views)
    if len(levels) > 1:
        _print_trends(health)


def _print_classes(health: GroupHealth, *, severe: bool) -> None:
    """Print the loss of each class; not that at the highest level where no pair has it."""
    of_severe = (f"loss at level {LEVELS[-1]}", "95 % interval") if severe else ()
    right = (*of_severe, "part of all loss")
    classes = table_of("class", *right, right=right)
    for row in health.classes:
        loss = f"{row.severe:.2f}" if isfinite(row.severe) else "-"
        cells = (loss, _interval(row)) if severe else ()
        classes.add_row(row.name, *cells, f"{100 * row.share:.0f} %")
    console().print(classes)


def _print_trends(health: GroupHealth) -> None:
    """Print the distortions that are not shown to fall with the level."""
    others = [trend for trend in health.trends if not trend.falls]
    if others:
        print("not shown to fall with the level (intervals overlap, no pair at a level, or few references);")
        print("mean score at levels 1 to 5; - no pair:")
    for trend in others:
        means = ", ".join(f"{mean:.2f}" if isfinite(mean) else "-" for mean in trend.means)
        print(f"  {trend.distortion_id} ({means})")
    if others and health.one_level_each:
        print("each reference has one level of a distortion, so levels compare different images: ", end="")
        print("build --levels all compares the same ones")


def _interval(row: ClassLoss) -> str:
    if isfinite(row.low) and isfinite(row.high):
        return f"{row.low:.2f} to {row.high:.2f}"
    return interval_words(None, None, row.references)


def _tree(health: GroupHealth, seen: Seen) -> Mapping[str, Any]:
    return asdict(health) | {"falling": health.falling, "unseen_targets": asdict(seen)}
